/* term_merge.c — a heap over sources of entries; equal keys are joined, or refused. */
#include "graph/term_merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/diag.h"
#include "graph/merge_heap.h"

#define RECORD_HEAD 16u

typedef struct term_source {
    lexicon_entry entry;     /* the next one */
    const term_table *table; /* in memory: slots[next_slot..] follow */
    uint64_t next_slot;
    const spill_file *file;
    uint64_t next, left;     /* bytes of the file that were not read yet */
    char *buffer;            /* [TERM_MERGE_BUFFER] */
    uint64_t at, end;        /* what of it holds records that come */
} term_source;

struct term_merge {
    merge_heap heap;
    uint32_t n_sources;
    char text[Q42_MAX_TERM + 1]; /* of the entry that was given out */
    term_source sources[];
};

/* ----------------------------------------------------------------------------------------------------------- sources */

/* Makes at least `size` bytes ready at `at`; the run is known to have them. */
static qn_status need(term_source *source, uint64_t size, error_context *err) {
    const uint64_t have = source->end - source->at;
    if (have >= size) {
        return QN_OK;
    }
    memmove(source->buffer, source->buffer + source->at, have);
    const uint64_t room = TERM_MERGE_BUFFER - have, part = source->left < room ? source->left : room;
    const qn_status status = spill_file_read(source->file, source->next, source->buffer + have, part, err);
    source->at = 0;
    source->end = have + part;
    source->next += part;
    source->left -= part;
    return status;
}

static qn_status read_entry(term_source *source, error_context *err) {
    qn_status status = need(source, RECORD_HEAD, err);
    if (status == QN_OK) {
        const char *record = source->buffer + source->at;
        memcpy(&source->entry.key, record, 8);
        memcpy(&source->entry.size, record + 8, 4);
        memcpy(&source->entry.kind, record + 12, 4);
        status = need(source, RECORD_HEAD + (uint64_t)source->entry.size, err);
    }
    source->entry.text = source->buffer + source->at + RECORD_HEAD;
    source->at += RECORD_HEAD + source->entry.size;
    return status;
}

/* QN_NOT_FOUND at the end of the run. */
static qn_status advance(term_source *source, error_context *err) {
    if (source->file != NULL) {
        return source->at == source->end && source->left == 0 ? QN_NOT_FOUND : read_entry(source, err);
    }
    if (source->next_slot == source->table->n) {
        return QN_NOT_FOUND;
    }
    source->entry = term_table_entry(source->table, &source->table->slots[source->next_slot++]);
    return QN_OK;
}

static qn_status open_source(term_source *source, const sorted_run *run, error_context *err) {
    *source = (term_source){.table = run->table, .file = run->file, .next = run->offset, .left = run->bytes};
    if (run->file != NULL) {
        source->buffer = malloc(TERM_MERGE_BUFFER);
        if (source->buffer == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "no memory to merge a run of terms");
        }
    }
    return advance(source, err);
}

/* ------------------------------------------------------------------------------------------------------------- merge */

qn_status term_merge_create(const sorted_run *runs, uint32_t n_runs, term_merge **out_merge, error_context *err) {
    term_merge *merge = calloc(1, sizeof *merge + n_runs * sizeof merge->sources[0]);
    merge_entry *entries = calloc(n_runs + 1, sizeof *entries);
    qn_status status = QN_OK;
    if (merge == NULL || entries == NULL) {
        free(merge);
        free(entries);
        return FAIL(err, QN_NO_HOST_MEM, "no memory to merge %u runs of terms", n_runs);
    }
    merge->heap = (merge_heap){.entries = entries};
    for (uint32_t i = 0; i < n_runs && status == QN_OK; i++) {
        term_source *source = &merge->sources[merge->n_sources++];
        status = open_source(source, &runs[i], err);
        if (status == QN_OK) {
            merge_heap_push(&merge->heap, source->entry.key, i);
        } else if (status == QN_NOT_FOUND) {
            status = QN_OK; /* an empty run */
        }
    }
    if (status != QN_OK) {
        term_merge_destroy(merge);
        return status;
    }
    *out_merge = merge;
    return QN_OK;
}

void term_merge_destroy(term_merge *merge) {
    if (merge != NULL) {
        for (uint32_t i = 0; i < merge->n_sources; i++) {
            free(merge->sources[i].buffer);
        }
        free(merge->heap.entries);
        free(merge);
    }
}

qn_status refuse_collision(const lexicon_entry *a, const lexicon_entry *b, error_context *err) {
    char first[DIAG_QUOTE_SIZE], second[DIAG_QUOTE_SIZE];
    if (a->kind != b->kind || a->kind == Q42_TERM_TRIPLE) {
        return FAIL(err, QN_BAD_INPUT, "two different lexicon entries have the same key %016" PRIx64
                    "; take one out, or split the data into two volumes", a->key);
    }
    /* In order of their texts, so that the message does not depend on who came first. */
    const uint32_t least = a->size < b->size ? a->size : b->size;
    const int order = memcmp(a->text, b->text, least);
    const bool is_swapped = order > 0 || (order == 0 && a->size > b->size);
    const lexicon_entry *x = is_swapped ? b : a, *y = is_swapped ? a : b;
    return FAIL(err, QN_BAD_INPUT, "the terms %s and %s have the same key %016" PRIx64
                "; rename one of them, or split the data into two volumes",
                diag_quote(first, (fmt_str){x->text, x->size}), diag_quote(second, (fmt_str){y->text, y->size}), a->key);
}

