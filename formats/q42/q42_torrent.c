/* q42_torrent.c — torrents of one file as BEP 3 has them, with the web seed of BEP 19 (section 10.3 of the format's document).
 *
 *     d [8:created by ...] 4:info d 6:length i.e 4:name ... 12:piece length i.e 6:pieces ... e [8:url-list ...] e
 */
#include <stdio.h>
#include <string.h>

#include "common/checked.h"
#include "common/sha.h"
#include "common/utf8.h"
#include "q42_files_internal.h"

#define LEAST_PIECE (UINT64_C(256) << 10)
#define MOST_PIECE (UINT64_C(16) << 20)
#define WANTED_PIECES 2048u
#define MAX_NAME 255u
#define MAX_DEPTH 32u

uint64_t q42_piece_bytes(uint64_t file_bytes) {
    uint64_t piece = LEAST_PIECE;
    while (piece < MOST_PIECE && file_bytes / piece >= WANTED_PIECES) {
        piece *= 2;
    }
    return piece;
}

static uint64_t count_pieces(const q42_torrent *torrent) {
    return torrent->bytes / torrent->piece_bytes + (torrent->bytes % torrent->piece_bytes != 0);
}

static bool is_plain_name(fmt_str name) {
    return name.size > 0 && name.size <= MAX_NAME && memchr(name.data, '/', (size_t)name.size) == NULL &&
           memchr(name.data, '\0', (size_t)name.size) == NULL &&
           utf8_first_invalid(name.data, name.size) == UTF8_ALL_VALID &&
           !(name.data[0] == '.' && (name.size == 1 || (name.size == 2 && name.data[1] == '.')));
}

/* ---------------------------------------------------------------- writing */

typedef struct bytes_sink {
    uint8_t *out; /* null: only measure */
    uint64_t size;
} bytes_sink;

static void put_raw(bytes_sink *sink, const void *data, uint64_t size) {
    if (sink->out != NULL && size > 0) {
        memcpy(sink->out + sink->size, data, (size_t)size);
    }
    sink->size += size;
}

static void put_word(bytes_sink *sink, const char *word) {
    put_raw(sink, word, strlen(word));
}

static void put_integer(bytes_sink *sink, uint64_t value) {
    char text[32];
    put_raw(sink, text, (uint64_t)snprintf(text, sizeof text, "i%llue", (unsigned long long)value));
}

static void put_string(bytes_sink *sink, const void *data, uint64_t size) {
    char text[32];
    put_raw(sink, text, (uint64_t)snprintf(text, sizeof text, "%llu:", (unsigned long long)size));
    put_raw(sink, data, size);
}

static void put_info(bytes_sink *sink, const q42_torrent *torrent) {
    put_word(sink, "d6:length");
    put_integer(sink, torrent->bytes);
    put_word(sink, "4:name");
    put_string(sink, torrent->name.data, torrent->name.size);
    put_word(sink, "12:piece length");
    put_integer(sink, torrent->piece_bytes);
    put_word(sink, "6:pieces");
    put_string(sink, torrent->pieces, Q42_SHA1_BYTES * count_pieces(torrent));
    put_word(sink, "e");
}

/* Answers where the info dictionary begins. */
static uint64_t put_torrent(bytes_sink *sink, const q42_torrent *torrent, uint64_t *out_info_end) {
    put_word(sink, "d4:info");
    const uint64_t begin = sink->size;
    put_info(sink, torrent);
    *out_info_end = sink->size;
    if (torrent->web_seed.size > 0) {
        put_word(sink, "8:url-list");
        put_string(sink, torrent->web_seed.data, torrent->web_seed.size);
    }
    put_word(sink, "e");
    return begin;
}

