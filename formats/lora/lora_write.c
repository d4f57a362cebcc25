/* lora_write.c — both versions, in order, without going back: what the header must say is known before its first byte. */
#include <string.h>

#include "lora_internal.h"

#include "common/checked.h"
#include "common/crc32c.h"
#include "common/endian.h"
#include "common/sha.h"

/* Where bytes go: to the sink, to a digest, or to a sum over the table. */
typedef struct stream {
    lora_sink_fn *sink;
    void *ctx;
    uint64_t at;
    bool is_failed;
} stream;

static void put(stream *s, const void *bytes, uint64_t size) {
    s->is_failed = s->is_failed || (size > 0 && !s->sink(s->ctx, bytes, size));
    s->at += size;
}

static void put_zeros_to(stream *s, uint64_t at) {
    static const uint8_t zeros[LORA_ALIGNMENT];
    put(s, zeros, at - s->at);
}

static bool add_to_digest(void *ctx, const void *bytes, uint64_t size) {
    sha256_add(ctx, bytes, size);
    return true;
}

static bool add_to_crc(void *ctx, const void *bytes, uint64_t size) {
    uint32_t *crc = ctx;
    *crc = crc32c_extend(*crc, bytes, size);
    return true;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static lora_entry entry_of(const lora_pair *p) {
    return (lora_entry){.role = p->role, .layer = p->layer, .rank = p->rank, .alpha = p->alpha, .n_in = p->n_in,
                        .n_out = p->n_out, .type = p->type};
}

static fmt_status refuse_pair(lora_rule_no rule, uint64_t index, const char *why, fmt_diag *diag) {
    const diag_place place = {0, index, 0, 0};
    return lora_refuse(diag, FMT_BAD_ARG, rule, place, "pair %llu %s", (unsigned long long)index, why);
}

static fmt_status check_pair(const lora_pair *pairs, uint32_t i, uint64_t *end, fmt_diag *diag) {
    const lora_places places = {.index = i};
    lora_entry entry = entry_of(&pairs[i]);
    fmt_status status = lora_check_place(&entry, 0, i, FMT_BAD_ARG, diag);
    if (status == FMT_OK && i > 0 && lora_compare(&pairs[i - 1], &pairs[i]) >= 0) {
        return refuse_pair(LORA_R_ORDER, i, "is not behind the one before it", diag);
    }
    if (status == FMT_OK && pairs[i].type != BLK_F32 && pairs[i].type != BLK_F16) {
        return refuse_pair(LORA_R_DTYPE, i, "has another", diag);
    }
    status = status == FMT_OK ? lora_check_shape(&entry, &places, FMT_BAD_ARG, diag) : status;
    if (status == FMT_OK && !lora_place_matrices(&entry, end)) {
        return refuse_pair(LORA_R_SIZE, i, "ends beyond 2^64 bytes", diag);
    }
    return status;
}

/* The entry as it stands in the table; `*end` moves behind its matrices. All was checked. */
static lora_entry lay_out(const lora_pair *pair, uint64_t *end) {
    static const lora_places nowhere;
    lora_entry entry = entry_of(pair);
    (void)lora_check_shape(&entry, &nowhere, FMT_BAD_ARG, NULL);
    (void)lora_place_matrices(&entry, end);
    return entry;
}

static void put_table(stream *s, const lora_pair *pairs, uint32_t n_pairs, uint64_t end) {
    for (uint32_t i = 0; i < n_pairs; i++) {
        const lora_entry entry = lay_out(&pairs[i], &end);
        uint8_t bytes[LORA_ENTRY_BYTES] = {0};
        store_u32(bytes + LORA_ENTRY_ROLE_AT, entry.role);
        store_u32(bytes + LORA_ENTRY_LAYER_AT, entry.layer);
        store_u32(bytes + LORA_ENTRY_RANK_AT, entry.rank);
        store_u32(bytes + LORA_ENTRY_ALPHA_AT, bits_of(entry.alpha));
        store_u32(bytes + LORA_ENTRY_IN_AT, entry.n_in);
        store_u32(bytes + LORA_ENTRY_OUT_AT, entry.n_out);
        store_u32(bytes + LORA_ENTRY_DTYPE_AT, entry.type);
        store_u64(bytes + LORA_ENTRY_A_AT, entry.a_at);
        store_u64(bytes + LORA_ENTRY_B_AT, entry.b_at);
        put(s, bytes, sizeof bytes);
    }
}

/* Everything behind the table. `s->at` is where the table ends. */
static void put_payload(stream *s, const lora_pair *pairs, uint32_t n_pairs) {
    uint64_t end = s->at;
    for (uint32_t i = 0; i < n_pairs; i++) {
        const lora_entry entry = lay_out(&pairs[i], &end);
        put_zeros_to(s, entry.a_at);
        put(s, pairs[i].a, entry.a_bytes);
        put_zeros_to(s, entry.b_at);
        put(s, pairs[i].b, entry.b_bytes);
    }
}

static fmt_status fail_write(const char *why, fmt_diag *diag) {
    const diag_place place = {0, FMT_NO_INDEX, 0, 0};
    return lora_refuse(diag, FMT_IO, LORA_R_WRITE, place, "%s", why);
}

static fmt_status make_header(const uint8_t base[LORA_DIGEST_BYTES], const lora_pair *pairs, uint32_t n_pairs, uint64_t bytes,
                              uint8_t header[LORA_V2_HEADER_BYTES], fmt_diag *diag) {
    const uint64_t table_end = LORA_V2_HEADER_BYTES + (uint64_t)n_pairs * LORA_ENTRY_BYTES;
    sha256_stream digest;
    uint32_t crc = 0;
    stream to_crc = {add_to_crc, &crc, 0, false}, to_digest = {add_to_digest, &digest, table_end, false};
    memset(header, 0, LORA_V2_HEADER_BYTES);
    memcpy(header, "LORA", 4);
    store_u32(header + 4, 2);
    store_u32(header + LORA_COUNT_AT, n_pairs);
    store_u64(header + LORA_FILE_BYTES_AT, bytes);
    store_u64(header + LORA_DATA_AT_AT, (table_end + LORA_ALIGNMENT - 1) / LORA_ALIGNMENT * LORA_ALIGNMENT);
    memcpy(header + LORA_BASE_AT, base, LORA_DIGEST_BYTES);
    if (!sha256_begin(&digest)) {
        return fail_write("libcrypto made no digest", diag);
    }
    put_payload(&to_digest, pairs, n_pairs);
    if (!sha256_end(&digest, header + LORA_DIGEST_AT)) {
        return fail_write("libcrypto made no digest", diag);
    }
    put_table(&to_crc, pairs, n_pairs, table_end);
    store_u32(header + LORA_TABLE_CRC_AT, crc);
    store_u32(header + LORA_HEADER_CRC_AT, crc32c(header, LORA_HEADER_CRC_AT));
    return FMT_OK;
}

static bool is_zero_digest(const uint8_t digest[LORA_DIGEST_BYTES]) {
    static const uint8_t zeros[LORA_DIGEST_BYTES];
    return memcmp(digest, zeros, sizeof zeros) == 0;
}

fmt_status lora_write(const uint8_t base[LORA_DIGEST_BYTES], const lora_pair *pairs, uint32_t n_pairs, lora_sink_fn *sink,
                      void *ctx, fmt_diag *diag) {
    const uint64_t table_end = LORA_V2_HEADER_BYTES + (uint64_t)n_pairs * LORA_ENTRY_BYTES;
    uint64_t end = table_end;
    uint8_t header[LORA_V2_HEADER_BYTES];
    if (n_pairs == 0 || n_pairs > LORA_MAX_ENTRIES) {
        const diag_place place = {0, FMT_NO_INDEX, LORA_MAX_ENTRIES, n_pairs};
        return lora_refuse(diag, FMT_BAD_ARG, LORA_R_COUNT, place, "%u were given", n_pairs);
    }
    if (is_zero_digest(base)) {
        const diag_place place = {0, FMT_NO_INDEX, 0, 0};
        return lora_refuse(diag, FMT_BAD_ARG, LORA_R_BASE, place, "no model was named");
    }
    for (uint32_t i = 0; i < n_pairs; i++) {
        const fmt_status status = check_pair(pairs, i, &end, diag);
        if (status != FMT_OK) {
            return status;
        }
    }
    const fmt_status status = make_header(base, pairs, n_pairs, end, header, diag);
    if (status != FMT_OK) {
        return status;
    }
    stream out = {sink, ctx, 0, false};
    put(&out, header, sizeof header);
    put_table(&out, pairs, n_pairs, table_end);
    put_payload(&out, pairs, n_pairs);
    return out.is_failed ? fail_write("the sink took no more", diag) : FMT_OK;
}

fmt_status lora_write_v1(uint8_t adapter_id, const lora_pair *pair, lora_sink_fn *sink, void *ctx, fmt_diag *diag) {
    static const lora_places nowhere = {.index = FMT_NO_INDEX};
    lora_entry entry = entry_of(pair);
    uint8_t header[LORA_V1_HEADER_BYTES] = {'L', 'O', 'R', 'A', 1};
    sha256_stream digest;
    if (pair->role != LORA_EMBEDDING || pair->layer != LORA_NO_LAYER) {
        return refuse_pair(LORA_R_ROLE, 0, "is no change of the embedding, and version 1 holds nothing else", diag);
    }
    if (pair->type != BLK_F32) {
        return refuse_pair(LORA_R_DTYPE, 0, "is not F32, which version 1 holds alone", diag);
    }
    const fmt_status status = lora_check_shape(&entry, &nowhere, FMT_BAD_ARG, diag);
    if (status != FMT_OK) {
        return status;
    }
    header[LORA_V1_ID_AT] = adapter_id;
    store_u32(header + LORA_V1_RANK_AT, entry.rank);
    store_u32(header + LORA_V1_ALPHA_AT, bits_of(entry.alpha));
    store_u32(header + LORA_V1_IN_AT, entry.n_in);
    store_u32(header + LORA_V1_OUT_AT, entry.n_out);
    if (!sha256_begin(&digest)) {
        return fail_write("libcrypto made no digest", diag);
    }
    sha256_add(&digest, pair->a, entry.a_bytes);
    sha256_add(&digest, pair->b, entry.b_bytes);
    if (!sha256_end(&digest, header + LORA_V1_DIGEST_AT)) {
        return fail_write("libcrypto made no digest", diag);
    }
    stream out = {sink, ctx, 0, false};
    put(&out, header, sizeof header);
    put(&out, pair->a, entry.a_bytes);
    put(&out, pair->b, entry.b_bytes);
    return out.is_failed ? fail_write("the sink took no more", diag) : FMT_OK;
}
