/* deny_set.h — tokens that are not wanted, one bit each: by id, and by how they are spelled.
 *
 * Threading: immutable once made; thread-safe.
 * Memory:    owned by the set until deny_set_free; asking takes none.
 */
#ifndef HOST_SENTINEL_DENY_SET_H
#define HOST_SENTINEL_DENY_SET_H
#include "sentinel/sentinel_settings.h"
#include "text/tokenizer.h"

typedef struct deny_set {
    uint32_t n_tokens;
    uint64_t *bits;
} deny_set;

/* The ids of the settings, and every token whose bytes in the text are one of its texts, or a blank and then that. QN_BAD_INPUT for an id
 * beyond the vocabulary, and for a text that is no token. To be freed, whatever it answers. */
qn_status deny_set_make(deny_set *set, const tokenizer *tok, const sentinel_settings *settings, error_context *err);
void deny_set_free(deny_set *set);

static inline bool deny_set_has(const deny_set *set, uint32_t id) {
    return id < set->n_tokens && (set->bits[id / 64] >> id % 64 & 1) != 0;
}

#endif
