/* json_text.c — JSON without a document in memory: rows are many. */
#include "graph/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool put(text_buffer *out, const char *text, size_t size) {
    return text_buffer_append(out, text, size);
}

static bool put_word(text_buffer *out, const char *word) {
    return put(out, word, strlen(word));
}

static bool put_escaped(text_buffer *out, unsigned char c) {
    char text[8];
    const char *shorts = "\"\"\\\\\bb\ff\nn\rr\tt"; /* the character, then how it is written */
    for (const char *at = shorts; *at != 0; at += 2) {
        if ((unsigned char)*at == c) {
            text[0] = '\\';
            text[1] = at[1];
            return put(out, text, 2);
        }
    }
    const int n = snprintf(text, sizeof text, "\\u%04x", c);
    return put(out, text, (size_t)n);
}

bool json_text_string(text_buffer *out, fmt_str text) {
    bool is_put = put(out, "\"", 1);
    uint64_t from = 0;
    for (uint64_t i = 0; is_put && i < text.size; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7F) {
            is_put = put(out, text.data + from, (size_t)(i - from)) && put_escaped(out, c);
            from = i + 1;
        }
    }
    return is_put && put(out, text.data + from, (size_t)(text.size - from)) && put(out, "\"", 1);
}

static bool put_literal(text_buffer *out, const ntriples_term *term, fmt_str value) {
    const fmt_str language = ntriples_language(term), datatype = ntriples_datatype(term);
    bool is_put = put_word(out, "{\"type\": \"literal\", \"value\": ") && json_text_string(out, value);
    if (language.size > 0) {
        is_put = is_put && put_word(out, ", \"xml:lang\": ") && json_text_string(out, language);
    }
    if (datatype.size > 0) {
        is_put = is_put && put_word(out, ", \"datatype\": ") && json_text_string(out, datatype);
    }
    return is_put && put(out, "}", 1);
}

bool json_text_term(text_buffer *out, const term_cell *cell) {
    if (cell->kind == SHOWN_TRIPLE) {
        return put_word(out, "{\"type\": \"triple\", \"value\": ") &&
               json_text_string(out, (fmt_str){cell->text.text, cell->text.size}) && put(out, "}", 1);
    }
    const ntriples_term term = term_cell_term(cell);
    char *value = malloc((size_t)term.size + 1);
    if (value == NULL) {
        return false;
    }
    const fmt_str text = {value, ntriples_decode(&term, value)};
    bool is_put;
    if (cell->kind == SHOWN_LITERAL) {
        is_put = put_literal(out, &term, text);
    } else {
        is_put = put_word(out, cell->kind == SHOWN_IRI ? "{\"type\": \"uri\", \"value\": " : "{\"type\": \"bnode\", \"value\": ") &&
                 json_text_string(out, text) && put(out, "}", 1);
    }
    free(value);
    return is_put;
}
