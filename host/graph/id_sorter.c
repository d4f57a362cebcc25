/* id_sorter.c — radix sort in lanes, runs in a temporary file, one merge. */
#define _GNU_SOURCE
#include "graph/id_sorter.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/whole_io.h"

#define RECENT_IDS 8192u      /* direct-mapped: 64 KiB a lane */
#define MIN_LANE_IDS 4096u
#define RUN_BUFFER_IDS 8192u  /* 64 KiB */
#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)
#define TEMPLATE "/quoin-XXXXXX"

/* Ascending ids: in memory, or in the file with a buffer in front. */
typedef struct run {
    uint64_t *ids;         /* the lane's, or a buffer of RUN_BUFFER_IDS */
    uint64_t at, n;        /* position and number in `ids` */
    uint64_t offset, left; /* in the file: next byte, ids not yet read */
    bool owns_ids;
} run;

typedef struct lane {
    uint64_t *ids, *scratch; /* [capacity] each */
    uint64_t n, capacity;
    uint64_t recent[RECENT_IDS];
} lane;

struct id_sorter {
    lane **lanes;
    uint32_t n_lanes;
    pthread_mutex_t lock; /* guards what follows while lanes run */
    int fd;               /* -1 until the first run */
    uint64_t file_end;
    int failed_errno;
    run *runs;
    uint32_t n_runs, capacity;
    uint32_t *heap;       /* runs, the smallest next id first */
    uint32_t n_heap;
    uint64_t last;
    bool has_last;
};

/* ---------------------------------------------------------------------------------------------------------- sorting */

/* Sorts by the digits that differ; the result is back in `ids`. */
static void sort_ids(uint64_t *ids, uint64_t *scratch, uint64_t n) {
    uint64_t *from = ids, *to = scratch;
    uint64_t all = UINT64_MAX, any = 0;
    for (uint64_t i = 0; i < n; i++) {
        all &= ids[i];
        any |= ids[i];
    }
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((((all ^ any) >> shift) & (DIGITS - 1)) == 0) {
            continue;
        }
        uint64_t starts[DIGITS] = {0}, sum = 0;
        for (uint64_t i = 0; i < n; i++) {
            starts[from[i] >> shift & (DIGITS - 1)]++;
        }
        for (uint32_t d = 0; d < DIGITS; d++) {
            const uint64_t count = starts[d];
            starts[d] = sum;
            sum += count;
        }
        for (uint64_t i = 0; i < n; i++) {
            to[starts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        }
        uint64_t *const swap = from;
        from = to;
        to = swap;
    }
    if (from != ids) {
        memcpy(ids, from, n * sizeof *ids);
    }
}

static void sort_lane(lane *l) {
    uint64_t n = 0;
    sort_ids(l->ids, l->scratch, l->n);
    for (uint64_t i = 0; i < l->n; i++) {
        if (n == 0 || l->ids[n - 1] != l->ids[i]) {
            l->ids[n++] = l->ids[i];
        }
    }
    l->n = n;
}

/* ------------------------------------------------------------------------------------------------------------- file */

static int open_temporary(void) {
    const char *folder = getenv("TMPDIR");
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s" TEMPLATE, folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = mkostemp(path, 0);
    if (fd >= 0) {
        unlink(path);
    }
    return fd;
}

static bool add_run(id_sorter *s, const run *r) {
    if (s->n_runs == s->capacity) {
        const uint32_t capacity = s->capacity == 0 ? 16 : 2 * s->capacity;
        run *runs = realloc(s->runs, capacity * sizeof *runs);
        if (runs == NULL) {
            return false;
        }
        s->runs = runs;
        s->capacity = capacity;
    }
    s->runs[s->n_runs++] = *r;
    return true;
}

/* With the lock held. */
static void spill(id_sorter *s, const lane *l) {
    const run r = {.offset = s->file_end, .left = l->n};
    s->fd = s->fd < 0 ? open_temporary() : s->fd;
    if (s->fd < 0 || !io_write_all_at(s->fd, l->ids, l->n * sizeof *l->ids, s->file_end)) {
        s->failed_errno = errno;
    } else if (!add_run(s, &r)) {
        s->failed_errno = ENOMEM;
    }
    s->file_end += l->n * sizeof *l->ids;
}

static void flush_lane(id_sorter *s, lane *l) {
    sort_lane(l);
    if (l->n <= l->capacity / 2) {
        return;
    }
    pthread_mutex_lock(&s->lock);
    if (s->failed_errno == 0) {
        spill(s, l);
    }
    pthread_mutex_unlock(&s->lock);
    l->n = 0;
}

/* ---------------------------------------------------------------------------------------------------------- filling */

static lane *make_lane(uint64_t capacity) {
    lane *l = calloc(1, sizeof *l);
    if (l != NULL) {
        l->capacity = capacity;
        l->ids = malloc(capacity * sizeof *l->ids);
        l->scratch = malloc(capacity * sizeof *l->scratch);
    }
    return l;
}

static void free_lane(lane *l) {
    if (l != NULL) {
        free(l->ids);
        free(l->scratch);
        free(l);
    }
}

