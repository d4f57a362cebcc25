/* secret.h — where keys go in hash tables whose keys come from files.
 *
 * Ids of terms are hashes without a secret, and a file may hold any it likes. Multiplied by an odd number that nobody knows, and by
 * their upper bits, they spread as if they were random: no input makes a table slow.
 *
 * Threading: thread-safe.
 */
#ifndef HOST_GRAPH_SECRET_H
#define HOST_GRAPH_SECRET_H
#include <stdint.h>

/* A random odd number, another one each time. */
uint64_t secret_multiplier(void);

/* The slot of a key in a table of n_slots, a power of two; two shifts, because of one slot alone none of 64 bits is left. */
static inline uint64_t secret_slot(uint64_t key, uint64_t multiplier, uint64_t n_slots) {
    return key * multiplier >> 1 >> (63 - __builtin_ctzll(n_slots));
}

/* The key of several words: begin with 0, add one after another. */
static inline uint64_t secret_mix(uint64_t hash, uint64_t word, uint64_t multiplier) {
    hash = (hash ^ word) * multiplier;
    return hash ^ hash >> 32;
}

#endif
