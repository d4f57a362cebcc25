/* quin_merge.c — a heap over sources that read their runs through buffers. */
#include "graph/quin_merge.h"

#include <stdlib.h>
#include <string.h>

#include "graph/merge_heap.h"

#define WORDS 5u

typedef struct quin_source {
    const uint64_t *at, *end; /* records that are in memory */
    uint32_t width;
    const spill_file *file;
    uint64_t next, left;      /* bytes of the file that were not read yet */
    uint64_t *buffer;
    uint64_t room;            /* bytes */
} quin_source;

struct quin_merge {
    merge_heap heap;
    uint32_t n_sources;
    quin_source sources[];
};

static uint64_t word_of(const quin_source *source, uint32_t i) {
    return i < source->width ? source->at[i] : 0;
}

static bool is_before(const void *ctx, uint32_t a, uint32_t b) {
    const quin_source *x = &((const quin_source *)ctx)[a], *y = &((const quin_source *)ctx)[b];
    for (uint32_t i = 1; i < WORDS; i++) {
        if (word_of(x, i) != word_of(y, i)) {
            return word_of(x, i) < word_of(y, i);
        }
    }
    return false;
}

static qn_status refill(quin_source *source, error_context *err) {
    const uint64_t record = source->width * sizeof(uint64_t), whole = source->room / record * record;
    const uint64_t size = source->left < whole ? source->left : whole;
    const qn_status status = spill_file_read(source->file, source->next, source->buffer, size, err);
    if (status == QN_OK) {
        source->at = source->buffer;
        source->end = source->buffer + size / sizeof(uint64_t);
        source->next += size;
        source->left -= size;
    }
    return status;
}

static qn_status open_source(quin_source *source, const sorted_run *run, uint64_t buffer, error_context *err) {
    *source = (quin_source){.width = run->width, .at = run->records, .file = run->file};
    if (run->file == NULL) {
        source->end = run->records + run->bytes / sizeof(uint64_t);
        return QN_OK;
    }
    source->next = run->offset;
    source->left = run->bytes;
    source->room = buffer;
    source->buffer = malloc(buffer);
    return source->buffer != NULL ? refill(source, err) : FAIL(err, QN_NO_HOST_MEM, "no memory to merge a run of quins");
}

qn_status quin_merge_create(const sorted_run *runs, uint32_t n_runs, uint64_t buffer, quin_merge **out_merge,
                            error_context *err) {
    quin_merge *merge = calloc(1, sizeof *merge + n_runs * sizeof merge->sources[0]);
    merge_entry *entries = calloc(n_runs + 1, sizeof *entries);
    qn_status status = QN_OK;
    if (merge == NULL || entries == NULL) {
        free(merge);
        free(entries);
        return FAIL(err, QN_NO_HOST_MEM, "no memory to merge %u runs of quins", n_runs);
    }
    merge->heap = (merge_heap){entries, 0, is_before, merge->sources};
    for (uint32_t i = 0; i < n_runs && status == QN_OK; i++) {
        if (runs[i].bytes > 0) {
            const uint32_t source = merge->n_sources++;
            status = open_source(&merge->sources[source], &runs[i], buffer, err);
            if (status == QN_OK) {
                merge_heap_push(&merge->heap, merge->sources[source].at[0], source);
            }
        }
    }
    if (status != QN_OK) {
        quin_merge_destroy(merge);
        return status;
    }
    *out_merge = merge;
    return QN_OK;
}

void quin_merge_destroy(quin_merge *merge) {
    if (merge != NULL) {
        for (uint32_t i = 0; i < merge->n_sources; i++) {
            free(merge->sources[i].buffer);
        }
        free(merge->heap.entries);
        free(merge);
    }
}

qn_status quin_merge_next(quin_merge *merge, q42_quin *out_quin, error_context *err) {
    if (merge->heap.n == 0) {
        return QN_NOT_FOUND;
    }
    quin_source *source = &merge->sources[merge->heap.entries[0].source];
    *out_quin = q42_quin_make(source->at[1], source->at[2], source->at[0], word_of(source, 3), word_of(source, 4));
    source->at += source->width;
    if (source->at == source->end && source->left > 0) {
        const qn_status status = refill(source, err);
        if (status != QN_OK) {
            return status;
        }
    }
    if (source->at == source->end) {
        merge_heap_pop(&merge->heap);
    } else {
        merge_heap_advance(&merge->heap, source->at[0]);
    }
    return QN_OK;
}

/* ---------------------------------------------------------------------------------------------------------- reducing */

typedef struct quin_run_writer {
    spill_file *file;
    uint64_t *buffer;
    uint64_t used, room; /* words */
    uint32_t width;
} quin_run_writer;

static qn_status put(quin_run_writer *w, const q42_quin *quin, error_context *err) {
    const uint64_t words[WORDS] = {quin->object, quin->subject, quin->predicate, quin->context, quin->metadata};
    if (w->used + w->width > w->room) {
        const qn_status status = spill_file_append(w->file, w->buffer, w->used * sizeof(uint64_t), err);
        if (status != QN_OK) {
            return status;
        }
        w->used = 0;
    }
    memcpy(w->buffer + w->used, words, w->width * sizeof(uint64_t));
    w->used += w->width;
    return QN_OK;
}

static qn_status copy_merged(quin_merge *merge, quin_run_writer *w, bool keeps, uint64_t *dropped, error_context *err) {
    q42_quin quin, last = {0};
    bool has_last = false;
    qn_status status;
    while ((status = quin_merge_next(merge, &quin, err)) == QN_OK) {
        if (has_last && !keeps && q42_quin_compare(&last, &quin) == 0) {
            ++*dropped;
            continue;
        }
        status = put(w, &quin, err);
        if (status != QN_OK) {
            return status;
        }
        last = quin;
        has_last = true;
    }
    return status == QN_NOT_FOUND ? spill_file_append(w->file, w->buffer, w->used * sizeof(uint64_t), err) : status;
}

static uint32_t widest(const sorted_run *runs, uint32_t n) {
    uint32_t width = 3;
    for (uint32_t i = 0; i < n; i++) {
        width = runs[i].width > width ? runs[i].width : width;
    }
    return width;
}

qn_status quin_merge_reduce(run_list *list, uint32_t n, spill_file *into, uint64_t buffer, bool keeps,
                            uint64_t *dropped, error_context *err) {
    quin_merge *merge = NULL;
    quin_run_writer w = {.file = into, .room = buffer / sizeof(uint64_t), .width = widest(list->items, n)};
    sorted_run run = {.file = into, .offset = into->end, .width = w.width};
    qn_status status = quin_merge_create(list->items, n, buffer, &merge, err);
    w.buffer = malloc(buffer);
    if (status == QN_OK && w.buffer == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "no memory to merge runs of quins");
    }
    if (status == QN_OK) {
        status = copy_merged(merge, &w, keeps, dropped, err);
    }
    quin_merge_destroy(merge);
    free(w.buffer);
    if (status != QN_OK) {
        return status;
    }
    for (uint32_t i = 0; i < n; i++) {
        spill_file_discard(list->items[i].file, list->items[i].offset, list->items[i].bytes);
    }
    run.bytes = into->end - run.offset;
    memmove(list->items, list->items + n, (list->n - n) * sizeof list->items[0]);
    list->n -= n;
    list->items[list->n++] = run;
    return QN_OK;
}
