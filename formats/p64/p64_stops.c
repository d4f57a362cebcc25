/* p64_stops.c — section 10: which tokens end a text, found in the vocabulary when the file does not say. */
#include <string.h>

#include "p64_layout.h"

static const char *const stop_words[] = {"<|endoftext|>", "<|eot_id|>",        "<|im_end|>", "<end_of_turn>",
                                         "<turn|>",       "<|end_of_text|>", "</s>",       "<|end|>"};
static const char *const lower_words[] = {"<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<end_of_turn>", "</s>"};
static const char *const endings[] = {"im_end|>", "eot_id|>"};
static const char *const parts[] = {"end_of_turn", "im_end", "eot_id"};

#define N_WORDS (sizeof stop_words / sizeof stop_words[0])

/* Ids in the order of the stages; each list is cut at eight. */
typedef struct finds {
    uint32_t words[N_WORDS];
    uint32_t special[P64_MAX_STOPS], n_special;
    uint32_t any[P64_MAX_STOPS], n_any;
} finds;

static char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* True when `word` stands at text[at], ASCII case ignored. */
static bool stands_at(fmt_str text, uint64_t at, const char *word) {
    const size_t length = strlen(word);
    if (at > text.size || text.size - at < length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (to_lower(text.data[at + i]) != word[i]) {
            return false;
        }
    }
    return true;
}

static bool is_marked(fmt_str text) {
    for (size_t i = 0; i < sizeof lower_words / sizeof lower_words[0]; i++) {
        if (text.size == strlen(lower_words[i]) && stands_at(text, 0, lower_words[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (text.size >= strlen(endings[i]) && stands_at(text, text.size - strlen(endings[i]), endings[i])) {
            return true;
        }
    }
    for (uint64_t at = 0; at < text.size; at++) {
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            if (stands_at(text, at, parts[i])) {
                return true;
            }
        }
    }
    return false;
}

static void look_at_token(finds *f, fmt_str text, uint32_t id) {
    for (size_t i = 0; i < N_WORDS; i++) {
        if (f->words[i] == UINT32_MAX && text.size == strlen(stop_words[i]) &&
            memcmp(text.data, stop_words[i], text.size) == 0) {
            f->words[i] = id;
        }
    }
    if (f->n_any == P64_MAX_STOPS && f->n_special == P64_MAX_STOPS) {
        return;
    }
    if (!is_marked(text)) {
        return;
    }
    if (f->n_any < P64_MAX_STOPS) {
        f->any[f->n_any++] = id;
    }
    const bool is_special = text.data[0] == '<' && text.data[text.size - 1] == '>';
    if (is_special && f->n_special < P64_MAX_STOPS) {
        f->special[f->n_special++] = id;
    }
}

static void add_ids(uint32_t *out_ids, uint32_t *count, const uint32_t *ids, size_t n_ids) {
    for (size_t i = 0; i < n_ids; i++) {
        bool is_there = ids[i] == UINT32_MAX;
        for (uint32_t k = 0; k < *count; k++) {
            is_there = is_there || out_ids[k] == ids[i];
        }
        if (!is_there && *count < P64_MAX_STOPS) {
            out_ids[(*count)++] = ids[i];
        }
    }
}

uint32_t p64_derive_stops(p64_token_fn *token, void *ctx, uint32_t n_tokens, uint32_t eos,
                          uint32_t out_ids[P64_MAX_STOPS]) {
    finds f = {.n_any = 0};
    uint32_t count = 1;
    memset(f.words, 0xFF, sizeof f.words);
    for (uint32_t id = 0; id < n_tokens; id++) {
        look_at_token(&f, token(ctx, id), id);
    }
    out_ids[0] = eos;
    add_ids(out_ids, &count, f.words, N_WORDS);
    add_ids(out_ids, &count, f.special, f.n_special);
    add_ids(out_ids, &count, f.any, f.n_any);
    return count;
}
