/* gguf_internal.h — what the source files of the GGUF library share; not for users.
 *
 * Threading: pure functions.
 */
#ifndef GGUF_INTERNAL_H
#define GGUF_INTERNAL_H
#include <quoin/gguf.h>

#include "common/cursor.h"
#include "common/diag.h"

#define GGUF_MAGIC_SIZE 4u
#define GGUF_VERSION_AT 4u
#define GGUF_N_TENSORS_AT 8u
#define GGUF_N_KV_AT 16u
#define GGUF_HEADER_SIZE 24u
#define GGUF_STRING_MIN 8u   /* an empty string: its length */
#define GGUF_ARRAY_MIN 12u   /* an empty array: type and count */
#define GGUF_KV_MIN 14u      /* length, one byte of key, type, a bool */
#define GGUF_TENSOR_MIN 33u  /* length, one byte of name, rank, one dimension, type, offset */
#define GGUF_MAX_ENTRIES UINT32_C(0x7FFFFFFF) /* keys, and tensors: indices are 32 bits wide */

typedef uint32_t gguf_rule_no;
enum {
#define GGUF_RULE(name, id, section, sentence) GGUF_R_##name,
#include "rules.def"
#undef GGUF_RULE
    GGUF_N_RULES
};

/* Shorthand for diag_refuse with a rule of rules.def. */
#define gguf_refuse(diag, status, rule, place, ...) diag_refuse(diag, status, gguf_get_rule(rule), place, __VA_ARGS__)
const fmt_rule *gguf_get_rule(gguf_rule_no rule);

/* Where the last bytes of the list are, and what has been proved: one walk over keys or tensors. */
typedef struct gguf_walk {
    cursor at;
    uint64_t index; /* of the key or tensor that is being read */
    fmt_str name;   /* its name, as soon as it is known; for diagnoses */
    fmt_diag *diag;
} gguf_walk;

/* Reads the fixed header into *out_file (span, version, counts) and proves the counts against the size of the span. */
fmt_status gguf_read_header(fmt_span span, gguf_file *out_file, fmt_diag *diag);

/* Reads the next key or tensor entry (everything that needs no other entry) and moves on. */
fmt_status gguf_walk_kv(gguf_walk *walk, gguf_kv *out_kv);
fmt_status gguf_walk_tensor(gguf_walk *walk, gguf_tensor *out_tensor);

/* Reads one array value at the walk's cursor, nested ones included, and moves past it. */
fmt_status gguf_walk_array(gguf_walk *walk);

/* Fills order[n] with 0..n-1 sorted so that is_before(ctx, order[i + 1], order[i]) never holds; equal ones keep file
 * order. n log n comparisons whatever the input. aux: [n], overwritten. */
typedef bool gguf_before_fn(const void *ctx, uint32_t a, uint32_t b);
void gguf_sort(uint32_t *order, uint32_t *aux, uint32_t n, gguf_before_fn *is_before, const void *ctx);

/* Order of two names: by hash, then length, then bytes. Negative, zero, positive. */
int gguf_compare_names(uint64_t hash_a, fmt_str a, uint64_t hash_b, fmt_str b);

#endif
