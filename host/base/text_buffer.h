/* text_buffer.h — bytes that grow at the end.
 *
 * Threading: one thread at a time per buffer.
 * Memory:    owned by the buffer until text_buffer_free; a zeroed struct is empty and owns nothing.
 */
#ifndef HOST_TEXT_BUFFER_H
#define HOST_TEXT_BUFFER_H
#include <stdbool.h>
#include <stddef.h>

typedef struct text_buffer {
    char *text; /* [size], not terminated; null while nothing was appended */
    size_t size, capacity;
} text_buffer;

/* From here on `capacity` bytes in all need no more memory; false without it. */
bool text_buffer_reserve(text_buffer *buffer, size_t capacity);

/* Appends `size` bytes (text may be null when it is 0); false without memory: the buffer stands as it stood. */
bool text_buffer_append(text_buffer *buffer, const char *text, size_t size);
void text_buffer_free(text_buffer *buffer);

#endif
