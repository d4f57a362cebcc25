/* text_fixture.c — opening vocabularies and comparing ids. */
#include "text_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"

static void must(qn_status status, const error_context *err) {
    if (status < 0) {
        fail_msg("%s", error_text(err));
    }
}

void text_fixture_open(const char *path, text_fixture *out) {
    size_t size;
    uint64_t scratch_size;
    fmt_diag diag;
    error_context err = {0};
    memset(out, 0, sizeof *out);
    out->bytes = test_read_file(path, &size);
    const fmt_span span = {out->bytes, size};
    if (gguf_scratch_size(span, &scratch_size, &diag) != FMT_OK) {
        fail_msg("%s: %s", path, diag.text);
    }
    out->scratch = malloc((size_t)scratch_size + 8);
    assert_non_null(out->scratch);
    if (gguf_open(span, out->scratch, scratch_size, &out->file, &diag) != FMT_OK) {
        fail_msg("%s: %s", path, diag.text);
    }
    must(vocabulary_from_gguf(&out->file, path, &out->words, &err), &err);
    must(tokenizer_create(&out->words->facts, &out->tok, &err), &err);
    vocabulary_end_build(out->words);
}

void text_fixture_close(text_fixture *f) {
    tokenizer_destroy(f->tok);
    vocabulary_free(f->words);
    free(f->scratch);
    free(f->bytes);
}

static void clear(small_vocabulary *v, const char *model) {
    memset(v, 0, sizeof *v);
    v->facts.model = (fmt_str){model, strlen(model)};
    v->facts.pre = (fmt_str){"", 0};
    v->facts.tokens = v->tokens;
    v->facts.kinds = v->kinds;
    v->facts.bos = v->facts.eos = v->facts.unk = v->facts.eot = v->facts.eom = v->facts.pad = TOKEN_NONE;
}

uint32_t small_add(small_vocabulary *v, const char *spelling, int32_t kind, float score) {
    const uint32_t id = v->facts.n_tokens++;
    assert_true(id < TEXT_MAX_TOKENS);
    v->tokens[id] = (fmt_str){spelling, strlen(spelling)};
    v->kinds[id] = kind;
    v->scores[id] = score;
    return id;
}

uint32_t small_merge(small_vocabulary *v, const char *left, const char *right, const char *joined) {
    const uint32_t rank = v->facts.n_merges++;
    v->merges[rank] = (tokenizer_merge){{left, strlen(left)}, {right, strlen(right)}};
    v->facts.merges = v->merges;
    return small_add(v, joined, TOKEN_KIND_NORMAL, 0);
}

void small_sentencepiece(small_vocabulary *v) {
    clear(v, "llama");
    v->facts.scores = v->scores;
    v->facts.unk = small_add(v, "<unk>", TOKEN_KIND_UNKNOWN, 0);
    v->facts.bos = small_add(v, "<s>", TOKEN_KIND_CONTROL, 0);
    v->facts.eos = small_add(v, "</s>", TOKEN_KIND_CONTROL, 0);
    for (int byte = 0; byte < 256; byte++) {
        snprintf(v->bytes[byte], sizeof v->bytes[byte], "<0x%02X>", byte);
        small_add(v, v->bytes[byte], TOKEN_KIND_BYTE, 0);
    }
    v->facts.add_bos = v->facts.add_space_prefix = true;
}

/* The table of byte-level BPE written out once more, from its definition: bytes that print stand for themselves, the others
 * follow in order from U+0100. */
static void spell_byte(int byte, int *n_hidden, char out[8]) {
    const int prints = (byte > ' ' && byte < 0x7f) || (byte >= 0xa1 && byte != 0xad);
    const int code = prints ? byte : 0x100 + (*n_hidden)++;
    if (code < 0x80) {
        snprintf(out, 8, "%c", code);
    } else {
        snprintf(out, 8, "%c%c", 0xc0 | code >> 6, 0x80 | (code & 0x3f));
    }
}

void small_byte_level(small_vocabulary *v) {
    int n_hidden = 0;
    clear(v, "gpt2");
    v->facts.pre = (fmt_str){"gpt-2", 5};
    for (int byte = 0; byte < 256; byte++) {
        spell_byte(byte, &n_hidden, v->bytes[byte]);
        small_add(v, v->bytes[byte], TOKEN_KIND_NORMAL, 0);
    }
    v->facts.bos = v->facts.eos = small_add(v, "<|end|>", TOKEN_KIND_CONTROL, 0);
}

tokenizer *small_create(small_vocabulary *v) {
    tokenizer *tok = NULL;
    error_context err = {0};
    must(tokenizer_create(&v->facts, &tok, &err), &err);
    return tok;
}

static void print_ids(const char *title, const uint32_t *ids, size_t count) {
    print_error("%s:", title);
    for (size_t i = 0; i < count && i < 60; i++) {
        print_error(" %u", ids[i]);
    }
    print_error("\n");
}

void assert_encodes(const tokenizer *tok, const char *text, size_t size, uint32_t flags, const uint32_t *ids) {
    token_list list = {0};
    error_context err = {0};
    size_t count = 0;
    while (ids[count] != TOKEN_NONE) {
        count++;
    }
    must(tokenizer_encode(tok, text, size, flags, &list, &err), &err);
    const bool is_equal = list.count == count && (count == 0 || memcmp(list.ids, ids, count * sizeof *ids) == 0);
    if (!is_equal) {
        print_ids("wanted", ids, count);
        print_ids("got   ", list.ids, list.count);
    }
    token_list_free(&list);
    if (!is_equal) {
        fail_msg("\"%.*s\" gives other ids", size < 80 ? (int)size : 80, text);
    }
}

void assert_round_trip(const tokenizer *tok, const char *text, size_t size) {
    token_list list = {0};
    error_context err = {0};
    detokenizer d;
    must(tokenizer_encode(tok, text, size, 0, &list, &err), &err);
    const size_t room = detokenizer_room(tok);
    char *piece = malloc(room);
    size_t at = 0;
    bool is_equal = piece != NULL;
    detokenizer_init(&d, tok, false, true);
    for (size_t i = 0; i <= list.count && is_equal; i++) {
        const size_t n = i < list.count ? detokenizer_push(&d, list.ids[i], piece, room) : detokenizer_flush(&d, piece, room);
        is_equal = n <= size - at && memcmp(piece, text + at, n) == 0;
        at += n;
    }
    free(piece);
    token_list_free(&list);
    if (!is_equal || at != size) {
        fail_msg("the text of %zu bytes comes back differently at byte %zu", size, at);
    }
}
