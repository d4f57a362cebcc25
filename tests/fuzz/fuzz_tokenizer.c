/* fuzz_tokenizer.c — vocabularies and texts of any bytes: from a whole GGUF file, or from a short description that leads to
 * more vocabularies that can be used.
 *
 * A description: flags | pre-tokenizer | number of tokens, then each token as kind and size | bytes, then pairs of token numbers as
 * merges, ended by two equal ones; the rest is the text. All single bytes are tokens as well.
 * What is demanded: ids are below the size of the vocabulary, an error leaves the list as it was, and text comes back. */
#include <stdlib.h>
#include <string.h>

#include "model/vocabulary.h"
#include "text/stop_set.h"
#include "text/tokenizer.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_TOKENS = 48, MAX_MERGES = 64, N_SINGLE = 256, IS_LLAMA = 1, IS_SPECIAL = 2, HAS_BOS = 4, HAS_PREFIX = 8, HAS_KINDS = 16,
       COLLAPSES = 32, STRIPS = 64, HAS_UNK = 128 };

/* Decodes the ids, specials shown; true when that gives text[0..size). */
static bool gives_back(const tokenizer *tok, const token_list *ids, const char *text, size_t size) {
    detokenizer d;
    size_t at = 0;
    const size_t room = detokenizer_room(tok);
    char *piece = malloc(room + 1);
    REQUIRE(piece != NULL);
    bool is_equal = true;
    detokenizer_init(&d, tok, true, true);
    for (size_t i = 0; i <= ids->count; i++) {
        const size_t n = i < ids->count ? detokenizer_push(&d, ids->ids[i], piece, room) : detokenizer_flush(&d, piece, room);
        REQUIRE(n <= room);
        is_equal = is_equal && n <= size - at && memcmp(piece, text + at, n) == 0;
        at += is_equal ? n : 0;
    }
    free(piece);
    return is_equal && at == size;
}

static qn_status encode(const tokenizer *tok, const char *text, size_t size, uint32_t flags, token_list *ids) {
    error_context err = {0};
    const size_t before = ids->count;
    const qn_status status = tokenizer_encode(tok, text, size, flags, ids, &err);
    REQUIRE(status == QN_OK || (ids->count == before && error_text(&err)[0] != '\0'));
    for (size_t i = before; i < ids->count; i++) {
        REQUIRE(ids->ids[i] < tokenizer_size(tok));
    }
    return status;
}

/* The text in one piece and in two that are trusted alike gives the same ids. */
static void compare_parts(const tokenizer *tok, const char *text, size_t size, const token_list *ids) {
    token_list again = {0};
    const size_t half = size / 2;
    const encode_part parts[] = {{text, half, false, false, TOKEN_NONE}, {text + half, size - half, false, false, TOKEN_NONE}};
    const qn_status status = tokenizer_encode_parts(tok, parts, 2, 0, &again, NULL);
    REQUIRE(status == QN_OK && again.count == ids->count);
    REQUIRE(ids->count == 0 || memcmp(again.ids, ids->ids, ids->count * sizeof *ids->ids) == 0);
    token_list_free(&again);
}

static void visit(const tokenizer *tok, const char *text, size_t size, uint32_t flags, bool must_come_back) {
    token_list ids = {0};
    stop_set stops;
    if (encode(tok, text, size, flags, &ids) == QN_OK) {
        REQUIRE(!must_come_back || gives_back(tok, &ids, text, size));
        gives_back(tok, &ids, text, size);
    }
    ids.count = 0;
    if (encode(tok, text, size, 0, &ids) == QN_OK) {
        compare_parts(tok, text, size, &ids);
    }
    token_list_free(&ids);
    stop_set_from_vocabulary(tok, &stops);
    for (uint32_t i = 0; i < stops.count; i++) {
        REQUIRE(stops.ids[i] < tokenizer_size(tok));
    }
    REQUIRE(tokenizer_find(tok, "no such token anywhere") == TOKEN_NONE);
}

static void visit_gguf(fmt_span span) {
    static const char text[] = "Hello  world\n\n1234 <|im_end|> \xe2\x96\x81 \xf0\x9f\xa6\x99 don't </s>";
    gguf_file file;
    fmt_diag diag;
    uint64_t need = 0;
    error_context err = {0};
    vocabulary *words;
    tokenizer *tok;
    if (gguf_scratch_size(span, &need, &diag) != FMT_OK) {
        return;
    }
    void *scratch = malloc((size_t)need + 1);
    REQUIRE(scratch != NULL);
    if (gguf_open(span, scratch, need, &file, &diag) == FMT_OK) {
        if (vocabulary_from_gguf(&file, "fuzz", &words, &err) == QN_OK) {
            if (tokenizer_create(&words->facts, &tok, &err) == QN_OK) {
                vocabulary_end_build(words);
                visit(tok, text, sizeof text - 1, ENCODE_ADD_BOS | ENCODE_SPECIAL, false);
                tokenizer_destroy(tok);
            } else {
                REQUIRE(error_text(&err)[0] != '\0');
            }
            vocabulary_free(words);
        } else {
            REQUIRE(error_text(&err)[0] != '\0');
        }
    }
    free(scratch);
}

/* A vocabulary as described; strings point into the data. */
typedef struct described {
    fmt_str tokens[N_SINGLE + MAX_TOKENS];
    int32_t kinds[N_SINGLE + MAX_TOKENS];
    float scores[N_SINGLE + MAX_TOKENS];
    tokenizer_merge merges[MAX_MERGES];
    char single[N_SINGLE][8];
    tokenizer_facts facts;
    bool has_added;
} described;