fmt_status q42_torrent_encode(const q42_torrent *torrent, uint8_t *out, uint64_t room, uint64_t *out_size,
                              uint8_t out_info_hash[Q42_SHA1_BYTES], fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    if (!is_plain_name(torrent->name)) {
        return diag_refuse(diag, FMT_BAD_ARG, files_get_rule(Q42F_R_TORRENT_NAME), files_at(0), "the name is %s",
                           diag_quote(quoted, torrent->name));
    }
    if (torrent->piece_bytes == 0 || (torrent->bytes > 0 && torrent->pieces == NULL)) {
        return diag_refuse(diag, FMT_BAD_ARG, files_get_rule(Q42F_R_TORRENT_PIECES), files_at(0), "there are no pieces");
    }
    bytes_sink sink = {NULL, 0};
    uint64_t info_end = 0;
    const uint64_t info_at = put_torrent(&sink, torrent, &info_end);
    const uint64_t size = sink.size;
    *out_size = size;
    if (out == NULL) {
        return FMT_OK;
    }
    if (room < size) {
        const diag_place here = {0, FMT_NO_INDEX, size, room};
        return diag_refuse(diag, FMT_NO_SPACE, files_get_rule(Q42F_R_TORRENT_ROOM), here, "%llu bytes are needed",
                           (unsigned long long)size);
    }
    sink = (bytes_sink){out, 0};
    put_torrent(&sink, torrent, &info_end);
    if (out_info_hash != NULL && !sha1_digest(out + info_at, info_end - info_at, out_info_hash)) {
        return diag_refuse(diag, FMT_IO, files_get_rule(Q42F_R_DAG_HASH), files_at(0), "libcrypto refuses SHA-1");
    }
    return FMT_OK;
}

/* ---------------------------------------------------------------- reading */

typedef struct bencode {
    fmt_span span;
    uint64_t at;
} bencode;

/* Decimal digits up to `stop`, without a leading zero. */
static bool take_number(bencode *b, char stop, uint64_t *out_value) {
    const uint64_t begin = b->at;
    uint64_t value = 0;
    while (b->at < b->span.size && b->span.data[b->at] >= '0' && b->span.data[b->at] <= '9') {
        if (!checked_mul(value, 10, &value) || !checked_add(value, b->span.data[b->at] - '0', &value)) {
            return false;
        }
        b->at++;
    }
    const bool is_padded = b->at - begin > 1 && b->span.data[begin] == '0';
    if (b->at == begin || is_padded || b->at >= b->span.size || b->span.data[b->at] != (uint8_t)stop) {
        return false;
    }
    b->at++;
    *out_value = value;
    return true;
}

static bool take_char(bencode *b, char c) {
    if (b->at < b->span.size && b->span.data[b->at] == (uint8_t)c) {
        b->at++;
        return true;
    }
    return false;
}

static bool take_string(bencode *b, fmt_str *out) {
    uint64_t size = 0;
    if (!take_number(b, ':', &size) || size > b->span.size - b->at) {
        return false;
    }
    *out = (fmt_str){(const char *)b->span.data + b->at, size};
    b->at += size;
    return true;
}

static bool skip_integer(bencode *b) {
    uint64_t value = 0;
    const bool is_negative = take_char(b, '-');
    return take_number(b, 'e', &value) && !(is_negative && value == 0);
}

