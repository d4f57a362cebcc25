/* fuzz_query_text.c — patterns, prefixes and comparisons of any bytes: lines of which the first letter says what they are, p, q or w.
 *
 * What is demanded: a refusal has words and points at a column; a term that was read is a canonical one. */
#include <stdlib.h>
#include <string.h>

#include "graph/pattern.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

#define MAX_SIZE 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_terms(const query_text *query) {
    for (uint32_t i = 0; i < query->n_patterns; i++) {
        for (uint32_t j = 0; j < N_PLACES; j++) {
            const pattern_slot *slot = &query->patterns[i].slots[j];
            REQUIRE(slot->kind != SLOT_TERM || slot->term.text == NULL ||
                    ntriples_is_canonical((fmt_str){slot->term.text, slot->term.size}, NULL));
            REQUIRE(slot->kind != SLOT_VARIABLE || slot->variable < query->n_variables);
        }
    }
}

static qn_status read_line(query_text *query, const char *line, error_context *err) {
    switch (line[0]) {
    case 'p': return query_add_prefix(query, line + 1, err);
    case 'w': return query_add_filter(query, line + 1, err);
    default: return query_add_pattern(query, line + 1, err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static query_text query;
    static char text[MAX_SIZE + 2];
    error_context err = {.code = QN_OK};
    if (size == 0 || size > MAX_SIZE) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = text[size + 1] = 0;
    qn_status status = QN_OK;
    for (char *line = text; status == QN_OK && line[0] != 0;) {
        char *end = line + strcspn(line, "\n");
        const bool is_last = *end == 0;
        *end = 0;
        status = line[0] != 0 ? read_line(&query, line, &err) : QN_OK;
        line = is_last ? end : end + 1;
    }
    REQUIRE(status == QN_OK || error_text(&err)[0] != 0);
    if (status == QN_OK) {
        check_terms(&query);
    }
    query_text_free(&query);
    return 0;
}
