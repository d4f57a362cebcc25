/* line_sort.c — runs in one file, merged through a heap. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "graph/line_sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text_buffer.h"
#include "base/whole_io.h"

#define LEAST_MEMORY (UINT64_C(1) << 20)
#define READ_SIZE (64u << 10)  /* bytes that a run reads at once */
#define MAX_RUNS 2048u
#define PATH_SIZE 4096

typedef struct line_place {
    const char *text;
    uint32_t size;
} line_place;

typedef struct line_run {
    uint64_t at, end;            /* what of the file was not read yet */
    char *buffer;                /* [READ_SIZE] */
    uint32_t n_read, n_used;
    text_buffer line;            /* the run's next line */
} line_run;

struct line_sort {
    const char *folder;
    int fd;                      /* -1 until something is written */
    uint64_t file_size;
    char *arena;
    uint64_t arena_size, n_arena;
    line_place *places;
    uint64_t n_places, max_places;
    uint64_t next_place;         /* while lines are given from memory alone */
    line_run runs[MAX_RUNS];
    uint32_t n_runs;
    uint32_t heap[MAX_RUNS];     /* runs, the one with the least line first */
    uint32_t n_heap;
    text_buffer last;            /* the line that was given last */
    uint64_t n_repeated;
};

/* ---------------------------------------------------------------- collecting */

