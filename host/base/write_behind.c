/* write_behind.c — two windows that change places. */
#include "base/write_behind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES (UINT64_C(8) << 20)
#define MOST_ZEROS (UINT64_C(1) << 20)

/* What one call writes becomes one large page of the cache. Measured for 1.1 GiB: from 256 KiB on a mapping costs next to nothing; at
 * 2 MiB and more the system often has no such pages at hand and writing took four times as long. */
#define PART_BYTES (UINT64_C(256) << 10)

/* In parts that end at multiples of their size. */
static bool write_parts(write_behind *w, const write_window *window, fmt_diag *diag) {
    for (uint64_t done = 0, part; done < window->used; done += part) {
        const uint64_t at = window->at + done, left = window->used - done;
        part = PART_BYTES - at % PART_BYTES < left ? PART_BYTES - at % PART_BYTES : left;
        if (atomic_file_write(w->file, at, window->bytes + done, part, diag) != FMT_OK) {
            return false;
        }
    }
    atomic_file_start_sync(w->file, window->at, window->used);
    return true;
}

static void write_window_now(write_behind *w, const write_window *window) {
    fmt_diag diag;
    if (window->used > 0 && !w->has_failed && !write_parts(w, window, &diag)) {
        pthread_mutex_lock(&w->lock);
        w->has_failed = true;
        w->failure = diag;
        pthread_mutex_unlock(&w->lock);
    }
}

static void *write_windows(void *arg) {
    write_behind *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->is_ending || w->is_busy) {
        if (!w->is_busy) {
            pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        const write_window *window = &w->windows[1 - w->filling];
        pthread_mutex_unlock(&w->lock);
        write_window_now(w, window);
        pthread_mutex_lock(&w->lock);
        w->is_busy = false;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* The full window goes to the writing thread once that is done with the other one, which is filled next. */
static bool hand_over(write_behind *w) {
    if (!w->has_thread) {
        write_window_now(w, &w->windows[w->filling]);
        return !w->has_failed;
    }
    pthread_mutex_lock(&w->lock);
    while (w->is_busy) {
        pthread_cond_wait(&w->changed, &w->lock);
    }
    w->filling = 1 - w->filling;
    w->is_busy = true;
    const bool has_failed = w->has_failed;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return !has_failed;
}

static bool turn_to(write_behind *w, uint64_t offset) {
    const bool is_written = hand_over(w);
    w->windows[w->filling].at = offset;
    w->windows[w->filling].used = 0;
    return is_written;
}

/* Room from here to the end of the window. */
static uint64_t room_of(const write_window *window) {
    const uint64_t end = (window->at / WINDOW_BYTES + 1) * WINDOW_BYTES;
    return end - window->at - window->used;
}

/* `from` may be null: zeros. */
static bool fill(write_behind *w, const uint8_t *from, uint64_t size) {
    while (size > 0) {
        write_window *window = &w->windows[w->filling];
        const uint64_t room = room_of(window), part = size < room ? size : room;
        if (from != NULL) {
            memcpy(window->bytes + window->used, from, part);
            from += part;
        } else {
            memset(window->bytes + window->used, 0, part);
        }
        window->used += part;
        size -= part;
        if (part == room && !turn_to(w, window->at + window->used)) {
            return false;
        }
    }
    return true;
}

fmt_status write_behind_put(write_behind *w, uint64_t offset, const void *data, uint64_t size) {
    const write_window *window = &w->windows[w->filling];
    const uint64_t end = window->at + window->used;
    const bool is_near = window->used > 0 && offset >= end && offset - end <= MOST_ZEROS;
    const bool is_there = offset == end || (is_near ? fill(w, NULL, offset - end) : turn_to(w, offset));
    return is_there && fill(w, data, size) ? FMT_OK : FMT_IO;
}

static void let_go(write_behind *w) {
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    free(w->windows[0].bytes);
    free(w->windows[1].bytes);
}

fmt_status write_behind_begin(write_behind *out, atomic_file *file, fmt_diag *diag) {
    *out = (write_behind){.file = file};
    pthread_mutex_init(&out->lock, NULL);
    pthread_cond_init(&out->changed, NULL);
    out->windows[0].bytes = malloc(WINDOW_BYTES);
    out->windows[1].bytes = malloc(WINDOW_BYTES);
    if (out->windows[0].bytes == NULL || out->windows[1].bytes == NULL) {
        let_go(out);
        if (diag != NULL) {
            *diag = (fmt_diag){.rule = "file", .section = "", .index = FMT_NO_INDEX};
            snprintf(diag->text, sizeof diag->text, "Cannot write: out of memory: %.200s", file->path);
        }
        return FMT_NO_SPACE;
    }
    out->has_thread = pthread_create(&out->thread, NULL, write_windows, out) == 0;
    return FMT_OK;
}

fmt_status write_behind_end(write_behind *w, fmt_diag *diag) {
    (void)hand_over(w);
    if (w->has_thread) {
        pthread_mutex_lock(&w->lock);
        w->is_ending = true;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
    }
    if (w->has_failed && diag != NULL) {
        *diag = w->failure;
    }
    let_go(w);
    return w->has_failed ? FMT_IO : FMT_OK;
}
