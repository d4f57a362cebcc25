/* convert.h — a GGUF model becomes a P64 container.
 *
 *     gguf_source       presents an opened GGUF file to the P64 writer (roles, hyper-parameters, tokenizer)
 *     convert_gguf      the whole way: plan, write beside the target, read back and compare, put into place with the
 *                       companion volume (pair.h) or without
 *     convert_parity    compares a container with its source, tensor by tensor
 *     convert_facts     says what the container alone does not hold, and whether it could run alone
 *
 * Threading: one thread at a time per object; writing and digests run on threads of their own, joined before return, so
 *            `digest` of convert_weights may run beside the source's other functions.
 * Memory:    gguf_source borrows the gguf_file; convert_gguf allocates and frees its own work memory.
 * Errors:    fmt_status and a diagnosis; after an error nothing is left on disk.
 */
#ifndef HOST_CONVERT_H
#define HOST_CONVERT_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/fmt.h>
#include <quoin/gguf.h>
#include <quoin/p64.h>

#include "base/mapped_file.h"
#include "base/span_digest.h"

/* ------------------------------------------------------------------------------------------------------ gguf_source */

/* An array of strings, walked by index: a step forward is cheap, a step back starts again. */
typedef struct string_walk {
    gguf_array array;
    gguf_iter iter;
    fmt_str last; /* element iter.index - 1 */
} string_walk;

typedef struct gguf_source {
    const gguf_file *file;
    p64_source source; /* for p64_plan_make; its ctx is this object, which must not move */
    string_walk tokens, merges;
    const mapped_file *mapping; /* null, or where the file's bytes lie: what was read is given back to the system */
    uint64_t read_at, read_size; /* the last read */
} gguf_source;

/* Fills *out. FMT_BAD_FILE: a key has a value that a container cannot be made of; the diagnosis names it. */
fmt_status gguf_source_init(gguf_source *out, const gguf_file *file, fmt_diag *diag);

/* ----------------------------------------------------------------------------------------------------------- parity */

typedef struct convert_parity_report {
    uint32_t n_tensors;
    uint32_t n_equal;     /* same type, same bytes, once panels are turned back into standard blocks */
    uint32_t n_unpacked;  /* of these, the ones that are panels in the container */
    uint32_t n_converted; /* another type: shape and name compared only */
    uint64_t bytes_equal;
} convert_parity_report;

/* Every tensor of `p64` must be that of `source` at its source_offset: name hash, shape, and, where the type is the
 * same, every byte; and there must be as many. FMT_BAD_FILE: the diagnosis names the first tensor that differs,
 * offset is that of its entry (or of the byte) in the container. */
fmt_status convert_parity(const p64_file *p64, const gguf_file *source, convert_parity_report *out_report,
                          fmt_diag *diag);

/* The same for one tensor, added to *report; n_tensors is not touched, nor is the count of tensors compared. */
fmt_status convert_parity_tensor(const p64_file *p64, const gguf_file *source, uint32_t index,
                                 convert_parity_report *report, fmt_diag *diag);

/* The bytes of one tensor, which must be those at `source` when the type is the same. */
fmt_status convert_parity_bytes(const p64_file *p64, uint32_t index, uint32_t type, const uint8_t *source,
                                convert_parity_report *report, fmt_diag *diag);

/* The refusal of a container whose tensor `index` is not the source's. */
fmt_status convert_refuse_tensor(const p64_file *p64, uint32_t index, const char *difference, fmt_diag *diag);

/* The refusal of a container that has another number of tensors than its source. */
fmt_status convert_refuse_count(const p64_file *p64, uint64_t n_source, fmt_diag *diag);

/* The source tensor whose data begin at this offset, or null. */
const gguf_tensor *convert_find_source(const gguf_file *source, uint64_t offset);

/* ------------------------------------------------------------------------------------------------------------ facts */

