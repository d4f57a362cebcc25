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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scrub.h"
#include "text/text_hash.h"

#define WORD_CACHE_LONGEST 48u

typedef struct word_entry {
    uint32_t hash;
    uint32_t word;     /* offset of its first place from the cache's base */
    uint32_t first_id; /* index in the output */
    uint16_t size, n_ids; /* size 0: free */
} word_entry;

typedef struct word_cache {
    const uint8_t *base; /* all words lie behind it */
    word_entry *entries; /* [mask + 1], or null: nothing is remembered */
    uint32_t mask;
} word_cache;

/* Sized for a text of `text_size` bytes, below 4 GiB, that begins at `base`. Without memory it remembers nothing, which costs time only. */
static inline void word_cache_init(word_cache *cache, const uint8_t *base, size_t text_size) {
    uint32_t n = 64;
    while (n < 32768 && n < text_size / 16) {
        n *= 2;
    }
    cache->base = base;
    cache->entries = text_size < 256 ? NULL : calloc(n, sizeof *cache->entries);
    cache->mask = n - 1;
}

static inline void word_cache_deinit(word_cache *cache) {
    scrub_free(cache->entries, cache->entries != NULL ? ((size_t)cache->mask + 1) * sizeof *cache->entries : 0);
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

static inline bool word_entry_holds(const word_cache *cache, const word_entry *entry, const uint8_t *word, size_t size,
                                    uint32_t hash) {
    return entry->hash == hash && entry->size == size && memcmp(cache->base + entry->word, word, size) == 0;
}

#endif
