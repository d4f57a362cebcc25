/* block_stream.c — two batches: while the workers build one, the first worker merges the next and then helps.
 *
 *     worker 0     fill B        build A[..]   | give A away |  fill A      build B[..]   | give B away | ...
 *     worker 1     build A[..................] |             |  build B[................] |
 */
#include "graph/block_stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct batch_item {
    q42_quin quins[Q42_BLOCK_QUINS];
    uint32_t n;
    q42_built_block block;
    fmt_status status;
    fmt_diag diag;
} batch_item;

typedef struct batch {
    batch_item *items; /* [capacity] */
    uint32_t n;
    uint64_t first_sequence;
} batch;

typedef struct stream_run {
    block_stream *stream;
    batch batches[2];
    uint32_t capacity;
    uint32_t current;     /* the batch that is being built */
    uint64_t sequence;    /* of the next block that is taken */
    q42_quin last;
    bool has_last, is_drained, is_over;
    qn_status status;
    error_context *err;
} stream_run;

enum { MOST_BATCH = 64 };

/* ------------------------------------------------------------------------------------------------------------ filling */

static qn_status next_distinct(stream_run *run, q42_quin *out_quin) {
    block_stream *s = run->stream;
    qn_status status;
    while ((status = quin_merge_next(s->merge, out_quin, run->err)) == QN_OK) {
        if (s->keeps_duplicates || !run->has_last || q42_quin_compare(&run->last, out_quin) != 0) {
            break;
        }
        s->n_duplicates++;
    }
    if (status == QN_OK) {
        run->last = *out_quin;
        run->has_last = true;
    }
    return status;
}

static qn_status fill_item(stream_run *run, batch_item *item) {
    qn_status status = QN_OK;
    item->n = 0;
    while (item->n < Q42_BLOCK_QUINS && (status = next_distinct(run, &item->quins[item->n])) == QN_OK) {
        item->n++;
    }
    if (status == QN_NOT_FOUND) {
        run->is_drained = true;
        return QN_OK;
    }
    return status;
}

static void fill(stream_run *run, batch *b) {
    b->n = 0;
    while (run->status == QN_OK && !run->is_drained && b->n < run->capacity) {
        run->status = fill_item(run, &b->items[b->n]);
        if (run->status == QN_OK && b->items[b->n].n > 0) {
            run->stream->n_quins += b->items[b->n].n;
            b->n++;
        }
    }
    if (run->stream->is_stopped != NULL && run->stream->is_stopped(run->stream->stop_ctx, run->stream->n_quins)) {
        run->status = FAIL(run->err, QN_CANCELLED, "interrupted; nothing was written");
    }
}

/* ----------------------------------------------------------------------------------------------------------- building */

static void build_item(batch_item *item, uint64_t sequence, uint8_t *room) {
    item->status = q42_build_block(item->quins, item->n, sequence, room, &item->block, &item->diag);
}

static qn_status check_item(stream_run *run, const batch_item *item) {
    return item->status == FMT_OK ? QN_OK : FAIL(run->err, QN_BAD_INPUT, "%s", item->diag.text);
}

/* Hands the blocks on in order. Where a new file begins, the rest of the batch is numbered anew. */
static void give_away(stream_run *run, batch *b, uint8_t *room) {
    for (uint32_t i = 0; i < b->n && run->status == QN_OK;) {
        batch_item *item = &b->items[i];
        if (item->status == FMT_OK && item->block.sequence != run->sequence) {
            build_item(item, run->sequence, room);
        }
        bool is_taken = true;
        run->status = check_item(run, item);
        if (run->status == QN_OK) {
            run->status = run->stream->take(run->stream->take_ctx, &item->block, &is_taken, run->err);
        }
        run->sequence = is_taken ? run->sequence + 1 : 0;
        i += is_taken ? 1 : 0;
    }
}

static void build_current(stream_run *run, team *workers, uint8_t *room) {
    batch *b = &run->batches[run->current];
    for (uint64_t i = team_next(workers); i < b->n; i = team_next(workers)) {
        build_item(&b->items[i], b->first_sequence + i, room);
    }
}

/* The first worker between two barriers, alone. */
static void turn(stream_run *run, team *workers, uint8_t *room) {
    batch *next = &run->batches[1 - run->current];
    give_away(run, &run->batches[run->current], room);
    run->current = 1 - run->current;
    next->first_sequence = run->sequence;
    run->is_over = run->status != QN_OK || next->n == 0;
    team_reset(workers);
}

static void work(void *arg, uint32_t worker, uint32_t n_workers) {
    stream_run *run = arg;
    team *workers = run->stream->workers;
    uint8_t room[Q42_BLOCK_BYTES];
    (void)n_workers;
    while (!run->is_over) {
        if (worker == 0) {
            fill(run, &run->batches[1 - run->current]);
        }
        build_current(run, workers, room);
        team_barrier(workers);
        if (worker == 0) {
            turn(run, workers, room);
        }
        team_barrier(workers);
    }
}

qn_status block_stream_run(block_stream *stream, error_context *err) {
    const uint64_t fitting = stream->memory / (2 * sizeof(batch_item));
    stream_run run = {.stream = stream, .err = err,
                      .capacity = fitting < 1 ? 1 : fitting > MOST_BATCH ? MOST_BATCH : (uint32_t)fitting};
    stream->n_quins = stream->n_duplicates = 0;
    for (uint32_t i = 0; i < 2; i++) {
        run.batches[i].items = malloc(run.capacity * sizeof(batch_item));
    }
    if (run.batches[0].items == NULL || run.batches[1].items == NULL) {
        run.status = FAIL(err, QN_NO_HOST_MEM, "no memory to build %u blocks", run.capacity);
    } else {
        fill(&run, &run.batches[0]);
        run.is_over = run.status != QN_OK || run.batches[0].n == 0;
        team_run(stream->workers, work, &run);
    }
    free(run.batches[0].items);
    free(run.batches[1].items);
    return run.status;
}
