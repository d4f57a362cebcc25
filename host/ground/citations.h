/* citations.h — the facts that an answer names.
 *
 * A mark is [n], [n, m] or [n; m] with numbers of up to four digits. It counts when fact n was in the prompt and its digest is its id;
 * other numbers are kept as unresolved, so that an invented source is seen and not passed over.
 *
 * Threading: pure. Memory: the caller's.
 */
#ifndef HOST_GROUND_CITATIONS_H
#define HOST_GROUND_CITATIONS_H
#include "ground/fact_set.h"

#define CITATIONS_MAX 1024u

typedef struct citation {
    uint32_t number;    /* as it was written */
    uint64_t at;        /* byte of the text where its mark begins */
    bool is_resolved;
    uint64_t id;        /* of the fact, when resolved */
} citation;

/* The distinct numbers in text[0..size), in the order of their first marks; at most `room`. Returns how many. [no-alloc] */
uint32_t citations_find(const char *text, uint64_t size, citation *out, uint32_t room);

/* Resolves them against the facts of the prompt. Returns how many are resolved. */
uint32_t citations_resolve(citation *citations, uint32_t n, const fact_set *facts);

/* Who knows facts by their ids. */
typedef struct fact_resolver {
    void *ctx;
    bool (*find)(void *ctx, uint64_t id, q42_quin *out_fact);
} fact_resolver;

/* True when the resolver gives a fact whose own digest is `id` and whose parity is right. */
bool fact_resolve(const fact_resolver *resolver, uint64_t id, q42_quin *out_fact);

/* A resolver over the facts of a prompt, which must outlive it. */
fact_resolver fact_set_resolver(const fact_set *facts);

#endif
