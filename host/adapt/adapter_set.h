/* adapter_set.h — the adapters of one run: opened, held against the model, and put together as one list of changes.
 *
 * An adapter that does not belong to the model is refused in strict mode; otherwise it is left out as a whole, and the set says
 * why. A file that is broken is refused in every mode.
 *
 * Threading: one thread makes and closes; a set that was made is immutable.
 * Memory:    owned by the set; it borrows nothing. It must outlive every decoder that was built with its deltas.
 */
#ifndef HOST_ADAPTER_SET_H
#define HOST_ADAPTER_SET_H
#include <stdbool.h>
#include <stdint.h>

#include "adapt/adapter.h"

typedef struct adapter_request {
    const char *path;
    float strength;        /* 1 = as the file says; finite */
} adapter_request;

typedef struct adapter_use {
    adapter from;
    float strength;
    bool is_applied;
    char reason[512];      /* why it was left out; "" when applied */
} adapter_use;

typedef struct adapter_set {
    adapter_use *uses;     /* [n_uses], in the order of the requests */
    uint32_t n_uses;
    model_delta *deltas;   /* [n_deltas], of all that are applied, in order */
    uint32_t n_deltas;
    uint64_t bytes;        /* of the matrices that are applied */
} adapter_set;

/* Zero requests give an empty set. The model's digest is made once, when an adapter names a model. */
qn_status adapter_set_open(const model *m, const adapter_request *requests, uint32_t n_requests, bool is_strict,
                           adapter_set *out_set, error_context *err);
void adapter_set_close(adapter_set *set);
/* Overwrites all matrices that lie in memory of its own; returns their bytes. Only closing is legal afterwards. */
uint64_t adapter_set_scrub(adapter_set *set);

/* What a record of a generation says of its adapters: false when none is applied; the SHA-256 of the one adapter's file when it
 * alone is applied with strength 1; otherwise the SHA-256 of, for each that is applied and in order, its file's SHA-256 and its strength
 * as F32, little-endian. */
bool adapter_set_digest(const adapter_set *set, uint8_t out[LORA_DIGEST_BYTES]);

#endif
