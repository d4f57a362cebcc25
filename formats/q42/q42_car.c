/* q42_car.c — archives of content-addressed blocks, version 1 (section 10.5 of the format's document).
 *
 *     length, header {"roots": [CID], "version": 1} in DAG-CBOR
 *     length, CID, data        for each block
 */
#include <string.h>

#include "common/sha.h"
#include "q42_files_internal.h"

#define CID_V1_BYTES 36u

/* Head of a CBOR item: kind in the upper three bits, then a small number or the bytes that hold it. */
enum { CBOR_UINT = 0, CBOR_BYTES = 2, CBOR_TEXT = 3, CBOR_ARRAY = 4, CBOR_MAP = 5, CBOR_TAG = 6 };
#define CBOR_TAG_CID 42u

/* ---------------------------------------------------------------- header */

typedef struct cbor {
    fmt_span span;
    uint64_t at;
    bool is_minimal; /* every head so far is as short as it can be */
} cbor;

/* The next head, which must be of this kind. */
static bool take_head(cbor *c, unsigned kind, uint64_t *out_value) {
    if (c->at >= c->span.size || c->span.data[c->at] >> 5 != kind) {
        return false;
    }
    const unsigned low = c->span.data[c->at++] & 31;
    if (low < 24) {
        *out_value = low;
        return true;
    }
    const unsigned n_bytes = 1u << (low - 24);
    if (low > 27 || n_bytes > c->span.size - c->at) {
        return false;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < n_bytes; i++) {
        value = value << 8 | c->span.data[c->at++];
    }
    const uint64_t least = n_bytes == 1 ? 24 : UINT64_C(1) << (4 * n_bytes);
    c->is_minimal = c->is_minimal && value >= least;
    *out_value = value;
    return true;
}

static bool take_key(cbor *c, const char *key) {
    const cbor before = *c;
    uint64_t size = 0;
    if (take_head(c, CBOR_TEXT, &size) && size == strlen(key) && size <= c->span.size - c->at &&
        memcmp(c->span.data + c->at, key, (size_t)size) == 0) {
        c->at += size;
        return true;
    }
    *c = before;
    return false;
}

/* Tag 42 and bytes: a zero, then the CID. */
static bool take_root(cbor *c, q42_cid *out_cid) {
    uint64_t tag = 0, size = 0, used = 0;
    if (!take_head(c, CBOR_TAG, &tag) || tag != CBOR_TAG_CID || !take_head(c, CBOR_BYTES, &size) || size < 2 ||
        size > c->span.size - c->at || c->span.data[c->at] != 0) {
        return false;
    }
    const fmt_span bytes = {c->span.data + c->at + 1, size - 1};
    c->at += size;
    return q42_cid_load(bytes, 0, out_cid, &used, NULL) == FMT_OK && used == bytes.size;
}

static bool take_roots(cbor *c, q42_car *car) {
    uint64_t n_roots = 0;
    if (!take_head(c, CBOR_ARRAY, &n_roots) || n_roots > c->span.size) {
        return false;
    }
    for (uint64_t i = 0; i < n_roots; i++) {
        q42_cid root;
        if (!take_root(c, &root)) {
            return false;
        }
        car->root = i == 0 ? root : car->root;
    }
    car->n_roots = (uint32_t)n_roots;
    return true;
}

/* A map of exactly version and roots, in either order. */
static bool read_map(fmt_span header, q42_car *car, uint64_t *out_version) {
    cbor c = {header, 0, true};
    uint64_t n_keys = 0;
    bool has_roots = false, is_right = take_head(&c, CBOR_MAP, &n_keys) && n_keys == 2;
    const bool roots_first = is_right && header.size > 1 && header.data[1] == (CBOR_TEXT << 5 | 5);
    for (uint64_t i = 0; is_right && i < n_keys; i++) {
        if (take_key(&c, "version")) {
            is_right = take_head(&c, CBOR_UINT, out_version);
        } else {
            is_right = !has_roots && take_key(&c, "roots") && take_roots(&c, car);
            has_roots = true;
        }
    }
    is_right = is_right && has_roots && c.at == header.size && *out_version != 0;
    car->is_canonical = is_right && c.is_minimal && roots_first && *out_version == 1;
    return is_right;
}

static fmt_status read_header(const files_reading *r, fmt_span header, uint64_t at, q42_car *car) {
    static const uint8_t second_version[] = {0xA1, 0x67, 'v', 'e', 'r', 's', 'i', 'o', 'n', 0x02};
    uint64_t version = 0;
    if (header.size == sizeof second_version && memcmp(header.data, second_version, sizeof second_version) == 0) {
        return diag_refuse(r->diag, FMT_UNSUPPORTED, files_get_rule(Q42F_R_CAR_VERSION), files_at(at),
                           "the archive is version 2");
    }
    const bool is_map = read_map(header, car, &version);
    if (is_map && version == 1 && car->is_canonical) {
        return FMT_OK;
    }
    if (!is_map || version != 1) {
        car->n_roots = 0;
    }
    fmt_diag found;
    files_refuse(&found, Q42F_R_CAR_ROOTS, files_at(at), "the header is %s",
                 is_map && version == 1 ? "in another order or form" : "something else");
    return files_settle(r, &found);
}

