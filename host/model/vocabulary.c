/* vocabulary.c — the storage behind the facts of a tokenizer. */
#include "model/vocabulary.h"

#include <stdlib.h>

vocabulary *vocabulary_new(void) {
    vocabulary *v = calloc(1, sizeof *v);
    if (v != NULL) {
        const fmt_str empty = {"", 0};
        v->facts.model = v->facts.pre = v->chat_template = empty;
        v->facts.bos = v->facts.eos = v->facts.unk = v->facts.eot = v->facts.eom = v->facts.pad = TOKEN_NONE;
    }
    return v;
}

void vocabulary_end_build(vocabulary *v) {
    free(v->scores);
    free(v->kinds);
    free(v->merges);
    v->scores = NULL;
    v->kinds = NULL;
    v->merges = NULL;
    v->facts.scores = NULL;
    v->facts.kinds = NULL;
    v->facts.merges = NULL;
}

void vocabulary_free(vocabulary *v) {
    if (v != NULL) {
        vocabulary_end_build(v);
        free(v->tokens);
        free(v);
    }
}
