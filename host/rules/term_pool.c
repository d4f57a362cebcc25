/* term_pool.c — texts of terms kept once. */
#include "rules/term_pool.h"

#include <stdlib.h>
#include <string.h>

#include "common/fnv.h"

#define FIRST_CHUNK_BYTES (UINT64_C(1) << 10) /* many pools hold a handful of texts */
#define CHUNK_BYTES (UINT64_C(64) << 10)
#define FIRST_SLOTS 32u

typedef struct term_chunk {
    struct term_chunk *next;
    uint64_t used, room;
    char bytes[];
} term_chunk;

bool texts_equal(fmt_str a, fmt_str b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, (size_t)a.size) == 0);
}

fmt_str text_of(const char *string) {
    return (fmt_str){string, strlen(string)};
}

static uint64_t hash_of(fmt_str text) {
    return fnv1a64(text.data, text.size);
}

/* The slot that holds the text, or the empty one where it belongs. */
static uint32_t find_slot(const term_pool *pool, fmt_str text, uint64_t hash) {
    uint32_t slot = (uint32_t)hash & (pool->n_slots - 1);
    for (term_ref ref; (ref = pool->slots[slot]) != 0; slot = (slot + 1) & (pool->n_slots - 1)) {
        if (pool->hashes[ref - 1] == hash && texts_equal(pool->texts[ref - 1], text)) {
            break;
        }
    }
    return slot;
}

term_ref term_pool_find(const term_pool *pool, fmt_str text) {
    return pool->n_slots == 0 ? 0 : pool->slots[find_slot(pool, text, hash_of(text))];
}

fmt_str term_pool_text(const term_pool *pool, term_ref ref) {
    return ref == 0 || ref > pool->n_texts ? (fmt_str){"", 0} : pool->texts[ref - 1];
}

static bool grow_texts(term_pool *pool) {
    if (pool->n_texts < pool->texts_room) {
        return true;
    }
    const uint32_t room = pool->texts_room == 0 ? FIRST_SLOTS / 2 : pool->texts_room * 2;
    fmt_str *grown = realloc(pool->texts, room * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    pool->texts = grown;
    uint64_t *hashes = realloc(pool->hashes, room * sizeof *hashes);
    if (hashes == NULL) {
        return false;
    }
    pool->hashes = hashes;
    pool->texts_room = room;
    return true;
}

static bool grow_slots(term_pool *pool) {
    if ((uint64_t)pool->n_texts * 2 < pool->n_slots) {
        return true;
    }
    const uint32_t n_slots = pool->n_slots == 0 ? FIRST_SLOTS : pool->n_slots * 2;
    term_ref *slots = calloc(n_slots, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    free(pool->slots);
    pool->slots = slots;
    pool->n_slots = n_slots;
    for (uint32_t i = 0; i < pool->n_texts; i++) {
        slots[find_slot(pool, pool->texts[i], pool->hashes[i])] = i + 1;
    }
    return true;
}

/* Room for `size` bytes that stay where they are. */
static char *take_bytes(term_pool *pool, uint64_t size) {
    term_chunk *chunk = pool->chunks;
    if (chunk == NULL || chunk->room - chunk->used < size) {
        const uint64_t usual = chunk == NULL ? FIRST_CHUNK_BYTES : CHUNK_BYTES, room = size > usual ? size : usual;
        chunk = malloc(sizeof *chunk + (size_t)room);
        if (chunk == NULL) {
            return NULL;
        }
        *chunk = (term_chunk){.next = pool->chunks, .room = room};
        pool->chunks = chunk;
    }
    char *bytes = chunk->bytes + chunk->used;
    chunk->used += size;
    return bytes;
}

qn_status term_pool_add(term_pool *pool, fmt_str text, term_ref *out_ref, error_context *err) {
    const uint64_t hash = hash_of(text);
    if (pool->n_slots > 0 && pool->slots[find_slot(pool, text, hash)] != 0) {
        *out_ref = pool->slots[find_slot(pool, text, hash)];
        return QN_OK;
    }
    if (text.size > TERM_POOL_MAX_BYTES - pool->n_bytes) {
        return FAIL(err, QN_LIMIT, "the terms together are longer than %u MiB; shorten the prefixes or divide the text",
                    (unsigned)(TERM_POOL_MAX_BYTES >> 20));
    }
    char *bytes = NULL;
    if (!grow_texts(pool) || !grow_slots(pool) || (bytes = take_bytes(pool, text.size)) == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a term of %llu bytes", (unsigned long long)text.size);
    }
    if (text.size > 0) {
        memcpy(bytes, text.data, (size_t)text.size);
    }
    pool->slots[find_slot(pool, text, hash)] = pool->n_texts + 1;
    pool->hashes[pool->n_texts] = hash;
    pool->texts[pool->n_texts++] = (fmt_str){bytes, text.size};
    pool->n_bytes += text.size;
    *out_ref = pool->n_texts;
    return QN_OK;
}

void term_pool_free(term_pool *pool) {
    for (term_chunk *chunk = pool->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(pool->texts);
    free(pool->hashes);
    free(pool->slots);
    memset(pool, 0, sizeof *pool);
}
