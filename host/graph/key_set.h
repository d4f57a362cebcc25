/* key_set.h — a set of 64-bit keys in memory.
 *
 * Threading: one thread at a time per set.
 * Memory:    16 bytes a key or less than 32; owned by the set until key_set_free. A zeroed struct is empty.
 */
#ifndef HOST_GRAPH_KEY_SET_H
#define HOST_GRAPH_KEY_SET_H
#include <stdbool.h>
#include <stdint.h>

typedef struct key_set {
    uint64_t *slots; /* 0: free; key 0 is kept in has_zero */
    uint64_t n_slots, n_keys;
    uint64_t multiplier; /* see secret.h; 0 until the first key */
    bool has_zero;
} key_set;

bool key_set_has(const key_set *set, uint64_t key);
/* False without memory; the set stands as it stood. */
bool key_set_add(key_set *set, uint64_t key);
void key_set_free(key_set *set);

#endif
