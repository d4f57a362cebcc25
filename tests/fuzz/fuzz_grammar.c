/* fuzz_grammar.c — grammars of any bytes. What is demanded: a refusal names the file and has words; what is accepted has a text that the
 * machine itself can find, byte by byte, and takes no other steps than its states say. */
#include <stdlib.h>
#include <string.h>

#include "constrain/gbnf.h"
#include "constrain/text_states.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_STEPS = 64 };

/* Goes on with the first byte that may come, or with a later one, as the grammar's own bytes say. */
static void walk(text_states *s, const uint8_t *data, size_t size) {
    uint32_t at = s->start;
    for (uint32_t i = 0; i < N_STEPS; i++) {
        const uint32_t first = size > 0 ? data[i % size] : 0;
        uint32_t next = TEXT_STATE_DEAD;
        for (uint32_t k = 0; k < s->n_classes && next == TEXT_STATE_DEAD; k++) {
            error_context err = {0};
            if (text_states_step(s, at, s->byte_of[(first + k) % s->n_classes], &next, &err) < 0) {
                REQUIRE(err.code == QN_LIMIT && error_text(&err)[0] != '\0');
                return;
            }
        }
        if (next == TEXT_STATE_DEAD) {
            REQUIRE(s->states[at].is_accepting); /* no dead end inside a text: every rule has an end */
            REQUIRE(text_states_is_final(s, at));
            return;
        }
        at = i % 16 == 15 ? text_states_compact(s, next) : next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    grammar g = {.n_nodes = 0};
    error_context err = {0};
    text_states s;
    if (gbnf_parse((fmt_str){(const char *)data, size}, "grammar", &g, &err) < 0) {
        REQUIRE(strncmp(error_text(&err), "grammar: ", 9) == 0);
        return 0;
    }
    if (text_states_create(&g, &s, &err) == QN_OK) {
        REQUIRE(s.start != TEXT_STATE_DEAD);
        walk(&s, data, size);
        text_states_destroy(&s);
    }
    grammar_free(&g);
    return 0;
}