fmt_status q42_car_open(fmt_span span, fmt_mode mode, q42_car *out_car, fmt_note_fn *note, void *note_ctx,
                        fmt_diag *diag) {
    const files_reading r = {mode, note, note_ctx, diag};
    uint64_t size = 0;
    const unsigned used = files_read_varint(span.data, span.size, &size);
    if (used == 0 || size == 0 || size > span.size - used) {
        const diag_place here = {0, FMT_NO_INDEX, span.size, size};
        return files_refuse(diag, Q42F_R_CAR_HEADER, here, "the length word says %llu and the file has %llu bytes",
                            (unsigned long long)size, (unsigned long long)span.size);
    }
    q42_car car = {.span = span, .data_at = used + size};
    const fmt_span header = {span.data + used, size};
    const fmt_status status = read_header(&r, header, used, &car);
    if (status == FMT_OK) {
        *out_car = car;
    }
    return status;
}

/* ---------------------------------------------------------------- blocks */

static fmt_status check_digest(const q42_car_block *block, fmt_diag *diag) {
    char text[Q42_CID_TEXT_SIZE];
    uint8_t digest[Q42_DIGEST_BYTES];
    if (!sha256_digest(block->data.data, block->data.size, digest)) {
        return diag_refuse(diag, FMT_IO, files_get_rule(Q42F_R_DAG_HASH), files_at(block->offset), "no digest");
    }
    if (memcmp(digest, block->cid.digest, sizeof digest) != 0) {
        return files_refuse(diag, Q42F_R_CAR_DIGEST, files_at(block->offset),
                            "the %llu bytes of block %s have another SHA-256", (unsigned long long)block->data.size,
                            q42_cid_text(&block->cid, Q42_CID_BASE32, text));
    }
    return FMT_OK;
}

fmt_status q42_car_next(const q42_car *car, uint64_t *at, q42_car_block *out_block, fmt_diag *diag) {
    const fmt_span span = car->span;
    const uint64_t begin = *at > car->data_at ? *at : car->data_at;
    uint64_t size = 0, used = 0;
    if (begin == span.size) {
        return FMT_NOT_FOUND;
    }
    const unsigned head = files_read_varint(span.data + begin, span.size - begin, &size);
    if (head == 0 || size == 0 || size > span.size - begin - head) {
        const diag_place here = {begin, FMT_NO_INDEX, span.size - begin, size};
        return files_refuse(diag, Q42F_R_CAR_SECTION, here, "a section says %llu bytes and %llu are left",
                            (unsigned long long)size, (unsigned long long)(span.size - begin));
    }
    const fmt_span section = {span.data + begin + head, size};
    q42_car_block block = {.offset = begin};
    fmt_status status = q42_cid_load(section, begin + head, &block.cid, &used, diag);
    if (status == FMT_OK) {
        block.data = (fmt_span){section.data + used, size - used};
        status = check_digest(&block, diag);
    }
    if (status == FMT_OK) {
        *at = begin + head + size;
        *out_block = block;
    }
    return status;
}

/* ---------------------------------------------------------------- writing */

void q42_car_encode_header(const q42_cid *root, uint8_t out[Q42_CAR_HEADER_BYTES]) {
    static const uint8_t start[] = {Q42_CAR_HEADER_BYTES - 1, 0xA2, 0x65, 'r', 'o', 'o', 't', 's', 0x81,
                                    0xD8, CBOR_TAG_CID, 0x58, CID_V1_BYTES + 1, 0x00};
    static const uint8_t end[] = {0x67, 'v', 'e', 'r', 's', 'i', 'o', 'n', 0x01};
    uint8_t cid[Q42_CID_BYTES];
    q42_cid first = *root;
    first.version = 1;
    memcpy(out, start, sizeof start);
    q42_cid_store(&first, cid);
    memcpy(out + sizeof start, cid, CID_V1_BYTES);
    memcpy(out + sizeof start + CID_V1_BYTES, end, sizeof end);
}

uint64_t q42_car_encode_section(const q42_cid *cid, uint64_t size, uint8_t out[Q42_CAR_SECTION_BYTES]) {
    uint8_t bytes[Q42_CID_BYTES];
    const uint64_t n_bytes = q42_cid_store(cid, bytes);
    const unsigned head = files_write_varint(n_bytes + size, out);
    memcpy(out + head, bytes, (size_t)n_bytes);
    return head + n_bytes;
}
