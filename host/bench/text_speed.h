/* text_speed.h — how fast text becomes tokens, and tokens text.
 *
 * Threading: one thread at a time.
 * Memory:    the list of ids while it runs.
 */
#ifndef HOST_TEXT_SPEED_H
#define HOST_TEXT_SPEED_H
#include <stddef.h>
#include <stdint.h>

#include "text/tokenizer.h"

typedef struct text_speed {
    uint64_t bytes, tokens;    /* of the text, encoded once */
    double encode_bytes_per_s; /* the whole text in one call, the best of the calls that fit into a tenth of a second */
    double decode_us;          /* of one token, likewise */
} text_speed;

/* Errors as tokenizer_encode; an empty text gives zeros. */
qn_status text_speed_measure(const tokenizer *tok, const char *text, size_t size, text_speed *out, error_context *err);

/* Some English, for who names no text. Terminated; static. */
extern const char sample_text[];

#endif
