/* test_detokenizer.c — tokens back to text: characters that come in pieces, malformed bytes, and round trips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/utf8.h"
#include "corpus.h"
#include "text_fixture.h"

enum { BYTES_AT = 3 }; /* id of <0x00> in a small SentencePiece-style vocabulary */

/* Pushes the bytes of `bytes` one token each and compares what comes out, piece by piece, "|" between the pieces. */
static void assert_pieces(const char *bytes, size_t size, const char *pieces) {
    small_vocabulary v;
    detokenizer d;
    char text[256];
    char *piece;
    size_t n = 0;
    small_sentencepiece(&v);
    tokenizer *tok = small_create(&v);
    const size_t room = detokenizer_room(tok);
    piece = malloc(room);
    assert_non_null(piece);
    detokenizer_init(&d, tok, false, false);
    for (size_t i = 0; i <= size; i++) {
        const size_t got = i < size ? detokenizer_push(&d, BYTES_AT + (uint8_t)bytes[i], piece, room) : detokenizer_flush(&d, piece, room);
        memcpy(text + n, piece, got);
        n += got;
        text[n++] = '|';
    }
    text[n] = '\0';
    free(piece);
    tokenizer_destroy(tok);
    assert_string_equal(text, pieces);
}

static void characters_come_out_when_they_are_complete(void **state) {
    (void)state;
    assert_pieces("ab", 2, "a|b||");
    assert_pieces("\xc3\xa9x", 3, "|\xc3\xa9|x||");
    assert_pieces("\xe2\x82\xac", 3, "||\xe2\x82\xac||");
    assert_pieces("\xf0\x9f\xa6\x99", 4, "|||\xf0\x9f\xa6\x99||");
}

#define FFFD "\xef\xbf\xbd"

static void malformed_bytes_become_replacement_characters(void **state) {
    (void)state;
    assert_pieces("\xff" "a", 2, FFFD "|a||");
    assert_pieces("\x80\x80", 2, FFFD "|" FFFD "||");
    assert_pieces("\xc3" "a", 2, "|" FFFD "a||");
    assert_pieces("\xe2\x82" "a", 3, "||" FFFD "a||");
    assert_pieces("\xe0\x80", 2, "|" FFFD FFFD "||");           /* overlong */
    assert_pieces("\xed\xa0\x80", 3, "|" FFFD FFFD "|" FFFD "||"); /* a surrogate */
    assert_pieces("\xf4\x90", 2, "|" FFFD FFFD "||");           /* above U+10FFFF */
    assert_pieces("\xe2\xe2\x82\xac", 4, "|" FFFD "||\xe2\x82\xac||");
}

static void an_incomplete_end_becomes_one_replacement_character(void **state) {
    (void)state;
    assert_pieces("a\xf0\x9f\xa6", 4, "a||||" FFFD "|");
    assert_pieces("\xc3", 1, "|" FFFD "|");
}

static size_t push_text(detokenizer *d, uint32_t id, char *text, size_t room) {
    const size_t n = detokenizer_push(d, id, text, room);
    text[n] = '\0';
    return n;
}

static void the_first_space_belongs_to_the_family_and_only_the_first(void **state) {
    small_vocabulary v;
    detokenizer d;
    char text[64];
    (void)state;
    small_sentencepiece(&v);
    const uint32_t hi = small_add(&v, "\xe2\x96\x81" "Hi", TOKEN_KIND_NORMAL, 0);
    tokenizer *tok = small_create(&v);
    assert_true(detokenizer_room(tok) < sizeof text);
    detokenizer_init(&d, tok, false, true);
    push_text(&d, v.facts.bos, text, sizeof text - 1);
    assert_string_equal(text, "");
    push_text(&d, hi, text, sizeof text - 1);
    assert_string_equal(text, "Hi");
    push_text(&d, hi, text, sizeof text - 1);
    assert_string_equal(text, " Hi");
    detokenizer_init(&d, tok, false, false); /* goes on behind a prompt */
    push_text(&d, hi, text, sizeof text - 1);
    assert_string_equal(text, " Hi");
    tokenizer_destroy(tok);
}

