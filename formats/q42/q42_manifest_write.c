/* q42_manifest_write.c — the manifest of a volume set (section 8 of the format's document). */
#include <string.h>

#include "common/diag.h"
#include "common/endian.h"
#include "q42_write_impl.h"

typedef unsigned long long ull;

enum { MANIFEST_HEAD = 32, SEGMENT_BYTES = 66, SHARD_BYTES = 58 };

static const fmt_rule rule_limit = {"write-manifest-limit", "8",
                                    "a manifest has 1 to 65536 segments and at most 4 MiB; use larger segments"};
static const fmt_rule rule_range = {"write-manifest-range", "8",
                                    "a member holds something, and members follow each other in order"};
static const fmt_rule rule_locator = {"write-manifest-locator", "8",
                                      "a locator is a relative path that does not leave its folder, or ipfs:// and a CID"};

/* ---------------------------------------------------------------------------------------------------------- checking */

static bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_cid(fmt_str text) {
    for (uint64_t i = 0; i < text.size; i++) {
        if (!is_alphanumeric(text.data[i])) {
            return false;
        }
    }
    return text.size > 0;
}

static bool is_inner_path(fmt_str path) {
    uint64_t begin = 0;
    if (path.size == 0 || path.data[0] == '/' || path.data[0] == '\\' || (path.size > 1 && path.data[1] == ':')) {
        return false;
    }
    for (uint64_t i = 0; i <= path.size; i++) {
        if (i == path.size || path.data[i] == '/' || path.data[i] == '\\') {
            if (i - begin == 2 && memcmp(path.data + begin, "..", 2) == 0) {
                return false;
            }
            begin = i + 1;
        }
    }
    return memchr(path.data, 0, path.size) == NULL;
}

static bool is_locator(fmt_str text) {
    static const char scheme[] = "ipfs://";
    const uint64_t skipped = sizeof scheme - 1;
    if (text.size > UINT16_MAX) {
        return false;
    }
    if (text.size >= skipped && memcmp(text.data, scheme, skipped) == 0) {
        return is_cid((fmt_str){text.data + skipped, text.size - skipped});
    }
    return is_inner_path(text);
}

static fmt_status check_record(const q42_segment *records, uint32_t i, uint32_t n_segments, fmt_diag *diag) {
    const q42_segment *record = &records[i];
    const bool is_shard = i >= n_segments, has_previous = is_shard ? i > n_segments : i > 0;
    const uint64_t before = has_previous ? records[i - 1].last : 0;
    const bool follows = !has_previous || (is_shard ? record->first > before : record->first >= before);
    const diag_place place = {0, i, before, record->first};
    if (record->bytes == 0 || record->first > record->last || !follows || (!is_shard && record->n_quins == 0)) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_range, place, "member %u spans %016llx to %016llx in %llu bytes", i,
                           (ull)record->first, (ull)record->last, (ull)record->bytes);
    }
    if (!is_locator(record->locator)) {
        char quote[DIAG_QUOTE_SIZE];
        return diag_refuse(diag, FMT_BAD_ARG, &rule_locator, place, "member %u lies at %s", i,
                           diag_quote(quote, record->locator));
    }
    return FMT_OK;
}

static fmt_status check_all(const q42_segment *records, uint32_t n_segments, uint32_t n_shards, uint64_t *out_size,
                            fmt_diag *diag) {
    uint64_t size = MANIFEST_HEAD;
    for (uint32_t i = 0; i < n_segments + n_shards; i++) {
        const fmt_status status = check_record(records, i, n_segments, diag);
        if (status != FMT_OK) {
            return status;
        }
        size += (i < n_segments ? SEGMENT_BYTES : SHARD_BYTES) + records[i].locator.size;
    }
    if (n_segments == 0 || n_segments > Q42_MAX_SEGMENTS || size > Q42_MAX_MANIFEST) {
        return diag_refuse(diag, FMT_LIMIT, &rule_limit, (diag_place){0, FMT_NO_INDEX, Q42_MAX_MANIFEST, size},
                           "%u segments and %u lexicon shards make a manifest of %llu bytes", n_segments, n_shards,
                           (ull)size);
    }
    *out_size = size;
    return FMT_OK;
}

/* ----------------------------------------------------------------------------------------------------------- writing */

static uint8_t *store_record(uint8_t *at, const q42_segment *record, bool is_shard) {
    store_u64(at, record->bytes);
    store_u64(at + 8, record->first);
    store_u64(at + 16, record->last);
    at += 24;
    if (!is_shard) {
        store_u64(at, record->n_quins);
        at += 8;
    }
    memcpy(at, record->digest, Q42_DIGEST_BYTES);
    store_u16(at + Q42_DIGEST_BYTES, (uint16_t)record->locator.size);
    at += Q42_DIGEST_BYTES + 2;
    memcpy(at, record->locator.data, record->locator.size);
    return at + record->locator.size;
}

fmt_status q42_manifest_encode(const q42_segment *records, uint32_t n_segments, uint32_t n_shards, uint64_t generation,
                               uint8_t *out, uint64_t room, uint64_t *out_size, fmt_diag *diag) {
    uint64_t size = 0;
    const fmt_status status = check_all(records, n_segments, n_shards, &size, diag);
    if (status != FMT_OK) {
        return status;
    }
    *out_size = size;
    if (out == NULL) {
        return FMT_OK;
    }
    if (size > room) {
        return FMT_NO_SPACE;
    }
    memcpy(out, "Q42VOL\0", 8);
    store_u16(out + 8, 2);
    store_u16(out + 10, 0);
    store_u32(out + 12, n_segments);
    store_u64(out + 16, generation);
    store_u64(out + 24, n_shards);
    uint8_t *at = out + MANIFEST_HEAD;
    for (uint32_t i = 0; i < n_segments + n_shards; i++) {
        at = store_record(at, &records[i], i >= n_segments);
    }
    return FMT_OK;
}
