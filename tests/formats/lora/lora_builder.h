/* lora_builder.h — adapters in memory, made with the library's writer, for tests that break one thing. */
#ifndef TEST_LORA_BUILDER_H
#define TEST_LORA_BUILDER_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/lora.h>

#define BUILT_ROOM 65536

typedef struct built_lora {
    uint8_t bytes[BUILT_ROOM];
    uint64_t size;
} built_lora;

/* The elements of the frozen vectors: (seed + 7 i) mod 31, less 15, in sixteenths. `out`: room for n F32. */
void build_elements(uint64_t n, uint32_t seed, blk_type type, void *out);

/* A pair whose matrices are made from `seed` and seed + 1; they stay until the next build_free. */
lora_pair build_pair(lora_role role, uint32_t layer, uint32_t rank, float alpha, uint32_t n_in, uint32_t n_out, blk_type type,
                     uint32_t seed);
void build_free(void);

/* The pairs of v2-all.lora; returns how many. */
uint32_t build_all_pairs(lora_pair pairs[16]);

/* Writes; fails the test when the writer refuses. */
void build_v2(built_lora *b, const lora_pair *pairs, uint32_t n);
void build_v1(built_lora *b, uint8_t id, const lora_pair *pair);

/* Makes sums and digest right again after a change. */
void build_seal(built_lora *b);

static inline fmt_span built_span(const built_lora *b) {
    return (fmt_span){b->bytes, b->size};
}

#endif
