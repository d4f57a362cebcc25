/* lora_builder.c — pairs with made-up elements, and a sink into memory. */
#include "lora_builder.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/crc32c.h"
#include "common/endian.h"
#include "common/sha.h"

#define MAX_MATRICES 256

static void *matrices[MAX_MATRICES];
static size_t n_matrices;

void build_elements(uint64_t n, uint32_t seed, blk_type type, void *out) {
    for (uint64_t i = 0; i < n; i++) {
        const float value = ((float)((seed + 7 * i) % 31) - 15.0f) / 16.0f;
        if (type == BLK_F16) {
            store_u16((uint8_t *)out + 2 * i, blk_f32_to_f16(value));
        } else {
            memcpy((uint8_t *)out + 4 * i, &value, sizeof value);
        }
    }
}

static const void *make_matrix(uint64_t n, uint32_t seed, blk_type type) {
    assert_true(n_matrices < MAX_MATRICES);
    void *matrix = malloc((size_t)n * 4);
    assert_non_null(matrix);
    build_elements(n, seed, type, matrix);
    matrices[n_matrices++] = matrix;
    return matrix;
}

lora_pair build_pair(lora_role role, uint32_t layer, uint32_t rank, float alpha, uint32_t n_in, uint32_t n_out, blk_type type,
                     uint32_t seed) {
    return (lora_pair){role, layer, rank, alpha, n_in, n_out, type, make_matrix((uint64_t)rank * n_in, seed, type),
                       make_matrix((uint64_t)rank * n_out, seed + 1, type)};
}

void build_free(void) {
    while (n_matrices > 0) {
        free(matrices[--n_matrices]);
    }
}

uint32_t build_all_pairs(lora_pair pairs[16]) {
    uint32_t n = 0;
    pairs[n++] = build_pair(LORA_ATTN_K, 0, 2, 4.0f, 8, 4, BLK_F32, 5);
    pairs[n++] = build_pair(LORA_ATTN_V, 0, 2, 4.0f, 8, 4, BLK_F16, 6);
    pairs[n++] = build_pair(LORA_ATTN_Q, 0, 2, 4.0f, 8, 8, BLK_F32, 7);
    pairs[n++] = build_pair(LORA_ATTN_OUTPUT, 0, 1, 4.0f, 8, 8, BLK_F16, 8);
    pairs[n++] = build_pair(LORA_FFN_GATE, 1, 2, 0.0f, 8, 12, BLK_F32, 9);
    pairs[n++] = build_pair(LORA_FFN_UP, 1, 3, 2.0f, 8, 12, BLK_F32, 10);
    pairs[n++] = build_pair(LORA_FFN_DOWN, 1, 2, 4.0f, 12, 8, BLK_F32, 11);
    pairs[n++] = build_pair(LORA_ATTN_QKV, 2, 2, 4.0f, 8, 16, BLK_F32, 12);
    pairs[n++] = build_pair(LORA_FFN_GATE_UP, 2, 2, 4.0f, 8, 24, BLK_F32, 13);
    pairs[n++] = build_pair(LORA_TOKEN_EMBD, LORA_NO_LAYER, 2, 4.0f, 20, 8, BLK_F32, 14);
    pairs[n++] = build_pair(LORA_OUTPUT, LORA_NO_LAYER, 2, 4.0f, 8, 20, BLK_F32, 15);
    pairs[n++] = build_pair(LORA_EMBEDDING, LORA_NO_LAYER, 2, 4.0f, 8, 8, BLK_F16, 16);
    return n;
}

static bool append(void *ctx, const void *bytes, uint64_t size) {
    built_lora *b = ctx;
    if (size > sizeof b->bytes - b->size) {
        return false;
    }
    memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
    return true;
}

void build_v2(built_lora *b, const lora_pair *pairs, uint32_t n) {
    uint8_t base[LORA_DIGEST_BYTES];
    fmt_diag diag = {.text = ""};
    assert_true(sha256_digest("a model", 7, base));
    b->size = 0;
    if (lora_write(base, pairs, n, append, b, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
}

void build_v1(built_lora *b, uint8_t id, const lora_pair *pair) {
    fmt_diag diag = {.text = ""};
    b->size = 0;
    if (lora_write_v1(id, pair, append, b, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
}

void build_seal(built_lora *b) {
    if (load_u32(b->bytes + 4) == 1) {
        assert_true(sha256_digest(b->bytes + 64, b->size - 64, b->bytes + 32));
        return;
    }
    const uint64_t end = LORA_V2_HEADER_BYTES + (uint64_t)load_u32(b->bytes + 8) * LORA_ENTRY_BYTES;
    if (end <= b->size) {
        store_u32(b->bytes + 96, crc32c(b->bytes + LORA_V2_HEADER_BYTES, end - LORA_V2_HEADER_BYTES));
        assert_true(sha256_digest(b->bytes + end, b->size - end, b->bytes + 64));
    }
    store_u32(b->bytes + 124, crc32c(b->bytes, 124));
}
