/* stop_set.h — the ids that end a generation.
 *
 * Threading: values; one thread at a time.
 * Memory:    fixed storage inside the struct.
 */
#ifndef HOST_STOP_SET_H
#define HOST_STOP_SET_H
#include <stdbool.h>
#include <stdint.h>

#include "text/tokenizer.h"

#define STOP_SET_MAX 16u

typedef struct stop_set {
    uint32_t ids[STOP_SET_MAX]; /* no id twice */
    uint32_t count;
} stop_set;

/* Appends an id; TOKEN_NONE, an id that is there already and one that finds no room are passed over. */
void stop_set_add(stop_set *set, uint32_t id);
bool stop_set_has(const stop_set *set, uint32_t id);

/* The set that a vocabulary speaks of: EOS first, then the ids for end of turn and of message, then well-known end markers
 * such as <|im_end|> and <|eot_id|>, then other control tokens that look like one of them, in ascending order. Only special
 * tokens are looked at: an ordinary word never ends a text. */
void stop_set_from_vocabulary(const tokenizer *tok, stop_set *out_set);

#endif
