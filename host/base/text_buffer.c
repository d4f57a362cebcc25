/* text_buffer.c — growing by doubling. */
#include "base/text_buffer.h"

#include <stdlib.h>
#include <string.h>

bool text_buffer_append(text_buffer *buffer, const char *text, size_t size) {
    if (size == 0) {
        return true;
    }
    if (buffer->size + size > buffer->capacity) {
        const size_t capacity = (buffer->size + size) * 2 + 256;
        char *grown = realloc(buffer->text, capacity);
        if (grown == NULL) {
            return false;
        }
        buffer->text = grown;
        buffer->capacity = capacity;
    }
    memcpy(buffer->text + buffer->size, text, size);
    buffer->size += size;
    return true;
}

void text_buffer_free(text_buffer *buffer) {
    free(buffer->text);
    *buffer = (text_buffer){0};
}