qn_status id_sorter_create(uint64_t memory, uint32_t n_lanes, id_sorter **out_sorter, error_context *err) {
    const uint64_t share = memory / n_lanes / (2 * sizeof(uint64_t));
    const uint64_t capacity = share < MIN_LANE_IDS ? MIN_LANE_IDS : share;
    id_sorter *s = calloc(1, sizeof *s);
    bool is_whole = s != NULL;
    if (is_whole) {
        s->fd = -1;
        pthread_mutex_init(&s->lock, NULL);
        s->n_lanes = n_lanes;
        s->lanes = calloc(n_lanes, sizeof *s->lanes);
        is_whole = s->lanes != NULL;
    }
    for (uint32_t i = 0; is_whole && i < n_lanes; i++) {
        s->lanes[i] = make_lane(capacity);
        is_whole = s->lanes[i] != NULL && s->lanes[i]->ids != NULL && s->lanes[i]->scratch != NULL;
    }
    if (!is_whole) {
        id_sorter_destroy(s);
        return FAIL(err, QN_NO_HOST_MEM, "no memory to sort ids in %u lanes", n_lanes);
    }
    *out_sorter = s;
    return QN_OK;
}

void id_sorter_destroy(id_sorter *s) {
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; s->lanes != NULL && i < s->n_lanes; i++) {
        free_lane(s->lanes[i]);
    }
    for (uint32_t i = 0; i < s->n_runs; i++) {
        if (s->runs[i].owns_ids) {
            free(s->runs[i].ids);
        }
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    pthread_mutex_destroy(&s->lock);
    free(s->lanes);
    free(s->runs);
    free(s->heap);
    free(s);
}

void id_sorter_add(id_sorter *s, uint32_t number, uint64_t id) {
    lane *l = s->lanes[number];
    uint64_t *recent = &l->recent[id & (RECENT_IDS - 1)];
    if (*recent == id) {
        return;
    }
    *recent = id;
    if (l->n == l->capacity) {
        flush_lane(s, l);
    }
    l->ids[l->n++] = id;
}

/* ---------------------------------------------------------------------------------------------------------- merging */

/* Makes ids[at] the next id of the run; false at its end. */
static bool fill(id_sorter *s, run *r) {
    if (r->at < r->n) {
        return true;
    }
    if (r->left == 0 || s->failed_errno != 0) {
        return false;
    }
    const uint64_t n = r->left < RUN_BUFFER_IDS ? r->left : RUN_BUFFER_IDS;
    if (!io_read_all_at(s->fd, r->ids, n * sizeof *r->ids, r->offset)) {
        s->failed_errno = errno;
        return false;
    }
    r->offset += n * sizeof *r->ids;
    r->left -= n;
    r->at = 0;
    r->n = n;
    return true;
}

static uint64_t head_of(const id_sorter *s, uint32_t slot) {
    const run *r = &s->runs[s->heap[slot]];
    return r->ids[r->at];
}

static void sift_down(id_sorter *s, uint32_t from) {
    for (uint32_t child = 2 * from + 1; child < s->n_heap; child = 2 * from + 1) {
        if (child + 1 < s->n_heap && head_of(s, child + 1) < head_of(s, child)) {
            child++;
        }
        if (head_of(s, from) <= head_of(s, child)) {
            return;
        }
        const uint32_t swap = s->heap[from];
        s->heap[from] = s->heap[child];
        s->heap[child] = swap;
        from = child;
    }
}

/* Buffers for the runs in the file, and the lanes as runs in memory. */
static bool prepare_runs(id_sorter *s) {
    for (uint32_t i = 0; i < s->n_runs; i++) {
        s->runs[i].ids = malloc(RUN_BUFFER_IDS * sizeof *s->runs[i].ids);
        s->runs[i].owns_ids = true;
        if (s->runs[i].ids == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < s->n_lanes; i++) {
        sort_lane(s->lanes[i]);
        const run r = {.ids = s->lanes[i]->ids, .n = s->lanes[i]->n};
        if (!add_run(s, &r)) {
            return false;
        }
    }
    s->heap = malloc(s->n_runs * sizeof *s->heap);
    return s->heap != NULL;
}

qn_status id_sorter_sort(id_sorter *s, error_context *err) {
    if (!prepare_runs(s)) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory to merge %u runs of ids", s->n_runs);
    }
    for (uint32_t i = 0; i < s->n_runs; i++) {
        if (fill(s, &s->runs[i])) {
            s->heap[s->n_heap++] = i;
        }
    }
    for (uint32_t i = s->n_heap / 2; i > 0; i--) {
        sift_down(s, i - 1);
    }
    return id_sorter_status(s, err);
}

bool id_sorter_next(id_sorter *s, uint64_t *out_id) {
    while (s->n_heap > 0) {
        run *r = &s->runs[s->heap[0]];
        const uint64_t id = r->ids[r->at++];
        if (!fill(s, r)) {
            s->heap[0] = s->heap[--s->n_heap];
        }
        sift_down(s, 0);
        if (s->failed_errno != 0) {
            return false;
        }
        if (!s->has_last || id != s->last) {
            s->last = id;
            s->has_last = true;
            *out_id = id;
            return true;
        }
    }
    return false;
}

qn_status id_sorter_status(const id_sorter *s, error_context *err) {
    if (s->failed_errno == 0) {
        return QN_OK;
    }
    return error_from_errno(err, s->failed_errno, "temporary file", "sorting ids");
}