/* Takes the smallest entry off the heap into the merge's own room. */
static qn_status take(term_merge *merge, lexicon_entry *out_entry, error_context *err) {
    term_source *source = &merge->sources[merge->heap.entries[0].source];
    *out_entry = source->entry;
    memcpy(merge->text, source->entry.text, source->entry.size);
    out_entry->text = merge->text;
    const qn_status status = advance(source, err);
    if (status == QN_NOT_FOUND) {
        merge_heap_pop(&merge->heap);
        return QN_OK;
    }
    merge_heap_advance(&merge->heap, source->entry.key);
    return status;
}

static bool has_same_key(const term_merge *merge, uint64_t key) {
    return merge->heap.n > 0 && merge->heap.entries[0].key == key;
}

/* Drops the smallest entry, which says the same as `entry`. */
static qn_status skip(term_merge *merge, error_context *err) {
    term_source *source = &merge->sources[merge->heap.entries[0].source];
    const qn_status status = advance(source, err);
    if (status == QN_NOT_FOUND) {
        merge_heap_pop(&merge->heap);
        return QN_OK;
    }
    merge_heap_advance(&merge->heap, source->entry.key);
    return status;
}

qn_status term_merge_next(term_merge *merge, lexicon_entry *out_entry, error_context *err) {
    if (merge->heap.n == 0) {
        return QN_NOT_FOUND;
    }
    qn_status status = take(merge, out_entry, err);
    while (status == QN_OK && has_same_key(merge, out_entry->key)) {
        const lexicon_entry *next = &merge->sources[merge->heap.entries[0].source].entry;
        if (out_entry->kind == TERM_PROBE) {
            status = take(merge, out_entry, err);
        } else if (next->kind == TERM_PROBE || lexicon_entry_is_same(next, out_entry)) {
            status = skip(merge, err);
        } else {
            status = refuse_collision(out_entry, next, err);
        }
    }
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- writing */

typedef struct term_run_writer {
    spill_file *file;
    char *buffer; /* [TERM_MERGE_BUFFER] */
    uint64_t used;
} term_run_writer;

static qn_status flush(term_run_writer *w, error_context *err) {
    const qn_status status = spill_file_append(w->file, w->buffer, w->used, err);
    w->used = 0;
    return status;
}

static qn_status put(term_run_writer *w, const lexicon_entry *entry, error_context *err) {
    if (w->used + RECORD_HEAD + entry->size > TERM_MERGE_BUFFER) {
        const qn_status status = flush(w, err);
        if (status != QN_OK) {
            return status;
        }
    }
    char *record = w->buffer + w->used;
    memcpy(record, &entry->key, 8);
    memcpy(record + 8, &entry->size, 4);
    memcpy(record + 12, &entry->kind, 4);
    memcpy(record + RECORD_HEAD, entry->text, entry->size);
    w->used += RECORD_HEAD + entry->size;
    return QN_OK;
}

static qn_status begin_run(term_run_writer *w, spill_file *file, error_context *err) {
    *w = (term_run_writer){file, malloc(TERM_MERGE_BUFFER), 0};
    return w->buffer != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "no memory to write a run of terms");
}

qn_status term_run_write(const term_table *table, spill_file *into, sorted_run *out_run, error_context *err) {
    term_run_writer w;
    *out_run = (sorted_run){.file = into, .offset = into->end};
    qn_status status = begin_run(&w, into, err);
    for (uint64_t i = 0; i < table->n && status == QN_OK; i++) {
        const lexicon_entry entry = term_table_entry(table, &table->slots[i]);
        status = put(&w, &entry, err);
    }
    status = status == QN_OK ? flush(&w, err) : status;
    free(w.buffer);
    out_run->bytes = into->end - out_run->offset;
    return status;
}

static qn_status copy_merged(term_merge *merge, spill_file *into, uint64_t *out_key, error_context *err) {
    lexicon_entry entry = {0};
    term_run_writer w;
    qn_status status = begin_run(&w, into, err);
    while (status == QN_OK && (status = term_merge_next(merge, &entry, err)) == QN_OK) {
        status = put(&w, &entry, err);
    }
    *out_key = entry.key;
    status = status == QN_NOT_FOUND ? flush(&w, err) : status;
    free(w.buffer);
    return status;
}

qn_status term_merge_reduce(run_list *list, uint32_t n, spill_file *into, uint64_t *out_key, error_context *err) {
    term_merge *merge = NULL;
    sorted_run run = {.file = into, .offset = into->end};
    qn_status status = term_merge_create(list->items, n, &merge, err);
    if (status == QN_OK) {
        status = copy_merged(merge, into, out_key, err);
    }
    term_merge_destroy(merge);
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
