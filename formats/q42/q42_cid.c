/* q42_cid.c — content identifiers: version 0 and 1 over SHA-256, as bytes and as text (section 10.4 of the format's document). */
#include <string.h>

#include "common/sha.h"
#include "q42_files_internal.h"

#define MULTIHASH_SHA256 0x12u
#define CID_V0_BYTES 34u
#define CID_V0_TEXT 46u

static const char alphabet32[] = "abcdefghijklmnopqrstuvwxyz234567";
static const char alphabet58[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
static const char alphabet16[] = "0123456789abcdef";

bool q42_cid_of(uint64_t codec, const void *data, uint64_t size, q42_cid *out_cid) {
    q42_cid cid = {.version = 1, .codec = codec};
    if (!sha256_digest(data, size, cid.digest)) {
        return false;
    }
    *out_cid = cid;
    return true;
}

bool q42_cid_equal(const q42_cid *a, const q42_cid *b) {
    return a->codec == b->codec && memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

/* ---------------------------------------------------------------- bytes */

uint64_t q42_cid_store(const q42_cid *cid, uint8_t out[Q42_CID_BYTES]) {
    uint64_t size = 0;
    if (cid->version != 0) {
        out[size++] = 1;
        size += files_write_varint(cid->codec, out + size);
    }
    out[size++] = MULTIHASH_SHA256;
    out[size++] = Q42_DIGEST_BYTES;
    memcpy(out + size, cid->digest, Q42_DIGEST_BYTES);
    return size + Q42_DIGEST_BYTES;
}

/* Reads a varint at *at of the span; false when there is none. */
static bool take_varint(fmt_span span, uint64_t *at, uint64_t *out_value) {
    const unsigned size = files_read_varint(span.data + *at, span.size - *at, out_value);
    *at += size;
    return size > 0;
}

fmt_status q42_cid_load(fmt_span span, uint64_t at, q42_cid *out_cid, uint64_t *out_size, fmt_diag *diag) {
    q42_cid cid = {.version = 0, .codec = Q42_CODEC_DAG_PB};
    uint64_t used = 0, version = 0, hash = 0, length = 0;
    const bool is_v0 = span.size >= CID_V0_BYTES && span.data[0] == MULTIHASH_SHA256 && span.data[1] == Q42_DIGEST_BYTES;
    if (!is_v0) {
        cid.version = 1;
        if (!take_varint(span, &used, &version) || version != 1 || !take_varint(span, &used, &cid.codec)) {
            const diag_place here = {at, FMT_NO_INDEX, 1, version};
            return files_refuse(diag, Q42F_R_CID_BYTES, here, "it begins with no version 1 and codec, but %llu",
                                (unsigned long long)version);
        }
    }
    if (!take_varint(span, &used, &hash) || !take_varint(span, &used, &length) || hash != MULTIHASH_SHA256 ||
        length != Q42_DIGEST_BYTES) {
        const diag_place here = {at + used, FMT_NO_INDEX, MULTIHASH_SHA256, hash};
        return files_refuse(diag, Q42F_R_CID_HASH, here, "its hash has code %llu and %llu bytes",
                            (unsigned long long)hash, (unsigned long long)length);
    }
    if (span.size - used < Q42_DIGEST_BYTES) {
        const diag_place here = {at + used, FMT_NO_INDEX, Q42_DIGEST_BYTES, span.size - used};
        return files_refuse(diag, Q42F_R_CID_BYTES, here, "%llu bytes are left for the digest",
                            (unsigned long long)(span.size - used));
    }
    memcpy(cid.digest, span.data + used, Q42_DIGEST_BYTES);
    *out_cid = cid;
    *out_size = used + Q42_DIGEST_BYTES;
    return FMT_OK;
}

/* ---------------------------------------------------------------- text */

/* Digits of 5 or 4 bits, most significant first; what is left over at the end must be zero. */
static bool decode_bits(fmt_str text, const char *alphabet, unsigned width, uint8_t *out, uint64_t room,
                        uint64_t *out_size) {
    uint32_t bits = 0;
    unsigned n_bits = 0;
    uint64_t size = 0;
    for (uint64_t i = 0; i < text.size; i++) {
        const char lower = text.data[i] >= 'A' && text.data[i] <= 'Z' ? (char)(text.data[i] + 32) : text.data[i];
        const char *digit = lower != '\0' ? strchr(alphabet, lower) : NULL;
        if (digit == NULL) {
            return false;
        }
        bits = bits << width | (uint32_t)(digit - alphabet);
        n_bits += width;
        if (n_bits >= 8) {
            if (size == room) {
                return false;
            }
            n_bits -= 8;
            out[size++] = (uint8_t)(bits >> n_bits);
            bits &= (1u << n_bits) - 1;
        }
    }
    *out_size = size;
    return bits == 0 && n_bits < width;
}

/* A large number in base 58; each leading 1 is a zero byte. */
static bool decode58(fmt_str text, uint8_t *out, uint64_t room, uint64_t *out_size) {
    uint64_t n_zeros = 0, size = 0;
    while (n_zeros < text.size && text.data[n_zeros] == '1') {
        n_zeros++;
    }
    memset(out, 0, (size_t)room);
    for (uint64_t i = 0; i < text.size; i++) {
        const char *digit = text.data[i] != '\0' ? strchr(alphabet58, text.data[i]) : NULL;
        if (digit == NULL) {
            return false;
        }
        uint32_t carry = (uint32_t)(digit - alphabet58);
        for (uint64_t k = 0; k < size || carry > 0; k++) { /* little end first, in place */
            if (k == room) {
                return false;
            }
            carry += 58u * out[k];
            out[k] = (uint8_t)carry;
            carry >>= 8;
            size = k >= size ? k + 1 : size;
        }
    }
    if (n_zeros > room - size) {
        return false;
    }
    size += n_zeros;
    for (uint64_t k = 0; k < size / 2; k++) {
        const uint8_t swap = out[k];
        out[k] = out[size - 1 - k];
        out[size - 1 - k] = swap;
    }
    *out_size = size;
    return true;
}

static bool decode_text(fmt_str text, uint8_t *out, uint64_t room, uint64_t *out_size) {
    const fmt_str rest = {text.data + 1, text.size - 1};
    if (text.size == CID_V0_TEXT && memcmp(text.data, "Qm", 2) == 0) {
        return decode58(text, out, room, out_size);
    }
    switch (text.data[0]) {
    case 'z': return decode58(rest, out, room, out_size);
    case 'b':
    case 'B': return decode_bits(rest, alphabet32, 5, out, room, out_size);
    case 'f':
    case 'F': return decode_bits(rest, alphabet16, 4, out, room, out_size);
    default: return false;
    }
}

fmt_status q42_cid_parse(fmt_str text, q42_cid *out_cid, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    uint8_t bytes[Q42_CID_BYTES];
    fmt_span span = {bytes, 0};
    q42_cid cid = {0};
    uint64_t used = 0;
    while (text.size > 0 && text.data[text.size - 1] == '=') { /* padding of base32 */
        text.size--;
    }
    if (text.size < 2 || text.size >= Q42_CID_TEXT_SIZE || !decode_text(text, bytes, sizeof bytes, &span.size)) {
        return files_refuse(diag, Q42F_R_CID_TEXT, files_at(0), "%s is none", diag_quote(quoted, text));
    }
    const fmt_status status = q42_cid_load(span, 0, &cid, &used, diag);
    const bool is_bare_v0 = status == FMT_OK && cid.version == 0 && text.data[0] != 'Q';
    if (status == FMT_OK && (used != span.size || is_bare_v0)) {
        return files_refuse(diag, Q42F_R_CID_BYTES, files_at(used), "%s has bytes behind its digest, or no version",
                            diag_quote(quoted, text));
    }
    if (status == FMT_OK) {
        *out_cid = cid;
    }
    return status;
}

static char *encode_bits(const uint8_t *data, uint64_t size, const char *alphabet, unsigned width, char *out) {
    uint32_t bits = 0;
    unsigned n_bits = 0;
    for (uint64_t i = 0; i < size; i++) {
        bits = bits << 8 | data[i];
        for (n_bits += 8; n_bits >= width; bits &= (1u << n_bits) - 1) {
            n_bits -= width;
            *out++ = alphabet[bits >> n_bits];
        }
    }
    if (n_bits > 0) {
        *out++ = alphabet[bits << (width - n_bits)];
    }
    return out;
}

/* No leading zero bytes: a CID begins with 0x01 or 0x12. */
static char *encode58(const uint8_t *data, uint64_t size, char *out) {
    uint8_t digits[Q42_CID_TEXT_SIZE] = {0};
    unsigned n_digits = 0;
    for (uint64_t i = 0; i < size; i++) {
        uint32_t carry = data[i];
        for (unsigned k = 0; k < n_digits || carry > 0; k++) {
            carry += (uint32_t)digits[k] << 8;
            digits[k] = (uint8_t)(carry % 58);
            carry /= 58;
            n_digits = k >= n_digits ? k + 1 : n_digits;
        }
    }
    while (n_digits > 0) {
        *out++ = alphabet58[digits[--n_digits]];
    }
    return out;
}

const char *q42_cid_text(const q42_cid *cid, q42_cid_base base, char out[Q42_CID_TEXT_SIZE]) {
    uint8_t bytes[Q42_CID_BYTES];
    const uint64_t size = q42_cid_store(cid, bytes);
    char *end = out;
    if (cid->version == 0) {
        end = encode58(bytes, size, end);
    } else if (base == Q42_CID_BASE58) {
        *end++ = 'z';
        end = encode58(bytes, size, end);
    } else if (base == Q42_CID_HEX) {
        *end++ = 'f';
        end = encode_bits(bytes, size, alphabet16, 4, end);
    } else {
        *end++ = 'b';
        end = encode_bits(bytes, size, alphabet32, 5, end);
    }
    *end = '\0';
    return out;
}
