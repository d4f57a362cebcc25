/* test_q42_torrent.c — torrents and magnet links: bytes as BEP 3 has them, the published links, and what a reader refuses. */
#include "common/sha.h"
#include "files_fixture.h"

static const uint8_t pieces[60] = {1, 2, 3};

static void torrent_is_bencoded_with_its_keys_in_order(void **state) {
    (void)state;
    uint8_t out[256], hash[Q42_SHA1_BYTES], wanted_hash[Q42_SHA1_BYTES];
    uint64_t size = 0;
    const q42_torrent torrent = {text_of("a.q42"), 600, 256, pieces, text_of("http://e.example/a")};
    static const char start[] = "d4:infod6:lengthi600e4:name5:a.q4212:piece lengthi256e6:pieces60:";
    static const char end[] = "e8:url-list18:http://e.example/ae";
    assert_int_equal(q42_torrent_encode(&torrent, out, sizeof out, &size, hash, NULL), FMT_OK);
    assert_int_equal(size, sizeof start - 1 + 60 + sizeof end - 1);
    assert_memory_equal(out, start, sizeof start - 1);
    assert_memory_equal(out + sizeof start - 1, pieces, 60);
    assert_memory_equal(out + sizeof start - 1 + 60, end, sizeof end - 1);
    assert_true(sha1_digest(out + 7, sizeof start - 1 - 7 + 60 + 1, wanted_hash));
    assert_memory_equal(hash, wanted_hash, sizeof hash);
}

static void a_torrent_that_was_written_reads_back(void **state) {
    (void)state;
    uint8_t out[256], hash[Q42_SHA1_BYTES], read_hash[Q42_SHA1_BYTES];
    uint64_t size = 0;
    q42_torrent back;
    fmt_diag diag;
    const q42_torrent torrent = {text_of("a.q42"), 600, 256, pieces, text_of("http://e.example/a")};
    assert_int_equal(q42_torrent_encode(&torrent, out, sizeof out, &size, hash, NULL), FMT_OK);
    assert_int_equal(q42_torrent_open(span_of(out, size), &back, read_hash, &diag), FMT_OK);
    assert_int_equal(back.bytes, 600);
    assert_int_equal(back.piece_bytes, 256);
    assert_memory_equal(back.name.data, "a.q42", 5);
    assert_memory_equal(back.pieces, pieces, 60);
    assert_int_equal(back.web_seed.size, 18);
    assert_memory_equal(read_hash, hash, sizeof hash);
}

static void room_that_is_too_small_is_told_how_much_is_needed(void **state) {
    (void)state;
    uint8_t out[256];
    uint64_t size = 0, needed = 0;
    fmt_diag diag;
    const q42_torrent torrent = {text_of("a.q42"), 600, 256, pieces, text_of("")};
    assert_int_equal(q42_torrent_encode(&torrent, NULL, 0, &needed, NULL, &diag), FMT_OK);
    assert_int_equal(q42_torrent_encode(&torrent, out, needed - 1, &size, NULL, &diag), FMT_NO_SPACE);
    assert_int_equal(size, needed);
    assert_int_equal(q42_torrent_encode(&torrent, out, needed, &size, NULL, &diag), FMT_OK);
}

static void names_that_lead_elsewhere_are_not_written(void **state) {
    (void)state;
    static const char *const names[] = {"", ".", "..", "a/b", "\xff"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t size = 0;
        fmt_diag diag;
        const q42_torrent torrent = {text_of(names[i]), 600, 256, pieces, text_of("")};
        assert_int_equal(q42_torrent_encode(&torrent, NULL, 0, &size, NULL, &diag), FMT_BAD_ARG);
        assert_string_equal(diag.rule, "torrent-name");
    }
}

