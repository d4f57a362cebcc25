/* deny_set.c — bits. */
#include "sentinel/deny_set.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_TEXT 256u

static void deny(deny_set *set, uint32_t id) {
    set->bits[id / 64] |= UINT64_C(1) << id % 64;
}

/* Control tokens are denied by their spelling, although they print nothing. */
static qn_status deny_text(deny_set *set, const tokenizer *tok, const phrase_text *text, error_context *err) {
    char bytes[LONGEST_TEXT];
    bool is_found = false;
    for (uint32_t id = 0; id < set->n_tokens; id++) {
        const size_t n = tokenizer_token_bytes(tok, id, true, bytes, sizeof bytes);
        const size_t skip = n == text->size + 1 && bytes[0] == ' ' ? 1 : 0;
        if (n <= sizeof bytes && n - skip == text->size && memcmp(bytes + skip, text->bytes, text->size) == 0) {
            deny(set, id);
            is_found = true;
        }
    }
    return is_found ? QN_OK
                    : FAIL(err, QN_BAD_INPUT, "[deny] text = %.*s: no token of this model is spelled so; longer texts are for [phrase]",
                           (int)(text->size < LONGEST_TEXT ? text->size : LONGEST_TEXT), text->bytes);
}

qn_status deny_set_make(deny_set *set, const tokenizer *tok, const sentinel_settings *settings, error_context *err) {
    *set = (deny_set){.n_tokens = tokenizer_size(tok)};
    set->bits = calloc(set->n_tokens / 64 + 1, sizeof *set->bits);
    if (set->bits == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a list of %u tokens", set->n_tokens);
    }
    for (size_t i = 0; i < settings->n_deny_ids; i++) {
        if (settings->deny_ids[i] >= set->n_tokens) {
            return FAIL(err, QN_BAD_INPUT, "[deny] ids: %u: the vocabulary has %u tokens", settings->deny_ids[i], set->n_tokens);
        }
        deny(set, settings->deny_ids[i]);
    }
    for (size_t i = 0; i < settings->n_deny_texts; i++) {
        QN_TRY(deny_text(set, tok, &settings->deny_texts[i], err), err, "[deny]");
    }
    return QN_OK;
}

void deny_set_free(deny_set *set) {
    free(set->bits);
    *set = (deny_set){0};
}
