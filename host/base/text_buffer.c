/* text_buffer.c — growing by doubling. What it holds may be what a user said: no copy is left when it moves or goes. */
#include "base/text_buffer.h"

#include <string.h>

#include "base/scrub.h"

bool text_buffer_reserve(text_buffer *buffer, size_t capacity) {
    char *grown = capacity > buffer->capacity ? scrub_grow(buffer->text, buffer->size, capacity) : buffer->text;
    if (capacity > buffer->capacity) {
        if (grown == NULL) {
            return false;
        }
        buffer->text = grown;
        buffer->capacity = capacity;
    }
    return true;
}

bool text_buffer_append(text_buffer *buffer, const char *text, size_t size) {
    if (size == 0) {
        return true;
    }
    if (buffer->size + size > buffer->capacity) {
        const size_t capacity = (buffer->size + size) * 2 + 256;
        char *grown = scrub_grow(buffer->text, buffer->size, capacity);
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
    scrub_free(buffer->text, buffer->capacity);
    *buffer = (text_buffer){0};
}