static void control_tokens_show_only_when_asked(void **state) {
    small_vocabulary v;
    detokenizer d;
    char text[64];
    (void)state;
    small_byte_level(&v);
    small_merge(&v, "q", "q", "qq");
    const uint32_t added = small_add(&v, "<b>", TOKEN_KIND_USER_DEFINED, 0);
    tokenizer *tok = small_create(&v);
    detokenizer_init(&d, tok, false, true);
    assert_int_equal(push_text(&d, 256, text, sizeof text - 1), 0);
    assert_int_equal(push_text(&d, added, text, sizeof text - 1), 3);
    detokenizer_init(&d, tok, true, true);
    push_text(&d, 256, text, sizeof text - 1);
    assert_string_equal(text, "<|end|>");
    assert_int_equal(push_text(&d, 100000, text, sizeof text - 1), 0); /* no such token */
    assert_int_equal(detokenizer_push(&d, 256, text, 3), 0);            /* no room */
    assert_int_equal(tokenizer_token_bytes(tok, 256, false, text, 3), 0);
    assert_int_equal(tokenizer_token_bytes(tok, 256, true, text, 3), 7);
    assert_memory_equal(text, "<|e", 3);
    assert_int_equal(tokenizer_token_bytes(tok, ' ', false, text, 8), 1);
    assert_int_equal(text[0], ' ');
    tokenizer_destroy(tok);
}

/* ---------------------------------------------------------------- round trips */

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static size_t make_text(uint32_t *seed, uint8_t *text, size_t room) {
    static const struct {
        uint32_t first, count;
    } blocks[] = {{0, 128}, {'a', 26}, {' ', 1}, {'0', 10}, {0x80, 0x400}, {0x900, 0x80}, {0x2000, 0x70}, {0x4e00, 0x5000},
                  {0x1f300, 0x300}, {0x10000, 0x10000}, {'\n', 1}, {'!', 15}};
    size_t size = 0;
    while (size + 40 < room) {
        const uint32_t block = next_random(seed) % (sizeof blocks / sizeof blocks[0]);
        for (uint32_t n = next_random(seed) % 8; n > 0; n--) {
            size += utf8_encode(blocks[block].first + next_random(seed) % blocks[block].count, text + size);
        }
    }
    return size;
}

static void random_text_comes_back_from_byte_level_vocabularies(void **state) {
    static const char *const names[] = {"gpt-2", "deepseek-llm", "deepseek-coder"}; /* these have all 256 bytes */
    uint8_t text[3000];
    uint32_t seed = 20260;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char relative[128], path[CORPUS_PATH_SIZE];
        text_fixture f;
        snprintf(relative, sizeof relative, "data/tokenizers/ggml-vocab-%s.gguf", names[i]);
        corpus_require(relative, path);
        text_fixture_open(path, &f);
        for (int round = 0; round < 60; round++) {
            assert_round_trip(f.tok, (const char *)text, make_text(&seed, text, 50 + (size_t)round * 49));
        }
        text_fixture_close(&f);
    }
}

static void random_text_comes_back_from_a_small_vocabulary(void **state) {
    small_vocabulary v;
    uint8_t text[3000];
    uint32_t seed = 4711;
    (void)state;
    small_byte_level(&v);
    small_merge(&v, "a", "b", "ab");
    small_merge(&v, "\xc4\xa0", "\xc4\xa0", "\xc4\xa0\xc4\xa0");
    tokenizer *tok = small_create(&v);
    for (int round = 0; round < 200; round++) {
        assert_round_trip(tok, (const char *)text, make_text(&seed, text, 50 + (size_t)round * 14));
    }
    tokenizer_destroy(tok);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_come_out_when_they_are_complete),
        cmocka_unit_test(malformed_bytes_become_replacement_characters),
        cmocka_unit_test(an_incomplete_end_becomes_one_replacement_character),
        cmocka_unit_test(the_first_space_belongs_to_the_family_and_only_the_first),
        cmocka_unit_test(control_tokens_show_only_when_asked),
        cmocka_unit_test(random_text_comes_back_from_a_small_vocabulary),
        cmocka_unit_test(random_text_comes_back_from_byte_level_vocabularies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
