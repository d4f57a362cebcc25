/* word_cache.h — remembers, within one text, which ids a word gave (internal to encoder.c).
 *
 * The ids are not copied: an entry points at the place in the output where the word was encoded first. A slot holds the last
 * word that came by; words over WORD_CACHE_LONGEST bytes are not kept.
 *
 * Threading: one thread at a time.
 * Memory:    owned by the cache; the words and the output are borrowed until the cache is freed, and the words must not move.
 */
#ifndef HOST_WORD_CACHE_H
#define HOST_WORD_CACHE_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/text_hash.h"

#define WORD_CACHE_LONGEST 48u

typedef struct word_entry {
    const uint8_t *word; /* null: free */
    uint32_t hash, size;
    size_t first_id; /* index in the output */
    uint32_t n_ids;
} word_entry;

typedef struct word_cache {
    word_entry *entries; /* [mask + 1], or null: nothing is remembered */
    uint32_t mask;
} word_cache;

/* Sized for a text of `text_size` bytes. Without memory it remembers nothing, which costs time only. */
static inline void word_cache_init(word_cache *cache, size_t text_size) {
    uint32_t n = 64;
    while (n < 16384 && n < text_size / 16) {
        n *= 2;
    }
    cache->entries = text_size < 256 ? NULL : calloc(n, sizeof *cache->entries);
    cache->mask = n - 1;
}

static inline void word_cache_deinit(word_cache *cache) {
    free(cache->entries);
    cache->entries = NULL;
}

/* The slot of this word; null when it is not to be kept. The word is in it when word_entry_holds says so. */
static inline word_entry *word_cache_slot(const word_cache *cache, const uint8_t *word, size_t size, uint32_t *out_hash) {
    if (cache->entries == NULL || size > WORD_CACHE_LONGEST) {
        return NULL;
    }
    *out_hash = text_hash(word, size);
    return &cache->entries[*out_hash & cache->mask];
}

static inline int word_entry_holds(const word_entry *entry, const uint8_t *word, size_t size, uint32_t hash) {
    return entry->word != NULL && entry->hash == hash && entry->size == size && memcmp(entry->word, word, size) == 0;
}

#endif
