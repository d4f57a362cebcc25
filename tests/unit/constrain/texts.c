/* texts.c — see texts.h. */
#include "texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

bool texts_begin_so(text_states *s, const char *text, size_t size, bool *out_is_complete) {
    error_context err = {0};
    uint32_t state;
    assert_int_equal(text_states_begin(s, &state, &err), QN_OK);
    for (size_t i = 0; i < size && state != TEXT_STATE_DEAD; i++) {
        if (text_states_step(s, state, (uint8_t)text[i], &state, &err) < 0) {
            fail_msg("%s", error_text(&err));
        }
    }
    *out_is_complete = s->states[state].is_accepting && state != TEXT_STATE_DEAD;
    return state != TEXT_STATE_DEAD;
}

bool texts_accept(const grammar *g, const char *text, size_t size) {
    text_states s;
    bool is_complete = false;
    assert_int_equal(text_states_create(g, &s, NULL), QN_OK);
    const bool is_begun = texts_begin_so(&s, text, size, &is_complete);
    text_states_destroy(&s);
    return is_begun && is_complete;
}
