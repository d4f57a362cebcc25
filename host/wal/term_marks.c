/* term_marks.c — ids and marks of their texts. */
#include "wal/term_marks.h"

#include <stdlib.h>
#include <string.h>

#include "common/endian.h"
#include "common/sha.h"
#include "graph/secret.h"

#define LEAST_SLOTS 64u

uint64_t term_mark_of(fmt_str text) {
    uint8_t digest[SHA256_BYTES];
    return sha256_digest(text.data, text.size, digest) ? load_u64(digest) | 1 : 0;
}

/* The slot of this id, or the free one where it would stand. There is always a free one. */
static term_mark *find_slot(const term_marks *table, uint64_t id) {
    uint64_t at = secret_slot(id, table->multiplier, table->n_slots);
    while (table->slots[at].mark != 0 && table->slots[at].id != id) {
        at = (at + 1) & (table->n_slots - 1);
    }
    return &table->slots[at];
}

uint64_t term_marks_find(const term_marks *table, uint64_t id) {
    return table->n_slots > 0 ? find_slot(table, id)->mark : 0;
}

static bool grow(term_marks *table) {
    term_marks larger = {.n_slots = table->n_slots > 0 ? table->n_slots * 2 : LEAST_SLOTS, .n_ids = table->n_ids,
                         .multiplier = table->multiplier != 0 ? table->multiplier : secret_multiplier()};
    larger.slots = calloc((size_t)larger.n_slots, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < table->n_slots; i++) {
        if (table->slots[i].mark != 0) {
            *find_slot(&larger, table->slots[i].id) = table->slots[i];
        }
    }
    free(table->slots);
    *table = larger;
    return true;
}

bool term_marks_add(term_marks *table, uint64_t id, uint64_t mark) {
    if (table->n_ids * 4 >= table->n_slots * 3 && !grow(table)) {
        return false;
    }
    *find_slot(table, id) = (term_mark){id, mark};
    table->n_ids++;
    return true;
}

void term_marks_free(term_marks *table) {
    free(table->slots);
    memset(table, 0, sizeof *table);
}
