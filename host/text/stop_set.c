/* stop_set.c — end markers of a vocabulary. */
#include "text/stop_set.h"

#include <string.h>

void stop_set_add(stop_set *set, uint32_t id) {
    if (id != TOKEN_NONE && set->count < STOP_SET_MAX && !stop_set_has(set, id)) {
        set->ids[set->count++] = id;
    }
}

bool stop_set_has(const stop_set *set, uint32_t id) {
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* Lower-case copy of a spelling; false when it is too long to be an end marker. */
static bool lower(fmt_str spelling, char out[32]) {
    if (spelling.size >= 32) {
        return false;
    }
    for (uint64_t i = 0; i < spelling.size; i++) {
        const char byte = spelling.data[i];
        out[i] = byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
    }
    out[spelling.size] = '\0';
    return true;
}

static bool looks_like_end(fmt_str spelling) {
    static const char *const whole[] = {"<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<end_of_turn>", "</s>", "<|eot|>"};
    static const char *const inside[] = {"im_end", "eot_id", "end_of_turn"};
    char text[32];
    if (!lower(spelling, text)) {
        return false;
    }
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        if (strcmp(text, whole[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        if (strstr(text, inside[i]) != NULL) {
            return true;
        }
    }
    return false;
}

void stop_set_from_vocabulary(const tokenizer *tok, stop_set *out_set) {
    static const char *const markers[] = {"<|endoftext|>",   "<|eot_id|>", "<|im_end|>", "<end_of_turn>", "<turn|>",
                                          "<|end_of_text|>", "</s>",       "<|end|>"};
    const tokenizer_facts *facts = tokenizer_get_facts(tok);
    *out_set = (stop_set){.count = 0};
    stop_set_add(out_set, facts->eos);
    stop_set_add(out_set, facts->eot);
    stop_set_add(out_set, facts->eom);
    for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++) {
        const uint32_t id = tokenizer_find_special(tok, markers[i]);
        /* as an added token, "</s>" may be the HTML tag */
        const bool is_end = id != TOKEN_NONE && (strcmp(markers[i], "</s>") != 0 || tokenizer_kind(tok, id) == TOKEN_KIND_CONTROL);
        stop_set_add(out_set, is_end ? id : TOKEN_NONE);
    }
    for (uint32_t id = 0; id < facts->n_tokens; id++) {
        if (tokenizer_kind(tok, id) == TOKEN_KIND_CONTROL && looks_like_end(facts->tokens[id])) {
            stop_set_add(out_set, id);
        }
    }
}
