/* byte_decoder.h — what each compression has to do for a byte source; not for others.
 *
 * Threading: one thread at a time per state.
 */
#ifndef HOST_GRAPH_BYTE_DECODER_H
#define HOST_GRAPH_BYTE_DECODER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Input and room of one step; a step moves both forward. */
typedef struct byte_window {
    const uint8_t *in;
    size_t in_size;
    uint8_t *out;
    size_t out_size;
} byte_window;

typedef struct byte_decoder {
    const char *name; /* "gzip" */
    void *(*create)(void); /* null without memory */
    void (*destroy)(void *state);
    /* Decodes what it can. *out_is_over tells whether a member or frame has just ended, so that the stream may end here.
     * Null, or what is wrong in words that live as long as the state. */
    const char *(*step)(void *state, byte_window *io, bool *out_is_over);
} byte_decoder;

extern const byte_decoder byte_decoder_gzip, byte_decoder_zstd, byte_decoder_lz4;

#endif