static void spell_single(described *v, unsigned byte, bool is_llama, unsigned *n_hidden) {
    static const char hex[] = "0123456789ABCDEF";
    char *to = v->single[byte];
    const bool prints = (byte > ' ' && byte < 0x7f) || (byte >= 0xa1 && byte != 0xad);
    const unsigned code = prints ? byte : 0x100 + *n_hidden;
    *n_hidden += prints ? 0 : 1;
    if (is_llama) {
        const char spelling[] = {'<', '0', 'x', hex[byte >> 4], hex[byte & 15], '>'};
        memcpy(to, spelling, sizeof spelling);
        v->tokens[byte] = (fmt_str){to, 6};
        v->kinds[byte] = TOKEN_KIND_BYTE;
    } else {
        to[0] = (char)(code < 0x80 ? code : 0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        v->tokens[byte] = (fmt_str){to, code < 0x80 ? 1 : 2};
        v->kinds[byte] = TOKEN_KIND_NORMAL;
    }
}

static size_t read_tokens(described *v, const uint8_t *data, size_t size, unsigned n_tokens) {
    size_t at = 0;
    for (unsigned i = 0; i < n_tokens && at < size; i++) {
        const uint32_t id = v->facts.n_tokens;
        const size_t n = (size_t)(data[at] & 15) < size - at - 1 ? data[at] & 15u : size - at - 1;
        v->kinds[id] = 1 + (data[at] >> 4) % 6;
        v->has_added = v->has_added || v->kinds[id] == TOKEN_KIND_USER_DEFINED;
        v->scores[id] = -(float)(id % 13);
        v->tokens[id] = (fmt_str){(const char *)data + at + 1, n};
        v->facts.n_tokens++;
        at += 1 + n;
    }
    return at;
}

static size_t read_merges(described *v, const uint8_t *data, size_t size) {
    size_t at = 0;
    while (at + 2 <= size && v->facts.n_merges < MAX_MERGES) {
        const uint32_t left = data[at] % v->facts.n_tokens, right = data[at + 1] % v->facts.n_tokens;
        at += 2;
        if (left == right && v->facts.n_merges > 0) {
            break;
        }
        v->merges[v->facts.n_merges++] = (tokenizer_merge){v->tokens[left], v->tokens[right]};
    }
    return at;
}

static const char *const pres[] = {"gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35", "tekken", "gpt-4o", "falcon",
                                   "deepseek-llm", "deepseek-coder", "deepseek-v3", "nobody-knows"};

static void visit_description(const uint8_t *data, size_t size) {
    described *v = calloc(1, sizeof *v);
    REQUIRE(v != NULL);
    const unsigned flags = data[0];
    const bool is_llama = (flags & IS_LLAMA) != 0;
    const char *pre = pres[data[1] % (sizeof pres / sizeof pres[0])];
    unsigned n_hidden = 0;
    for (unsigned byte = 0; byte < N_SINGLE; byte++) {
        spell_single(v, byte, is_llama, &n_hidden);
    }
    v->facts = (tokenizer_facts){.model = {is_llama ? "llama" : "gpt2", is_llama ? 5 : 4}, .pre = {pre, strlen(pre)},
                                 .n_tokens = N_SINGLE, .tokens = v->tokens, .scores = v->scores, .merges = v->merges,
                                 .kinds = (flags & HAS_KINDS) != 0 ? v->kinds : NULL, .bos = TOKEN_NONE, .eos = TOKEN_NONE,
                                 .unk = (flags & HAS_UNK) != 0 ? 7 : TOKEN_NONE, .eot = TOKEN_NONE, .eom = TOKEN_NONE,
                                 .pad = TOKEN_NONE, .add_space_prefix = (flags & HAS_PREFIX) != 0,
                                 .remove_extra_whitespaces = (flags & COLLAPSES) != 0, .strips_after_special = (flags & STRIPS) != 0};
    size_t at = 3 + read_tokens(v, data + 3, size - 3, data[2] % MAX_TOKENS);
    at += read_merges(v, data + at, size - at);
    if ((flags & HAS_BOS) != 0) {
        v->facts.bos = v->facts.eos = v->facts.n_tokens - 1;
        v->facts.add_bos = true;
    }
    tokenizer *tok;
    error_context err = {0};
    if (tokenizer_create(&v->facts, &tok, &err) == QN_OK) {
        const char *text = (const char *)data + at;
        const uint32_t encode_flags = (flags & IS_SPECIAL) != 0 ? ENCODE_SPECIAL : 0;
        /* SentencePiece-style changes text on purpose: markers, spaces behind special tokens */
        const bool is_plain = !is_llama || (memchr(text, 0xe2, size - at) == NULL && !v->has_added && encode_flags == 0 &&
                                            (flags & COLLAPSES) == 0 && (flags & HAS_KINDS) != 0);
        visit(tok, text, size - at, encode_flags, is_plain && (flags & (STRIPS | HAS_UNK)) == 0);
        tokenizer_destroy(tok);
    } else {
        REQUIRE(error_text(&err)[0] != '\0');
    }
    free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fmt_span span = {data, size};
    if (gguf_has_magic(span)) {
        visit_gguf(span);
    } else if (size >= 3 && size < 65536) {
        visit_description(data, size);
    }
    return 0;
}
