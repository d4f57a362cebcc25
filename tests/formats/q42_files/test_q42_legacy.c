/* test_q42_legacy.c — what older writers left: the published frame and header, raw blocks with an index, bare quins. */
#include <lz4.h>

#include "common/endian.h"
#include "files_fixture.h"

#define V4_SUBJECT UINT64_C(0x0c0d528ea8694f58)
#define FRAME_HEX                                                      \
    "0000000000000000360000003000000030000000f021584f69a88e520d0c7154" \
    "69a88e550d0cbc6369a88e5e0d0c000000000000000000000000000000009578" \
    "69a88e590d0c"

static uint8_t room[Q42_CHUNK_BYTES];

static void the_published_frame_gives_its_quin(void **state) {
    (void)state;
    uint8_t bytes[128];
    uint64_t at = 0;
    uint32_t n_quins = 0;
    fmt_diag diag;
    const fmt_span span = {bytes, fixture_bytes(FRAME_HEX, bytes, sizeof bytes)};
    assert_int_equal(q42_detect(span), Q42_FILE_FRAMED);
    assert_int_equal(q42_framed_next(span, &at, room, &n_quins, &diag), FMT_OK);
    assert_int_equal(n_quins, 1);
    const q42_quin quin = q42_quin_load(room);
    assert_true(quin.subject == V4_SUBJECT && quin.parity == q42_quin_parity(&quin));
    assert_int_equal(q42_framed_next(span, &at, room, &n_quins, &diag), FMT_NOT_FOUND);
}

/* A frame of n quins, of which every third is padding. */
static uint64_t put_frame(uint8_t *out, uint64_t id, uint32_t n_quins) {
    static uint8_t quins[Q42_CHUNK_BYTES];
    memset(quins, 0, sizeof quins);
    for (uint32_t i = 0; i < n_quins; i++) {
        const q42_quin quin = q42_quin_make(i + 1, 7, i + 1, 0, 0);
        if (i % 3 != 1) {
            q42_quin_store(quins + (uint64_t)i * Q42_QUIN_BYTES, &quin);
        }
    }
    const uint32_t plain = n_quins * Q42_QUIN_BYTES;
    const int packed = LZ4_compress_default((const char *)quins, (char *)out + 20, (int)plain, (int)sizeof quins);
    assert_true(packed > 0);
    store_u64(out, id);
    store_u32(out + 8, (uint32_t)packed + 4);
    store_u32(out + 12, plain);
    store_u32(out + 16, plain);
    return 20 + (uint64_t)packed;
}

static void padding_is_left_out_of_a_full_chunk(void **state) {
    (void)state;
    static uint8_t bytes[2 * Q42_CHUNK_BYTES];
    uint64_t at = 0;
    uint32_t n_quins = 0;
    fmt_diag diag;
    const uint64_t size = put_frame(bytes, 0, 8192);
    assert_int_equal(q42_framed_next(span_of(bytes, size), &at, room, &n_quins, &diag), FMT_OK);
    assert_int_equal(n_quins, 5461);
    assert_int_equal(q42_quin_load(room).subject, 1);
    assert_int_equal(q42_quin_load(room + 48).subject, 3);
}

