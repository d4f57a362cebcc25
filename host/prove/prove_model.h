/* prove_model.h — the provenance volume of a container: where it comes from, what was done to it, every digest, licence and consent.
 *
 *     STEM.prov.q42   a Q42 volume of plain strings, whose bytes depend on what is said alone (its blocks are not compressed)
 *     STEM.prov.sig   prove_signature.h, when a key is given
 *
 * Threading: one thread at a time.
 * Memory:    statements are kept in memory; borrowed facts must outlive the call.
 * Errors:    as prove_graph.h; nothing is written unless everything was.
 */
#ifndef HOST_PROVE_MODEL_H
#define HOST_PROVE_MODEL_H
#include <quoin/p64.h>

#include "base/progress.h"
#include "keys/signing_key.h"
#include "prove/prove_consent.h"
#include "prove/prove_runtime.h"
#include "prove/prove_source.h"

#define PROVE_MAX_URLS 64u
#define PROVE_N_USES 4u
/* "local-inference", "commercial", "derivatives", "redistribution": the ordinal of q42m:permitsUse is the place in this table. */
extern const char *const prove_uses[PROVE_N_USES];

typedef struct prove_licence {
    fmt_span text;        /* the whole text; its digest is the licence's name */
    const char *spdx;     /* null: not told */
    const char *url;
    bool permits[PROVE_N_USES];
} prove_licence;

typedef struct prove_model_facts {
    const p64_file *p64;
    const prove_source *source;    /* null: not at hand */
    const uint8_t *source_sha256;  /* of a source that is not at hand, from the companion; may be null */
    const char *policy;            /* prove_source_policy, or "unknown" */
    bool is_byte_equal;            /* with a source: every tensor has its bytes */
    uint64_t ended_ms;             /* of the conversion; 0: not known */
    const prove_licence *licence;  /* may be null */
    const prove_consent *consents; /* [n_consents] */
    uint32_t n_consents;
    const char *const *urls;       /* [n_urls] where the source was had from */
    uint32_t n_urls;
    const prove_runtime *tool;     /* what writes this; may be null */
    bool is_full;                  /* says each tensor */
    progress_fn *progress;         /* of hashing; may be null */
    void *progress_ctx;
} prove_model_facts;

/* Says all of it and settles the graph, which is empty before. [may block] */
qn_status prove_say_model(prove_graph *g, const prove_model_facts *facts, error_context *err);

/* The digests that the profile has of a container beside that of the file. */
qn_status prove_table_digest(const p64_file *p64, uint8_t out[SHA256_BYTES], error_context *err);
qn_status prove_hparams_digest(const p64_file *p64, uint8_t out[SHA256_BYTES], error_context *err);
qn_status prove_tokenizer_digest(const p64_file *p64, uint8_t out[SHA256_BYTES], error_context *err);
/* Digest of a large span that may be watched. QN_CANCELLED when progress says so. */
qn_status prove_span_digest(fmt_span span, progress_fn *progress, void *ctx, uint8_t out[SHA256_BYTES], error_context *err);

/* Writes the volume of a settled graph, and a signature beside it when `key` is not null; when not, an old signature is taken away. Both
 * appear, or neither. QN_IO when the volume stands there and `is_forced` is false. */
qn_status prove_write(prove_graph *g, uint64_t timestamp_ms, const char *path, const signing_key *key, bool is_forced,
                      error_context *err);

/* STEM.prov.q42 for STEM.p64 or any other ending; false when it does not fit. The signature stands at STEM.prov.sig. */
#define PROVE_PATH_SIZE 4096u
bool prove_path_of(const char *model_path, char out[PROVE_PATH_SIZE]);
bool prove_signature_path_of(const char *volume_path, char out[PROVE_PATH_SIZE]);

#endif