qn_status line_sort_create(const char *folder, uint64_t memory, line_sort **out_sort, error_context *err) {
    line_sort *s = calloc(1, sizeof *s);
    const uint64_t room = memory < LEAST_MEMORY ? LEAST_MEMORY : memory;
    if (s == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    s->fd = -1;
    s->folder = folder;
    s->arena_size = room / 2;         /* the rest: places, and what qsort takes beside them */
    s->max_places = room / 4 / sizeof *s->places;
    s->arena = malloc((size_t)s->arena_size);
    s->places = malloc((size_t)s->max_places * sizeof *s->places);
    if (s->arena == NULL || s->places == NULL) {
        line_sort_destroy(s);
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    *out_sort = s;
    return QN_OK;
}

void line_sort_destroy(line_sort *sort) {
    if (sort == NULL) {
        return;
    }
    for (uint32_t i = 0; i < sort->n_runs; i++) {
        free(sort->runs[i].buffer);
        text_buffer_free(&sort->runs[i].line);
    }
    if (sort->fd >= 0) {
        close(sort->fd);
    }
    free(sort->arena);
    free(sort->places);
    text_buffer_free(&sort->last);
    free(sort);
}

static int compare_bytes(const char *a, uint64_t a_size, const char *b, uint64_t b_size) {
    const uint64_t least = a_size < b_size ? a_size : b_size;
    const int order = least > 0 ? memcmp(a, b, (size_t)least) : 0;
    return order != 0 ? order : a_size < b_size ? -1 : a_size > b_size;
}

static int compare_places(const void *a, const void *b) {
    const line_place *left = a, *right = b;
    return compare_bytes(left->text, left->size, right->text, right->size);
}

static qn_status open_file(line_sort *s, error_context *err) {
    char path[PATH_SIZE];
    s->fd = open(s->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (s->fd >= 0) {
        return QN_OK;
    }
    snprintf(path, sizeof path, "%s/.quoin-sort-XXXXXX", s->folder); /* a file system without nameless files */
    s->fd = mkstemp(path);
    if (s->fd < 0) {
        return error_from_errno(err, errno, s->folder, "making a temporary file");
    }
    unlink(path);
    return QN_OK;
}

static qn_status write_all(line_sort *s, const char *data, uint64_t size, error_context *err) {
    if (!io_write_all_at(s->fd, data, size, s->file_size)) {
        return error_from_errno(err, errno, s->folder, "writing a temporary file");
    }
    s->file_size += size;
    return QN_OK;
}

/* Sorts what is in memory and writes it as one run: a size word and the line, again and again. */
static qn_status write_run(line_sort *s, error_context *err) {
    text_buffer out = {.text = NULL};
    qn_status status = s->fd < 0 ? open_file(s, err) : QN_OK;
    if (s->n_runs == MAX_RUNS) {
        status = FAIL(err, QN_LIMIT, "sorting needs more than %u temporary runs; give more --memory", MAX_RUNS);
    }
    line_run run = {.at = s->file_size};
    qsort(s->places, (size_t)s->n_places, sizeof *s->places, compare_places);
    for (uint64_t i = 0; status == QN_OK && i < s->n_places; i++) {
        const line_place *p = &s->places[i];
        if (!text_buffer_append(&out, (const char *)&p->size, sizeof p->size) || !text_buffer_append(&out, p->text, p->size)) {
            status = FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
        if (status == QN_OK && (out.size >= READ_SIZE || i + 1 == s->n_places)) {
            status = write_all(s, out.text, out.size, err);
            out.size = 0;
        }
    }
    text_buffer_free(&out);
    if (status == QN_OK) {
        run.end = s->file_size;
        s->runs[s->n_runs++] = run;
        s->n_places = 0;
        s->n_arena = 0;
    }
    return status;
}

qn_status line_sort_add(line_sort *sort, const char *line, uint64_t size, error_context *err) {
    if (size > sort->arena_size) {
        return FAIL(err, QN_LIMIT, "a line of %llu bytes does not fit into the memory for sorting", (unsigned long long)size);
    }
    if (sort->n_arena + size > sort->arena_size || sort->n_places == sort->max_places) {
        const qn_status status = write_run(sort, err);
        if (status < 0) {
            return status;
        }
    }
    memcpy(sort->arena + sort->n_arena, line, (size_t)size);
    sort->places[sort->n_places++] = (line_place){sort->arena + sort->n_arena, (uint32_t)size};
    sort->n_arena += size;
    return QN_OK;
}

/* ---------------------------------------------------------------- merging */

/* Reads `size` bytes of a run into out; they are there, or the file was cut. */
static qn_status read_run(line_sort *s, line_run *run, char *out, uint32_t size, error_context *err) {
    while (size > 0) {
        if (run->n_used == run->n_read) {
            const uint64_t left = run->end - run->at;
            const ssize_t n = pread(s->fd, run->buffer, (size_t)(left < READ_SIZE ? left : READ_SIZE), (off_t)run->at);
            if (n <= 0) {
                return error_from_errno(err, n < 0 ? errno : EIO, s->folder, "reading a temporary file");
            }
            run->at += (uint64_t)n;
            run->n_read = (uint32_t)n;
            run->n_used = 0;
        }
        const uint32_t n = run->n_read - run->n_used < size ? run->n_read - run->n_used : size;
        memcpy(out, run->buffer + run->n_used, n);
        run->n_used += n;
        out += n;
        size -= n;
    }
    return QN_OK;
}

/* Fills run->line; QN_NOT_FOUND at its end. */
static qn_status next_of_run(line_sort *s, line_run *run, error_context *err) {
    uint32_t size;
    char block[512] = {0};
    if (run->at == run->end && run->n_used == run->n_read) {
        return QN_NOT_FOUND;
    }
    qn_status status = read_run(s, run, (char *)&size, sizeof size, err);
    run->line.size = 0;
    for (uint32_t left = status == QN_OK ? size : 0; status == QN_OK && left > 0;) {
        const uint32_t n = left < sizeof block ? left : (uint32_t)sizeof block;
        status = read_run(s, run, block, n, err);
        if (status == QN_OK && !text_buffer_append(&run->line, block, n)) {
            status = FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
        left -= n;
    }
    return status;
}

static bool is_before(const line_sort *s, uint32_t a, uint32_t b) {
    const text_buffer *left = &s->runs[a].line, *right = &s->runs[b].line;
    const int order = compare_bytes(left->text, left->size, right->text, right->size);
    return order != 0 ? order < 0 : a < b;
}

static void sift_down(line_sort *s, uint32_t at) {
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < s->n_heap; child++) {
            least = is_before(s, s->heap[child], s->heap[least]) ? child : least;
        }
        if (least == at) {
            return;
        }
        const uint32_t moved = s->heap[at];
        s->heap[at] = s->heap[least];
        s->heap[least] = moved;
        at = least;
    }
}

static qn_status open_runs(line_sort *s, error_context *err) {
    for (uint32_t i = 0; i < s->n_runs; i++) {
        s->runs[i].buffer = malloc(READ_SIZE);
        if (s->runs[i].buffer == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
        const qn_status status = next_of_run(s, &s->runs[i], err);
        if (status < 0) {
            return status;
        }
        s->heap[s->n_heap++] = i;
    }
    for (uint32_t i = s->n_heap / 2; i > 0; i--) {
        sift_down(s, i - 1);
    }
    return QN_OK;
}

qn_status line_sort_begin(line_sort *sort, error_context *err) {
    if (sort->n_runs == 0) {
        qsort(sort->places, (size_t)sort->n_places, sizeof *sort->places, compare_places);
        return QN_OK;
    }
    const qn_status status = sort->n_places > 0 ? write_run(sort, err) : QN_OK;
    free(sort->arena); /* the runs' buffers take its place */
    free(sort->places);
    sort->arena = NULL;
    sort->places = NULL;
    return status < 0 ? status : open_runs(sort, err);
}

/* The next line, repeated or not. */
static qn_status take(line_sort *s, fmt_str *out_line, error_context *err) {
    if (s->n_runs == 0) {
        if (s->next_place == s->n_places) {
            return QN_NOT_FOUND;
        }
        const line_place *p = &s->places[s->next_place++];
        *out_line = (fmt_str){p->text, p->size};
        return QN_OK;
    }
    if (s->n_heap == 0) {
        return QN_NOT_FOUND;
    }
    line_run *run = &s->runs[s->heap[0]];
    const text_buffer taken = run->line;
    run->line = s->last; /* its room is used again */
    s->last = taken;
    const qn_status status = next_of_run(s, run, err);
    if (status == QN_NOT_FOUND) {
        s->heap[0] = s->heap[--s->n_heap];
    } else if (status < 0) {
        return status;
    }
    sift_down(s, 0);
    *out_line = (fmt_str){s->last.text, s->last.size};
    return QN_OK;
}

static bool is_next_equal(const line_sort *s, fmt_str line) {
    if (s->n_runs == 0) {
        const line_place *p = &s->places[s->next_place];
        return s->next_place < s->n_places && compare_bytes(p->text, p->size, line.data, line.size) == 0;
    }
    const text_buffer *next = s->n_heap > 0 ? &s->runs[s->heap[0]].line : NULL;
    return next != NULL && compare_bytes(next->text, next->size, line.data, line.size) == 0;
}

qn_status line_sort_next(line_sort *sort, fmt_str *out_line, error_context *err) {
    qn_status status = take(sort, out_line, err);
    while (status == QN_OK && is_next_equal(sort, *out_line)) { /* the last of equal lines is given */
        sort->n_repeated++;
        status = take(sort, out_line, err);
    }
    return status;
}

uint64_t line_sort_n_repeated(const line_sort *sort) {
    return sort->n_repeated;
}
