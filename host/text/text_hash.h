/* text_hash.h — the hash of short strings that vocabulary indexes and word caches share.
 *
 * Not cryptographic: speed on words of 1 to 16 bytes is what counts. Equal bytes give equal hashes within one process only.
 *
 * Threading: pure.
 */
#ifndef HOST_TEXT_HASH_H
#define HOST_TEXT_HASH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t text_hash_mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
    return hash ^ hash >> 35;
}

/* size may be 0. */
static inline uint32_t text_hash(const uint8_t *bytes, size_t size) {
    uint64_t hash = UINT64_C(0x2545f4914f6cdd1d) ^ size, word = 0;
    while (size > 8) {
        memcpy(&word, bytes, 8);
        hash = text_hash_mix(hash, word);
        bytes += 8;
        size -= 8;
    }
    if (size >= 4) { /* 4..8 bytes as two halves that may overlap */
        uint32_t head, tail;
        memcpy(&head, bytes, 4);
        memcpy(&tail, bytes + size - 4, 4);
        word = (uint64_t)tail << 32 | head;
    } else if (size > 0) {
        word = (uint64_t)bytes[0] | (uint64_t)bytes[size / 2] << 8 | (uint64_t)bytes[size - 1] << 16;
    } else {
        word = 0;
    }
    hash = text_hash_mix(hash, word);
    return (uint32_t)(hash ^ hash >> 29);
}

static inline uint32_t text_hash_pair(uint32_t left, uint32_t right) {
    const uint64_t hash = text_hash_mix(UINT64_C(0x2545f4914f6cdd1d), (uint64_t)left << 32 | right);
    return (uint32_t)(hash ^ hash >> 29);
}

#endif
