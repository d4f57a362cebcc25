/* fuzz_json_schema.c — schemas of any bytes. What is demanded: a refusal names the file; the shortest way through what is accepted, and ways
 * that the bytes choose, are JSON. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "constrain/json_schema.h"
#include "constrain/text_states.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_TEXT = 256 };

/* A text that the bytes choose; whenever it may end, it must be JSON. */
static void walk(text_states *s, const uint8_t *data, size_t size) {
    char text[MAX_TEXT];
    uint32_t at = s->start;
    for (uint32_t n = 0; n < MAX_TEXT; n++) {
        uint32_t next = TEXT_STATE_DEAD;
        if (s->states[at].is_accepting) {
            json_t *value = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
            REQUIRE(value != NULL);
            json_decref(value);
        }
        for (uint32_t k = 0; k < 256 && next == TEXT_STATE_DEAD; k++) {
            text[n] = (char)(uint8_t)(data[(n * 7) % size] + k);
            if (text_states_step(s, at, (uint8_t)text[n], &next, NULL) < 0) {
                return;
            }
        }
        if (next == TEXT_STATE_DEAD) {
            REQUIRE(s->states[at].is_accepting);
            return;
        }
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    grammar g = {.n_nodes = 0};
    error_context err = {0};
    text_states s;
    if (json_schema_parse((fmt_str){(const char *)data, size}, "schema", &g, &err) < 0) {
        REQUIRE(strncmp(error_text(&err), "schema: ", 8) == 0);
        return 0;
    }
    if (text_states_create(&g, &s, &err) == QN_OK) {
        walk(&s, data, size);
        text_states_destroy(&s);
    }
    grammar_free(&g);
    return 0;
}