static int compare_keys(fmt_str a, fmt_str b) {
    const int order = memcmp(a.data, b.data, (size_t)(a.size < b.size ? a.size : b.size));
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* Any value. A list or dictionary is entered, its end left, until the depth is 0 again; keys are checked to be strings only. */
static bool skip_value(bencode *b) {
    uint32_t depth = 0;
    fmt_str text;
    do {
        if (take_char(b, 'i')) {
            if (!skip_integer(b)) {
                return false;
            }
        } else if (take_char(b, 'l') || take_char(b, 'd')) {
            if (++depth > MAX_DEPTH) {
                return false;
            }
        } else if (depth > 0 && take_char(b, 'e')) {
            depth--;
        } else if (!take_string(b, &text)) {
            return false;
        }
    } while (depth > 0);
    return true;
}

static bool is_key(fmt_str key, const char *name) {
    return key.size == strlen(name) && memcmp(key.data, name, (size_t)key.size) == 0;
}

/* The next key of a dictionary, above the last one. */
static bool take_key(bencode *b, fmt_str *last, bool *has_last) {
    fmt_str key;
    if (!take_string(b, &key) || (*has_last && compare_keys(*last, key) >= 0)) {
        return false;
    }
    *last = key;
    *has_last = true;
    return true;
}

static bool read_info(bencode *b, q42_torrent *torrent, fmt_str *out_pieces) {
    fmt_str key = {"", 0};
    bool has_key = false, is_right = take_char(b, 'd');
    while (is_right && !take_char(b, 'e')) {
        is_right = take_key(b, &key, &has_key);
        if (is_right && is_key(key, "length")) {
            is_right = take_char(b, 'i') && take_number(b, 'e', &torrent->bytes);
        } else if (is_right && is_key(key, "name")) {
            is_right = take_string(b, &torrent->name);
        } else if (is_right && is_key(key, "piece length")) {
            is_right = take_char(b, 'i') && take_number(b, 'e', &torrent->piece_bytes);
        } else if (is_right && is_key(key, "pieces")) {
            is_right = take_string(b, out_pieces);
        } else {
            is_right = is_right && skip_value(b);
        }
    }
    return is_right;
}

/* Where the info dictionary lies: [*begin, *end). */
static bool read_torrent(bencode *b, q42_torrent *torrent, fmt_str *out_pieces, uint64_t *begin, uint64_t *end) {
    fmt_str key = {"", 0};
    bool has_key = false, is_right = take_char(b, 'd');
    while (is_right && !take_char(b, 'e')) {
        is_right = take_key(b, &key, &has_key);
        if (is_right && is_key(key, "info")) {
            *begin = b->at;
            is_right = read_info(b, torrent, out_pieces);
            *end = b->at;
        } else if (is_right && is_key(key, "url-list") && b->at < b->span.size && b->span.data[b->at] != 'l') {
            is_right = take_string(b, &torrent->web_seed);
        } else {
            is_right = is_right && skip_value(b);
        }
    }
    return is_right && b->at == b->span.size;
}

fmt_status q42_torrent_open(fmt_span span, q42_torrent *out_torrent, uint8_t out_info_hash[Q42_SHA1_BYTES],
                            fmt_diag *diag) {
    q42_torrent torrent = {.name = {"", 0}, .web_seed = {"", 0}};
    fmt_str pieces = {NULL, 0};
    bencode b = {span, 0};
    uint64_t begin = 0, end = 0;
    if (!read_torrent(&b, &torrent, &pieces, &begin, &end)) {
        return files_refuse(diag, Q42F_R_TORRENT_SYNTAX, files_at(b.at), "the text goes wrong before byte %llu",
                            (unsigned long long)b.at);
    }
    if (end == 0 || torrent.piece_bytes == 0 || pieces.data == NULL || !is_plain_name(torrent.name)) {
        return files_refuse(diag, Q42F_R_TORRENT_INFO, files_at(begin), "one of them is absent or makes no sense");
    }
    const uint64_t n_pieces = count_pieces(&torrent);
    if (pieces.size % Q42_SHA1_BYTES != 0 || pieces.size / Q42_SHA1_BYTES != n_pieces) {
        const diag_place here = {begin, FMT_NO_INDEX, n_pieces, pieces.size / Q42_SHA1_BYTES};
        return files_refuse(diag, Q42F_R_TORRENT_PIECES, here, "%llu bytes of digests are there for %llu pieces",
                            (unsigned long long)pieces.size, (unsigned long long)n_pieces);
    }
    torrent.pieces = (const uint8_t *)pieces.data;
    if (out_info_hash != NULL && !sha1_digest(span.data + begin, end - begin, out_info_hash)) {
        return diag_refuse(diag, FMT_IO, files_get_rule(Q42F_R_DAG_HASH), files_at(begin), "libcrypto refuses SHA-1");
    }
    *out_torrent = torrent;
    return FMT_OK;
}
