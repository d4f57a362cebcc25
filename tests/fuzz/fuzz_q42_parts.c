/* fuzz_q42_parts.c — envelopes, torrents, CIDs, legacy frames and raw blocks of any bytes, and telling kinds apart. What is demanded: a
 * refusal has words; what is accepted has the shape that was promised, and a CID that was read can be written and read again. */
#include <stdlib.h>
#include <string.h>

#include <quoin/q42_files.h>

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_cid(fmt_span span) {
    char text[Q42_CID_TEXT_SIZE];
    q42_cid cid, back;
    fmt_diag diag = {.text = ""};
    if (q42_cid_parse((fmt_str){(const char *)span.data, span.size}, &cid, &diag) != FMT_OK) {
        REQUIRE(strlen(diag.text) > 0);
        return;
    }
    q42_cid_text(&cid, Q42_CID_BASE32, text);
    REQUIRE(q42_cid_parse((fmt_str){text, strlen(text)}, &back, &diag) == FMT_OK && q42_cid_equal(&cid, &back));
}

static void read_torrent(fmt_span span) {
    uint8_t hash[Q42_SHA1_BYTES];
    q42_torrent torrent;
    fmt_diag diag = {.text = ""};
    if (q42_torrent_open(span, &torrent, hash, &diag) == FMT_OK) {
        const uint64_t n = torrent.bytes / torrent.piece_bytes + (torrent.bytes % torrent.piece_bytes != 0);
        REQUIRE(n == 0 || torrent.pieces + n * Q42_SHA1_BYTES <= span.data + span.size);
    } else {
        REQUIRE(strlen(diag.text) > 0);
    }
}

static void read_frames(fmt_span span) {
    static uint8_t room[Q42_CHUNK_BYTES];
    uint64_t at = 0;
    uint32_t n_quins = 0;
    fmt_diag diag = {.text = ""};
    fmt_status status;
    while ((status = q42_framed_next(span, &at, room, &n_quins, &diag)) == FMT_OK) {
        REQUIRE(n_quins <= Q42_CHUNK_BYTES / Q42_QUIN_BYTES && at <= span.size);
    }
    REQUIRE(status == FMT_NOT_FOUND || strlen(diag.text) > 0);
}

static void read_envelope(fmt_span span) {
    q42_envelope envelope;
    fmt_diag diag = {.text = ""};
    if (q42_envelope_open(span, FMT_MODE_DEFAULT, &envelope, NULL, NULL, &diag) == FMT_OK) {
        REQUIRE(envelope.payload.size + envelope.n_trailing + Q42_ENVELOPE_HEADER_BYTES == span.size);
    } else {
        REQUIRE(strlen(diag.text) > 0);
    }
}

/* The first two bytes say how much of the data is the index. */
static void read_raw(fmt_span span) {
    const uint64_t n_index = span.size >= 2 ? span.data[0] | (uint64_t)span.data[1] << 8 : 0;
    if (span.size < 2 || n_index > span.size - 2) {
        return;
    }
    const fmt_span bidx = {span.data + 2, n_index}, blocks = {span.data + 2 + n_index, span.size - 2 - n_index};
    q42_raw raw;
    q42_block block;
    fmt_diag diag = {.text = ""};
    if (q42_raw_open(blocks, (fmt_span){NULL, 0}, bidx, &raw, &diag) != FMT_OK) {
        REQUIRE(strlen(diag.text) > 0);
        return;
    }
    for (uint64_t i = 0; i < raw.n_blocks; i++) {
        REQUIRE(q42_raw_read_block(&raw, i, &block, &diag) != FMT_OK || block.n_quins <= Q42_BLOCK_QUINS);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fmt_span span = {data, size};
    const q42_file_kind kind = q42_detect(span);
    REQUIRE(kind < Q42_FILE_N_KINDS && strlen(q42_file_kind_name(kind)) > 0);
    read_cid(span);
    read_torrent(span);
    read_frames(span);
    read_envelope(span);
    read_raw(span);
    return 0;
}