typedef struct convert_fact {
    fmt_str name;     /* GGUF key or tensor name; borrowed from the source */
    const char *text; /* static: what it is for */
    bool blocks;      /* without it the container cannot run alone, or would compute something else */
} convert_fact;

typedef void convert_fact_fn(void *ctx, const convert_fact *fact);

typedef struct convert_facts_report {
    uint32_t n_lost;       /* facts that the container does not hold */
    uint32_t n_blocking;   /* of these, the ones that matter for computing */
    bool runs_alone;       /* as llama with epsilon 1e-5 and a BPE tokenizer: n_blocking is 0 */
    bool
        needs_assumption; /* when it runs alone: --assume llama is needed for it */
} convert_facts_report;

/* Calls `fact` (may be null) for each fact of the source that a container of this profile does not hold. */
convert_facts_report convert_facts(const gguf_source *source, bool is_extended, convert_fact_fn *fact, void *ctx);

/* ---------------------------------------------------------------------------------------------------------- convert */

/* Decides the layout, and the form, once the source's tensors are known: changes *options. */
typedef fmt_status convert_choose_fn(void *ctx, const p64_source *source, p64_write_options *options, fmt_diag *diag);

typedef struct convert_request {
    const gguf_file *gguf;      /* convert_gguf only */
    const mapped_file *mapping; /* null, or what the GGUF's span maps: keeps the memory that this needs small */
    const char *input_path;     /* of the GGUF: its companion keeps the file name */
    const char *output_path;
    const char *companion_path; /* null: no companion */
    const struct key_image *keys; /* what the companion says; null: no companion; convert_gguf finds it by itself */
    uint64_t timestamp_ms;      /* of the companion */
    p64_write_options options;
    bool is_forced;  /* replace an existing file */
    bool is_checked; /* read the container back: every rule, every checksum, and parity with the source */
    fmt_note_fn *note; /* may be null; tensors that had to keep their type, and what the check notes */
    p64_progress_fn *progress; /* may be null; called in up to five rounds: deciding, writing, checking, what is left of two digests */
    convert_choose_fn *choose; /* may be null: options hold as they are */
    void *ctx;                 /* for note, progress and choose */
} convert_request;

typedef struct convert_report {
    uint64_t size; /* bytes of the container */
    uint32_t metadata_crc;
    uint32_t n_tensors, n_converted, n_panels, n_kept, n_layer;
    convert_parity_report parity; /* zero when not checked */
    uint64_t companion_bytes, companion_statements; /* zero without one */
} convert_report;

/* Writes output_path or nothing.
 *
 * FMT_LIMIT: the container would not fit (nothing was written). FMT_IO: the file exists already, the disk is full or
 * failed. FMT_NO_SPACE: not enough memory for the largest tensor. FMT_CANCELLED: progress said so. [may block] */
fmt_status convert_gguf(const convert_request *request, convert_report *out_report, fmt_diag *diag);

/* Weights of whatever kind of file, for a container. `source.ctx` is given to each function. */
typedef struct convert_weights {
    p64_source source;
    /* Compares tensor `index` of the container with the source, adds it to *report, and lets go of its pages. */
    fmt_status (*compare)(void *ctx, const p64_file *p64, uint32_t index, convert_parity_report *report,
                          fmt_diag *diag);
    bool (*is_intact)(void *ctx); /* no part of it was cut or unreadable while it was used */
    bool (*is_own_file)(void *ctx, uint64_t device, uint64_t inode); /* is it read from this file, among others? */
    /* SHA-256 of the source, for the companion; null when request->keys has it already. As span_digest. */
    fmt_status (*digest)(void *ctx, span_watch watch, uint8_t out[SHA256_BYTES]);
} convert_weights;

/* What convert_gguf does, for any weights. */
fmt_status convert_weights_to_p64(const convert_request *request, const convert_weights *from,
                                  convert_report *out_report, fmt_diag *diag);

#endif
