/* q42_manifest.c — the members of a volume set (section 8 of the format's document). */
#include <string.h>

#include "common/checked.h"
#include "common/cursor.h"
#include "common/utf8.h"
#include "q42_internal.h"

#define IPFS "ipfs://"

/* ------------------------------------------------------------------------------------------------ locators */

static bool is_letter_or_digit(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_cid(fmt_str text) {
    for (uint64_t i = 0; i < text.size; i++) {
        if (!is_letter_or_digit(text.data[i])) {
            return false;
        }
    }
    return text.size > 0;
}

/* No part of the path may be "..", on systems with either separator. */
static bool stays_below(fmt_str path) {
    uint64_t begin = 0;
    for (uint64_t i = 0; i <= path.size; i++) {
        if (i == path.size || path.data[i] == '/' || path.data[i] == '\\') {
            if (i - begin == 2 && memcmp(path.data + begin, "..", 2) == 0) {
                return false;
            }
            begin = i + 1;
        }
    }
    return true;
}

static bool is_locator(fmt_str text) {
    const uint64_t n = sizeof IPFS - 1;
    if (text.size > n && memcmp(text.data, IPFS, n) == 0) {
        return is_cid((fmt_str){text.data + n, text.size - n});
    }
    const bool has_drive = text.size >= 2 && text.data[1] == ':';
    return text.size > 0 && text.data[0] != '/' && text.data[0] != '\\' && !has_drive &&
           memchr(text.data, 0, text.size) == NULL && utf8_first_invalid(text.data, text.size) == UTF8_ALL_VALID &&
           stays_below(text);
}

/* ------------------------------------------------------------------------------------------------- records */

/* The record at the cursor; its locator reaches past the end when cursor_ok says so. */
static q42_segment read_record(const q42_manifest *manifest, cursor *c, bool is_shard) {
    q42_segment s = {.offset = manifest->base + c->at};
    s.bytes = cursor_u64(c);
    s.first = cursor_u64(c);
    s.last = cursor_u64(c);
    s.n_quins = is_shard ? 0 : cursor_u64(c);
    const uint8_t *digest = cursor_bytes(c, Q42_DIGEST_BYTES);
    if (digest != NULL) {
        memcpy(s.digest, digest, Q42_DIGEST_BYTES);
    }
    s.locator.size = cursor_u16(c);
    s.locator.data = (const char *)cursor_bytes(c, s.locator.size);
    return s;
}

static fmt_status check_record(const q42_segment *s, uint32_t index, bool is_shard, fmt_diag *diag) {
    const diag_place here = {s->offset, index, 0, 0};
    if (s->bytes == 0 || (!is_shard && s->n_quins == 0) || s->first > s->last) {
        return q42_refuse(diag, Q42_R_MANIFEST_RECORD, here,
                          "member %u has %llu bytes, %llu quins and goes from %016llx to %016llx", index, (ull)s->bytes,
                          (ull)s->n_quins, (ull)s->first, (ull)s->last);
    }
    if (!is_locator(s->locator)) {
        char quoted[DIAG_QUOTE_SIZE];
        return q42_refuse(diag, Q42_R_MANIFEST_LOCATOR, here, "the locator of member %u is %s", index,
                          diag_quote(quoted, s->locator));
    }
    return FMT_OK;
}

/* Segments may share an object with their neighbour, shards no key. */
static fmt_status check_neighbours(const q42_segment *before, const q42_segment *s, uint32_t index, bool is_shard,
                                   fmt_diag *diag) {
    if (s->first > before->last || (s->first == before->last && !is_shard)) {
        return FMT_OK;
    }
    return q42_refuse(diag, Q42_R_MANIFEST_ORDER, ((diag_place){s->offset, index, before->last, s->first}),
                      "member %u begins with %016llx, the one before ends with %016llx", index, (ull)s->first,
                      (ull)before->last);
}

static fmt_status check_records(const q42_manifest *manifest, fmt_diag *diag) {
    cursor c = cursor_make(manifest->span, Q42_MANIFEST_HEADER_BYTES);
    const uint32_t n = manifest->n_segments + manifest->n_shards;
    q42_segment before = {0};
    for (uint32_t i = 0; i < n; i++) {
        const bool is_shard = i >= manifest->n_segments;
        const q42_segment s = read_record(manifest, &c, is_shard);
        if (!cursor_ok(&c)) {
            return q42_refuse(diag, Q42_R_MANIFEST_SIZE,
                              ((diag_place){s.offset, i, manifest->span.size, manifest->span.size}),
                              "the manifest ends inside the record of member %u", i);
        }
        fmt_status status = check_record(&s, i, is_shard, diag);
        if (status == FMT_OK && i > 0 && i != manifest->n_segments) {
            status = check_neighbours(&before, &s, i, is_shard, diag);
        }
        if (status != FMT_OK) {
            return status;
        }
        before = s;
    }
    if (cursor_left(&c) > 0) {
        const diag_place here = {manifest->base + c.at, FMT_NO_INDEX, c.at, manifest->span.size};
        return q42_refuse(diag, Q42_R_MANIFEST_SIZE, here, "%llu bytes follow the last record", (ull)cursor_left(&c));
    }
    return FMT_OK;
}

static fmt_status read_counts(q42_manifest *manifest, fmt_diag *diag) {
    const uint8_t *at = manifest->span.data;
    const uint64_t n_shards = manifest->version == 1 ? 0 : load_u64(at + Q42_MANIFEST_SHARDS_AT);
    manifest->generation = load_u64(at + Q42_MANIFEST_GENERATION_AT);
    manifest->n_segments = load_u32(at + Q42_MANIFEST_SEGMENTS_AT);
    manifest->n_shards = (uint32_t)n_shards;
    const uint64_t room = manifest->span.size - Q42_MANIFEST_HEADER_BYTES;
    if (manifest->n_segments == 0 || manifest->n_segments > Q42_MAX_SEGMENTS || n_shards > room / Q42_SHARD_BYTES) {
        const diag_place here = {manifest->base + Q42_MANIFEST_SEGMENTS_AT, FMT_NO_INDEX, Q42_MAX_SEGMENTS,
                                 manifest->n_segments};
        return q42_refuse(diag, Q42_R_MANIFEST_COUNT, here, "the manifest has %u segments and %llu shards",
                          manifest->n_segments, (ull)n_shards);
    }
    return FMT_OK;
}

fmt_status q42_manifest_open(fmt_span span, uint64_t base, q42_manifest *out_manifest, fmt_diag *diag) {
    q42_manifest manifest = {.span = span, .base = base};
    if (span.size < Q42_MANIFEST_HEADER_BYTES || span.size > Q42_MAX_MANIFEST) {
        return q42_refuse(diag, Q42_R_MANIFEST_SIZE, ((diag_place){base, FMT_NO_INDEX, Q42_MAX_MANIFEST, span.size}),
                          "the manifest has %llu bytes", (ull)span.size);
    }
    manifest.version = load_u16(span.data + Q42_MANIFEST_VERSION_AT);
    if (memcmp(span.data, Q42_MANIFEST_MAGIC, Q42_MANIFEST_MAGIC_BYTES) != 0 || manifest.version < 1 ||
        manifest.version > Q42_MANIFEST_VERSION) {
        char quoted[DIAG_QUOTE_SIZE];
        const diag_place here = {base, FMT_NO_INDEX, Q42_MANIFEST_VERSION, manifest.version};
        return q42_refuse(diag, Q42_R_MANIFEST_HEADER, here, "the manifest begins with %s and has version %u",
                          diag_quote(quoted, (fmt_str){(const char *)span.data, Q42_MANIFEST_MAGIC_BYTES}),
                          manifest.version);
    }
    fmt_status status = read_counts(&manifest, diag);
    status = status == FMT_OK ? check_records(&manifest, diag) : status;
    if (status == FMT_OK) {
        *out_manifest = manifest;
    }
    return status;
}

bool q42_manifest_next(const q42_manifest *manifest, q42_manifest_walk *walk, q42_segment *out_segment) {
    if (walk->index >= manifest->n_segments + manifest->n_shards) {
        return false;
    }
    cursor c = cursor_make(manifest->span, walk->at == 0 ? Q42_MANIFEST_HEADER_BYTES : walk->at);
    *out_segment = read_record(manifest, &c, walk->index >= manifest->n_segments);
    walk->at = c.at;
    walk->index++;
    return true;
}
