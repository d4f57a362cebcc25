/* q42_detect.c — which kind of file this is (section 12 of the format's document): a magic is final; what has none is walked. */
#include <string.h>

#include "common/checked.h"
#include "common/endian.h"
#include "q42_files_internal.h"

#define FRAME_HEAD 16u
#define MAX_CAR_HEADER 1024u

static const char *const kind_names[Q42_FILE_N_KINDS] = {
    [Q42_FILE_UNKNOWN] = "an unknown kind of file",
    [Q42_FILE_VOLUME] = "a Q42 volume",
    [Q42_FILE_OLD_VOLUME] = "a Q42 volume of an older version, which `quoin migrate` brings up to date",
    [Q42_FILE_EARLY_VOLUME] = "an early import under version 3 whose blocks have no headers, which cannot be read",
    [Q42_FILE_LEXICON] = "a lexicon beside version 1 blocks",
    [Q42_FILE_BIDX] = "a block index beside version 1 blocks",
    [Q42_FILE_JOURNAL] = "a Q42 journal",
    [Q42_FILE_ENVELOPE] = "a QCHK envelope",
    [Q42_FILE_WEIGHTS] = "a P64 weight container",
    [Q42_FILE_OLD_WEIGHTS] = "a Q42W weight file",
    [Q42_FILE_KV_PAGE] = "a KV page",
    [Q42_FILE_RAW] = "version 1 blocks",
    [Q42_FILE_FRAMED] = "a framed transport file",
    [Q42_FILE_FLAT] = "bare quins",
    [Q42_FILE_CAR] = "a CAR archive",
    [Q42_FILE_WAL] = "a log of governed commits",
};

static const struct {
    const char *magic;
    uint32_t size;
    q42_file_kind kind;
} magics[] = {
    {"Q42LEX\0\0", 8, Q42_FILE_LEXICON}, {"BIDX", 4, Q42_FILE_BIDX},          {"Q42J", 4, Q42_FILE_JOURNAL},
    {"QCHK", 4, Q42_FILE_ENVELOPE},      {"p64\0", 4, Q42_FILE_WEIGHTS},      {"Q42W", 4, Q42_FILE_OLD_WEIGHTS},
    {"QKVP", 4, Q42_FILE_KV_PAGE},
    {"QWAL", 4, Q42_FILE_WAL},
};

const char *q42_file_kind_name(q42_file_kind kind) {
    return kind_names[kind < Q42_FILE_N_KINDS ? kind : Q42_FILE_UNKNOWN];
}

/* Version 3, no index of blocks, and a first block of another size than blocks have. */
static bool is_early(fmt_span span) {
    const uint64_t directory = load_u64(span.data + 40);
    return load_u64(span.data + 32) == 0 && load_u64(span.data + 72) > 0 && checked_range(directory, 16, span.size) &&
           load_u32(span.data + directory + 12) != Q42_BLOCK_BYTES;
}

static q42_file_kind detect_volume(fmt_span span) {
    if (span.size < Q42_HEADER_BYTES) {
        return Q42_FILE_VOLUME;
    }
    const uint16_t version = load_u16(span.data + 4);
    if (version == 1 || version == 2) {
        return Q42_FILE_OLD_VOLUME;
    }
    return version == 3 && is_early(span) ? Q42_FILE_EARLY_VOLUME : Q42_FILE_VOLUME;
}

static bool is_raw(fmt_span span) {
    if (span.size == 0 || span.size % Q42_BLOCK_BYTES != 0) {
        return false;
    }
    for (uint64_t at = 0; at < span.size; at += Q42_BLOCK_BYTES) {
        const uint64_t n_quins = load_u64(span.data + at + 16);
        if (load_u64(span.data + at) > UINT32_MAX || n_quins < 1 || n_quins > Q42_BLOCK_QUINS) {
            return false;
        }
    }
    return true;
}

static bool is_framed(fmt_span span) {
    uint64_t at = 0;
    while (span.size - at >= FRAME_HEAD + 4) {
        const uint32_t packed = load_u32(span.data + at + 8), plain = load_u32(span.data + at + 12);
        if (packed < 4 || packed > span.size - at - FRAME_HEAD || load_u32(span.data + at + FRAME_HEAD) != plain ||
            plain % Q42_QUIN_BYTES != 0) {
            return false;
        }
        at += FRAME_HEAD + packed;
    }
    return at == span.size && at > 0;
}

static bool is_car(fmt_span span) {
    static const char *const starts[] = {"\xA2\x65roots", "\xA2\x67version", "\xA1\x67version"};
    uint64_t size = 0;
    const unsigned used = files_read_varint(span.data, span.size, &size);
    if (used == 0 || size > MAX_CAR_HEADER || size > span.size - used) {
        return false;
    }
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        const size_t length = strlen(starts[i]);
        if (size >= length && memcmp(span.data + used, starts[i], length) == 0) {
            return true;
        }
    }
    return false;
}

q42_file_kind q42_detect(fmt_span span) {
    if (span.size >= 4 && memcmp(span.data, "Q42\0", 4) == 0) {
        return detect_volume(span);
    }
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        if (span.size >= magics[i].size && memcmp(span.data, magics[i].magic, magics[i].size) == 0) {
            return magics[i].kind;
        }
    }
    if (is_raw(span)) {
        return Q42_FILE_RAW;
    }
    if (is_framed(span)) {
        return Q42_FILE_FRAMED;
    }
    if (is_car(span)) {
        return Q42_FILE_CAR;
    }
    return span.size > 0 && span.size % Q42_QUIN_BYTES == 0 ? Q42_FILE_FLAT : Q42_FILE_UNKNOWN;
}
