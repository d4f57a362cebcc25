/* term_table.h — lexicon entries by key, in memory: an open-addressing table of (key, place) over an arena of texts.
 *
 *
 * Threading: one thread at a time per table.
 * Memory:    the table is allocated and doubles; the arena is a region of fixed room. Both are owned until term_table_close.
 */
#ifndef HOST_GRAPH_TERM_TABLE_H
#define HOST_GRAPH_TERM_TABLE_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>

#include "graph/memory_region.h"

/* A key that must turn out to be a graph's name: it has no text of its own. */
#define TERM_PROBE ((q42_term_kind)0)

/* One entry as the writer keeps it: a text, or the 24 bytes of a triple. */
typedef struct lexicon_entry {
    uint64_t key;
    const char *text; /* [size] */
    uint32_t size;
    q42_term_kind kind;
} lexicon_entry;

#define TERM_RECORD_HEAD 8u  /* bytes before a text in the arena */
#define TERM_FIRST_SLOTS 4096u

typedef struct term_slot {
    uint64_t key, at; /* at: in the arena; 0: free */
} term_slot;

typedef struct term_table {
    term_slot *slots;   /* [capacity], a power of two */
    uint64_t capacity, n;
    uint64_t multiplier; /* see secret.h */
    memory_region arena;
    uint64_t arena_used;
} term_table;

/* False without memory. */
bool term_table_open(term_table *table, uint64_t arena_room);
void term_table_close(term_table *table);
/* Forgets everything and gives memory back; false without memory for the first slots. */
bool term_table_clear(term_table *table);

/* The slot with this key, or the free one where it belongs. */
term_slot *term_table_find(const term_table *table, uint64_t key);
lexicon_entry term_table_entry(const term_table *table, const term_slot *slot);

/* True when the table must grow before the next term_table_put of a new key. */
static inline bool term_table_is_full(const term_table *table) {
    return table->n >= table->capacity / 8 * 5;
}
bool term_table_grow(term_table *table); /* false without memory: the table is as it was */

/* Stores the entry in its slot, which is free or holds a probe. There is room in table and arena. */
void term_table_put(term_table *table, term_slot *slot, const lexicon_entry *entry);

/* Sorts the slots by key and moves them to the front: slots[0..n). After this only reading and term_table_clear are legal. */
void term_table_sort(term_table *table);

static inline bool lexicon_entry_is_same(const lexicon_entry *a, const lexicon_entry *b) {
    return a->kind == b->kind && a->size == b->size && __builtin_memcmp(a->text, b->text, a->size) == 0;
}

#endif
