/* term_table.c — linear probing over multiply-shift hashing of the keys. */
#include "graph/term_table.h"

#include <stdlib.h>
#include <string.h>

#include "graph/radix_sort.h"
#include "graph/secret.h"

#define FIRST_PLACE 8u /* so that 0 means free */

bool term_table_open(term_table *table, uint64_t arena_room) {
    *table = (term_table){.capacity = TERM_FIRST_SLOTS, .multiplier = secret_multiplier(),
                          .arena_used = FIRST_PLACE};
    table->slots = calloc(table->capacity, sizeof *table->slots);
    return table->slots != NULL && memory_region_open(&table->arena, arena_room);
}

void term_table_close(term_table *table) {
    free(table->slots);
    memory_region_close(&table->arena);
    *table = (term_table){0};
}

bool term_table_clear(term_table *table) {
    term_slot *slots = calloc(TERM_FIRST_SLOTS, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    free(table->slots);
    table->slots = slots;
    table->capacity = TERM_FIRST_SLOTS;
    table->n = 0;
    table->arena_used = FIRST_PLACE;
    memory_region_clear(&table->arena);
    return true;
}

term_slot *term_table_find(const term_table *table, uint64_t key) {
    const uint64_t mask = table->capacity - 1;
    uint64_t at = secret_slot(key, table->multiplier, table->capacity);
    while (table->slots[at].at != 0 && table->slots[at].key != key) {
        at = (at + 1) & mask;
    }
    return &table->slots[at];
}

lexicon_entry term_table_entry(const term_table *table, const term_slot *slot) {
    const uint8_t *record = table->arena.bytes + slot->at;
    uint32_t size, kind;
    memcpy(&size, record, sizeof size);
    memcpy(&kind, record + sizeof size, sizeof kind);
    return (lexicon_entry){slot->key, (const char *)record + TERM_RECORD_HEAD, size, kind};
}

bool term_table_grow(term_table *table) {
    term_table larger = *table;
    larger.capacity = 2 * table->capacity;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].at != 0) {
            *term_table_find(&larger, table->slots[i].key) = table->slots[i];
        }
    }
    free(table->slots);
    *table = larger;
    return true;
}

void term_table_put(term_table *table, term_slot *slot, const lexicon_entry *entry) {
    uint8_t *record = table->arena.bytes + table->arena_used;
    table->n += slot->at == 0 ? 1 : 0;
    *slot = (term_slot){entry->key, table->arena_used};
    memcpy(record, &entry->size, sizeof entry->size);
    memcpy(record + sizeof entry->size, &entry->kind, sizeof entry->kind);
    if (entry->size > 0) {
        memcpy(record + TERM_RECORD_HEAD, entry->text, entry->size);
    }
    table->arena_used += TERM_RECORD_HEAD + entry->size;
}

void term_table_sort(term_table *table) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].at != 0) {
            table->slots[n++] = table->slots[i];
        }
    }
    radix_sort(&table->slots[0].key, n, sizeof(term_slot) / sizeof(uint64_t), 1);
}
