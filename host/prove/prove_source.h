/* prove_source.h — what a container was made of: a GGUF file, or a folder of Safetensors; its digest, and whether it is the source.
 *
 * Threading: one thread at a time.
 * Memory:    owned by the source until prove_source_close.
 * Errors:    QN_BAD_FILE with path and rule; QN_CANCELLED when progress says so.
 */
#ifndef HOST_PROVE_SOURCE_H
#define HOST_PROVE_SOURCE_H
#include <quoin/gguf.h>
#include <quoin/p64.h>

#include "base/mapped_file.h"
#include "base/progress.h"
#include "common/sha.h"
#include "convert/convert.h"
#include "convert/hf_folder.h"

typedef struct prove_source {
    const char *path;           /* borrowed */
    const char *format;         /* "gguf", "safetensors"; static */
    hf_folder *folder;          /* of Safetensors; otherwise null */
    mapped_file file;           /* of GGUF */
    gguf_file gguf;
    void *scratch;
    uint64_t version;           /* of the GGUF container; 1 for Safetensors */
    uint64_t bytes;             /* of all weight files together */
    uint8_t sha256[SHA256_BYTES]; /* of all their bytes, in the order of their names */
    fmt_str publisher, name, architecture; /* borrowed from the file; size 0 when it does not say */
} prove_source;

/* Opens and hashes. prove_source_close is right whatever it answers. [may block] */
qn_status prove_source_open(const char *path, progress_fn *progress, void *ctx, prove_source *out, error_context *err);
void prove_source_close(prove_source *source); /* a zeroed one is legal */

/* QN_BAD_FILE names the first tensor that is not the source's. Converted ones are counted, and compared by name and shape only. */
qn_status prove_source_parity(const prove_source *source, const p64_file *p64, const char *p64_path, convert_parity_report *out,
                              error_context *err);

/* What was done to the weights: "byte-preserving", "panels" (the same bits, rearranged), "raw-safetensors", "ffn-q4_0", "ffn-ternary", "q4_k_soa", "f16", "other". Static. */
const char *prove_source_policy(const prove_source *source, const p64_file *p64);

#endif