static void each_broken_rule_is_refused_by_its_name(void **state) {
    (void)state;
#define INFO(length, name, piece, pieces) \
    "d4:infod6:length" length "4:name" name "12:piece length" piece "6:pieces" pieces "ee"
#define TWENTY "20:01234567890123456789"
    static const struct {
        const char *text, *rule; /* null: it is right */
    } rows[] = {
        {INFO("i5e", "1:a", "i256e", TWENTY), NULL},
        {INFO("i0e", "1:a", "i256e", "0:"), NULL},
        {INFO("i05e", "1:a", "i256e", TWENTY), "torrent-syntax"},
        {INFO("i-5e", "1:a", "i256e", TWENTY), "torrent-syntax"},
        {INFO("i5e", "2:a", "i256e", TWENTY), "torrent-syntax"},
        {INFO("i99999999999999999999e", "1:a", "i256e", TWENTY), "torrent-syntax"},
        {INFO("i5e", "1:a", "i256e", TWENTY) "x", "torrent-syntax"},
        {INFO("i5e", "1:a", "i0e", TWENTY), "torrent-info"},
        {INFO("i5e", "1:/", "i256e", TWENTY), "torrent-info"},
        {INFO("i600e", "1:a", "i256e", TWENTY), "torrent-pieces"},
        {"d4:infod4:name1:a6:lengthi5eee", "torrent-syntax"},
        {"d3:aaai1e3:aaai2ee", "torrent-syntax"},
        {"d1:al" "llllllllllllllllllllllllllllllllllllllll", "torrent-syntax"},
        {"d1:ai-0ee", "torrent-syntax"},
        {"de", "torrent-info"},
        {"", "torrent-syntax"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        q42_torrent torrent;
        fmt_diag diag;
        const fmt_status status = q42_torrent_open(span_of(rows[i].text, strlen(rows[i].text)), &torrent, NULL, &diag);
        if (rows[i].rule == NULL) {
            assert_int_equal(status, FMT_OK);
        } else {
            assert_refused(status, &diag, rows[i].rule, "");
        }
    }
}

static void pieces_grow_with_the_file(void **state) {
    (void)state;
    assert_int_equal(q42_piece_bytes(0), 256 << 10);
    assert_int_equal(q42_piece_bytes((UINT64_C(512) << 20) - 1), 256 << 10);
    assert_int_equal(q42_piece_bytes(UINT64_C(512) << 20), 512 << 10);
    assert_int_equal(q42_piece_bytes(UINT64_MAX), 16 << 20);
}

/* The hash is that of the published one-block volume; the link is the published one. */
static void magnet_links_are_the_published_ones(void **state) {
    (void)state;
    uint8_t hash[Q42_SHA1_BYTES];
    char out[512];
    const fmt_str none = {"", 0};
    const fmt_str seed = text_of("http://127.0.0.1:4242/torrent/webseed/37ad712ccd8b3817df994ce73201f6d65e2a2109");
    fixture_bytes("37ad712ccd8b3817df994ce73201f6d65e2a2109", hash, sizeof hash);
    const uint64_t size = q42_magnet(hash, text_of("demo volume.q42"), 41724, none, false, out, sizeof out);
    assert_string_equal(out, "magnet:?xt=urn:btih:37ad712ccd8b3817df994ce73201f6d65e2a2109&dn=demo%20volume.q42"
                             "&xl=41724");
    assert_int_equal(size, strlen(out));
    q42_magnet(hash, text_of("demo.q42"), 41724, seed, true, out, sizeof out);
    assert_string_equal(out, "magnet:?xt=urn:btih:37ad712ccd8b3817df994ce73201f6d65e2a2109&dn=demo.q42&xl=41724"
                             "&ws=http%3A%2F%2F127.0.0.1%3A4242%2Ftorrent%2Fwebseed%2F37ad712ccd8b3817df994ce73201f6d65e2a2109"
                             "&xs=http%3A%2F%2F127.0.0.1%3A4242%2Ftorrent%2Fwebseed%2F37ad712ccd8b3817df994ce73201f6d65e2a2109");
    memcpy(out, "as it was", sizeof "as it was");
    assert_int_equal(q42_magnet(hash, text_of("demo volume.q42"), 41724, none, false, out, size), size);
    assert_string_equal(out, "as it was");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torrent_is_bencoded_with_its_keys_in_order),
        cmocka_unit_test(a_torrent_that_was_written_reads_back),
        cmocka_unit_test(room_that_is_too_small_is_told_how_much_is_needed),
        cmocka_unit_test(names_that_lead_elsewhere_are_not_written),
        cmocka_unit_test(each_broken_rule_is_refused_by_its_name),
        cmocka_unit_test(pieces_grow_with_the_file),
        cmocka_unit_test(magnet_links_are_the_published_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