static void broken_frames_are_refused_by_name(void **state) {
    (void)state;
    static uint8_t bytes[Q42_CHUNK_BYTES];
    static const struct {
        uint32_t at, value;
        const char *rule;
    } rows[] = {
        {8, 3, "frame-head"},    {8, UINT32_MAX, "frame-head"},      {12, 47, "frame-size"},
        {12, Q42_CHUNK_BYTES + 48, "frame-size"}, {16, 96, "frame-size"}, {20, 0xFFFFFFFF, "frame-lz4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t at = 0;
        uint32_t n_quins = 0;
        fmt_diag diag;
        const uint64_t size = put_frame(bytes, 0, 10);
        store_u32(bytes + rows[i].at, rows[i].value);
        if (rows[i].at == 12 && rows[i].value > Q42_CHUNK_BYTES) {
            store_u32(bytes + 16, rows[i].value);
        }
        assert_refused(q42_framed_next(span_of(bytes, size), &at, room, &n_quins, &diag), &diag, rows[i].rule, "");
        assert_int_equal(at, 0);
    }
}

static void a_cut_frame_is_refused(void **state) {
    (void)state;
    static uint8_t bytes[Q42_CHUNK_BYTES];
    const uint64_t whole = put_frame(bytes, 0, 10);
    for (uint64_t size = 1; size < whole; size++) {
        uint64_t at = 0;
        uint32_t n_quins = 0;
        fmt_diag diag;
        assert_refused(q42_framed_next(span_of(bytes, size), &at, room, &n_quins, &diag), &diag, "frame-head", "left");
    }
}

static void bare_quins_are_counted_and_a_part_of_one_refused(void **state) {
    (void)state;
    static const uint8_t bytes[97];
    uint64_t n_quins = 0;
    fmt_diag diag;
    assert_int_equal(q42_flat_count(span_of(bytes, 96), &n_quins, &diag), FMT_OK);
    assert_int_equal(n_quins, 2);
    assert_refused(q42_flat_count(span_of(bytes, 97), &n_quins, &diag), &diag, "flat-size", "1 too many");
}

/* ---------------------------------------------------------------- headers */

static void a_version_2_header_becomes_the_published_one(void **state) {
    (void)state;
    uint8_t header[Q42_HEADER_BYTES], zeros[Q42_HEADER_BYTES - 88] = {0};
    bool is_changed = false;
    memset(header, 0x11, 88);
    memset(header + 88, 0xEE, Q42_HEADER_BYTES - 88);
    fixture_bytes("5134320002007f00", header, 8);
    assert_int_equal(q42_migrate_header(header, &is_changed, NULL), FMT_OK);
    assert_true(is_changed);
    assert_bytes(header, 8, "5134320003000300");
    assert_int_equal(header[8], 0x11);
    assert_int_equal(header[87], 0x11);
    assert_memory_equal(header + 88, zeros, sizeof zeros);
    assert_int_equal(q42_migrate_header(header, &is_changed, NULL), FMT_OK);
    assert_false(is_changed);
}

static void other_versions_and_magics_are_not_migrated(void **state) {
    (void)state;
    static const struct {
        const char *head, *rule;
    } rows[] = {{"5134320001000000", "migrate-version"}, {"5134320005000000", "migrate-version"},
                {"5134330002000000", "migrate-magic"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t header[Q42_HEADER_BYTES] = {0};
        bool is_changed = false;
        fmt_diag diag;
        fixture_bytes(rows[i].head, header, 8);
        assert_refused(q42_migrate_header(header, &is_changed, &diag), &diag, rows[i].rule, "");
    }
}

/* ---------------------------------------------------------------- raw blocks */

#define N_BLOCKS 3u

typedef struct raw_files {
    uint8_t blocks[N_BLOCKS * Q42_BLOCK_BYTES];
    uint8_t bidx[16 + 16 * N_BLOCKS];
} raw_files;

/* Objects 100, 101, ...; ten a block; parity is left at 0, as those writers did. */
static void make_raw(raw_files *files) {
    memset(files, 0, sizeof *files);
    memcpy(files->bidx, "BIDX\1\0\0\0\3", 9);
    for (uint64_t b = 0; b < N_BLOCKS; b++) {
        uint8_t *block = files->blocks + b * Q42_BLOCK_BYTES;
        store_u64(block, b);
        store_u64(block + 16, 10);
        for (uint64_t i = 0; i < 10; i++) {
            const q42_quin quin = {1, 2, 100 + 10 * b + i, 0, 0, 0};
            q42_quin_store(block + 160 + i * Q42_QUIN_BYTES, &quin);
        }
        store_u64(files->bidx + 16 + 16 * b, 100 + 10 * b);
        store_u64(files->bidx + 24 + 16 * b, 109 + 10 * b);
    }
}

static fmt_status open_raw(const raw_files *files, q42_raw *raw, fmt_diag *diag) {
    return q42_raw_open(span_of(files->blocks, sizeof files->blocks), span_of(NULL, 0),
                        span_of(files->bidx, sizeof files->bidx), raw, diag);
}

static void raw_blocks_are_read_in_place(void **state) {
    (void)state;
    static raw_files files;
    q42_raw raw;
    q42_block block;
    fmt_diag diag;
    make_raw(&files);
    assert_int_equal(q42_detect(span_of(files.blocks, sizeof files.blocks)), Q42_FILE_RAW);
    assert_int_equal(open_raw(&files, &raw, &diag), FMT_OK);
    assert_int_equal(raw.n_blocks, N_BLOCKS);
    assert_int_equal(q42_raw_read_block(&raw, 2, &block, &diag), FMT_OK);
    assert_int_equal(block.n_quins, 10);
    assert_int_equal(q42_block_quin(&block, 9).object, 129);
    assert_ptr_equal(block.quins, files.blocks + 2 * Q42_BLOCK_BYTES + 160);
}

static void the_index_gives_the_blocks_of_an_object(void **state) {
    (void)state;
    static raw_files files;
    static const struct {
        uint64_t least, most, begin, end;
    } rows[] = {{99, 99, 0, 0},   {100, 100, 0, 1}, {109, 110, 0, 2}, {115, 115, 1, 2},
                {0, UINT64_MAX, 0, 3}, {129, 129, 2, 3}, {130, 130, 3, 3}};
    q42_raw raw;
    fmt_diag diag;
    make_raw(&files);
    assert_int_equal(open_raw(&files, &raw, &diag), FMT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t begin = 9, end = 9;
        q42_raw_object_blocks(&raw, rows[i].least, rows[i].most, &begin, &end);
        assert_int_equal(begin, rows[i].begin);
        assert_int_equal(end, rows[i].end);
    }
    assert_int_equal(q42_raw_open(span_of(files.blocks, sizeof files.blocks), span_of(NULL, 0), span_of(NULL, 0),
                                  &raw, &diag), FMT_OK);
    uint64_t begin = 9, end = 9;
    q42_raw_object_blocks(&raw, 1, 1, &begin, &end);
    assert_true(begin == 0 && end == N_BLOCKS);
}

static void broken_raw_files_are_refused_by_name(void **state) {
    (void)state;
    static raw_files files;
    static const struct {
        uint32_t block_at, bidx_at; /* one of them; where a word is put */
        uint64_t value;
        const char *rule;
        bool on_read; /* found when block 1 is read */
    } rows[] = {
        {Q42_BLOCK_BYTES + 16, 0, 851, "raw-count", false}, {Q42_BLOCK_BYTES + 16, 0, 0, "raw-count", false},
        {0, 8, 4, "raw-index", false},                      {0, 4, UINT64_C(0x300000002), "raw-index", false},
        {0, 32, 200, "raw-index", false},                   {0, 40, 99, "raw-index", false},
        {Q42_BLOCK_BYTES + 160 + 16, 0, 119, "raw-order", true},
        {Q42_BLOCK_BYTES + 160 + 16, 0, 109, "raw-range", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        q42_raw raw;
        q42_block block;
        fmt_diag diag;
        make_raw(&files);
        store_u64(rows[i].block_at > 0 ? files.blocks + rows[i].block_at : files.bidx + rows[i].bidx_at, rows[i].value);
        fmt_status status = open_raw(&files, &raw, &diag);
        if (rows[i].on_read) {
            assert_int_equal(status, FMT_OK);
            status = q42_raw_read_block(&raw, 1, &block, &diag);
        }
        assert_refused(status, &diag, rows[i].rule, "");
    }
}

static void a_part_of_a_block_is_refused(void **state) {
    (void)state;
    static raw_files files;
    q42_raw raw;
    fmt_diag diag;
    make_raw(&files);
    assert_refused(q42_raw_open(span_of(files.blocks, Q42_BLOCK_BYTES + 1), span_of(NULL, 0), span_of(NULL, 0), &raw,
                                &diag), &diag, "raw-size", "40961 bytes");
    assert_refused(q42_raw_open(span_of(NULL, 0), span_of(NULL, 0), span_of(NULL, 0), &raw, &diag), &diag, "raw-size",
                   "0 bytes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_frame_gives_its_quin),
        cmocka_unit_test(padding_is_left_out_of_a_full_chunk),
        cmocka_unit_test(broken_frames_are_refused_by_name),
        cmocka_unit_test(a_cut_frame_is_refused),
        cmocka_unit_test(bare_quins_are_counted_and_a_part_of_one_refused),
        cmocka_unit_test(a_version_2_header_becomes_the_published_one),
        cmocka_unit_test(other_versions_and_magics_are_not_migrated),
        cmocka_unit_test(raw_blocks_are_read_in_place),
        cmocka_unit_test(the_index_gives_the_blocks_of_an_object),
        cmocka_unit_test(broken_raw_files_are_refused_by_name),
        cmocka_unit_test(a_part_of_a_block_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
