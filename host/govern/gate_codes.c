/* gate_codes.c — words of reasons. */
#include "govern/gate_codes.h"

#include <stddef.h>

typedef struct code_row {
    gate_code code;
    const char *word, *meaning;
} code_row;

static const code_row rows[] = {
#define CODE(name, number, word, meaning) {number, word, meaning},
#include "govern/gate_codes.def"
#undef CODE
};

static const code_row *find_code(gate_code code) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].code == code) {
            return &rows[i];
        }
    }
    return NULL;
}

const char *gate_code_word(gate_code code) {
    const code_row *row = find_code(code);
    return row != NULL ? row->word : "unknown";
}

const char *gate_code_meaning(gate_code code) {
    const code_row *row = find_code(code);
    return row != NULL ? row->meaning : "a reason that this program does not know";
}
