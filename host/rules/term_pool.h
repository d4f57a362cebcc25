/* term_pool.h — texts of terms kept once, each under a small number.
 *
 * Threading: one thread at a time per pool; reading is free once nothing is added.
 * Memory:    owned by the pool until term_pool_free; a zeroed pool is empty. A text stays where it is while others are added.
 * Errors:    QN_NO_HOST_MEM, and QN_LIMIT beyond TERM_POOL_MAX_BYTES; the pool stands as it stood.
 */
#ifndef HOST_RULES_TERM_POOL_H
#define HOST_RULES_TERM_POOL_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"

/* All texts of one pool together: a short text with a long prefix may not become gigabytes. */
#define TERM_POOL_MAX_BYTES (UINT64_C(64) << 20)

/* From 1, in the order in which texts came; 0 is none. */
typedef uint32_t term_ref;

struct term_chunk;

typedef struct term_pool {
    struct term_chunk *chunks;
    fmt_str *texts;      /* [n_texts] by ref - 1 */
    uint64_t *hashes;    /* [n_texts] of the texts: they may be long */
    uint32_t n_texts, texts_room;
    term_ref *slots;     /* [n_slots] a power of two, at most half full */
    uint32_t n_slots;
    uint64_t n_bytes;
} term_pool;

/* The text's number, old or new. The text is copied. */
qn_status term_pool_add(term_pool *pool, fmt_str text, term_ref *out_ref, error_context *err);
/* 0 when the text is not there. [no-alloc] */
term_ref term_pool_find(const term_pool *pool, fmt_str text);
/* [no-alloc] */
fmt_str term_pool_text(const term_pool *pool, term_ref ref);
void term_pool_free(term_pool *pool);

/* Are the two texts the same? A size of 0 on both sides counts as the same. */
bool texts_equal(fmt_str a, fmt_str b);
/* The text of a C string, which is borrowed. */
fmt_str text_of(const char *string);

#endif
