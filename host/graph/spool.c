/* spool.c — a buffer that empties into a spill file when it is full. */
#include "graph/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void spool_init(spool *s, const char *target, uint64_t capacity) {
    *s = (spool){.capacity = capacity};
    spill_file_init(&s->file, target);
}

static fmt_status refuse(const error_context *err, fmt_diag *diag) {
    *diag = (fmt_diag){.rule = "file", .section = "", .index = FMT_NO_INDEX};
    snprintf(diag->text, sizeof diag->text, "%.300s", error_text(err));
    return FMT_IO;
}

static fmt_status append_to_file(spool *s, const void *data, uint64_t size, fmt_diag *diag) {
    error_context err = {0};
    return spill_file_append(&s->file, data, size, &err) == QN_OK ? FMT_OK : refuse(&err, diag);
}

static fmt_status append(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    spool *s = ctx;
    if (s->memory == NULL) {
        s->memory = malloc(s->capacity);
        if (s->memory == NULL) {
            return append_to_file(s, data, size, diag); /* slower, and right */
        }
    }
    if (s->used + size > s->capacity) {
        const fmt_status status = append_to_file(s, s->memory, s->used, diag);
        if (status != FMT_OK) {
            return status;
        }
        s->used = 0;
    }
    if (size > s->capacity) {
        return append_to_file(s, data, size, diag);
    }
    if (size > 0) {
        memcpy(s->memory + s->used, data, size);
    }
    s->used += size;
    return FMT_OK;
}

static fmt_status read_back(void *ctx, uint64_t offset, void *room, uint64_t size, fmt_diag *diag) {
    const spool *s = ctx;
    error_context err = {0};
    const uint64_t in_file = offset >= s->file.end ? 0 : s->file.end - offset;
    const uint64_t from_file = in_file < size ? in_file : size;
    if (from_file > 0 && spill_file_read(&s->file, offset, room, from_file, &err) != QN_OK) {
        return refuse(&err, diag);
    }
    if (size > from_file) {
        memcpy((uint8_t *)room + from_file, s->memory + (offset + from_file - s->file.end), size - from_file);
    }
    return FMT_OK;
}

q42_spool spool_as_q42(spool *s) {
    return (q42_spool){s, append, read_back};
}

void spool_close(spool *s) {
    free(s->memory);
    spill_file_close(&s->file);
    s->memory = NULL;
    s->used = 0;
}
