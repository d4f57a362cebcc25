/* volume_writer.c — lanes, their merge, and the one file that most volumes are. */
#include "graph/volume_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/model_helper.h"
#include "graph/volume_writer_impl.h"

#define MIB (UINT64_C(1) << 20)

enum { FAN_IN = 16, LEAST_RESERVE_MIB = 12, MOST_RESERVE_MIB = 64, LEAST_MEMORY_MIB = 32 };

/* ------------------------------------------------------------------------------------------------------------ create */

static uint64_t choose_reserve(uint64_t memory) {
    const uint64_t quarter = memory / 4, least = LEAST_RESERVE_MIB * MIB, most = MOST_RESERVE_MIB * MIB;
    return quarter < least ? least : quarter > most ? most : quarter;
}

static qn_status open_lanes(volume_writer *w, error_context *err) {
    const uint64_t whole = w->options.memory - w->reserve, share = whole / w->n_lanes;
    w->lanes = calloc(w->n_lanes, sizeof *w->lanes);
    if (w->lanes == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for %u lanes of a load", w->n_lanes);
    }
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        const qn_status status = volume_lane_open(&w->lanes[i], w->target.path,
                                                  share > LANE_LEAST_SHARE ? share : LANE_LEAST_SHARE,
                                                  w->options.keeps_duplicates, err);
        if (status != QN_OK) {
            return status;
        }
    }
    return QN_OK;
}

static qn_status create(volume_writer *w, const char *path, error_context *err) {
    fmt_diag diag;
    if (w->options.memory < LEAST_MEMORY_MIB * MIB) {
        return FAIL(err, QN_BAD_INPUT, "%" PRIu64 " bytes of memory: writing a volume needs at least %d MiB",
                    w->options.memory, LEAST_MEMORY_MIB);
    }
    if (w->options.segment_bytes != 0 && w->options.segment_bytes < VOLUME_LEAST_SEGMENT) {
        return FAIL(err, QN_BAD_INPUT, "segments of %" PRIu64 " bytes: they must have at least %u",
                    w->options.segment_bytes, VOLUME_LEAST_SEGMENT);
    }
    if (w->options.is_forced) {
        QN_TRY(model_helper_refuse(path, err), err, "replacing %s", path);
    }
    const fmt_status created = atomic_file_create(&w->target, path, w->options.is_forced, 0, &diag);
    if (created != FMT_OK) {
        return error_from_diag(err, created, &diag, path);
    }
    if (w->options.is_forced && !set_members_read(w->target.path, &w->replaced)) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for the list of its members", path);
    }
    set_leftovers_remove(w->target.path);
    if (w->options.segment_bytes != 0) {
        set_members_step_over(w->target.path, &w->replaced);
    }
    spill_file_init(&w->quin_spill, w->target.path);
    spill_file_init(&w->term_spill, w->target.path);
    const qn_status status = open_lanes(w, err);
    if (status != QN_OK || !w->options.is_marked || w->options.segment_bytes != 0) {
        return status; /* a set has its mark in the root */
    }
    return volume_lane_add_term(&w->lanes[0], q42_hash(Q42_SURFACE_MARK, sizeof Q42_SURFACE_MARK - 1),
                                Q42_SURFACE_MARK, sizeof Q42_SURFACE_MARK - 1, err);
}

qn_status volume_writer_create(const char *path, const volume_writer_options *options, team *workers,
                               volume_writer **out_writer, error_context *err) {
    volume_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory to write %s", path);
    }
    w->options = *options;
    w->workers = workers;
    w->n_lanes = team_size(workers);
    w->reserve = choose_reserve(options->memory);
    w->target.fd = -1;
    w->quin_spill.fd = w->term_spill.fd = w->aside.fd = -1;
    const qn_status status = create(w, path, err);
    if (status != QN_OK) {
        volume_writer_destroy(w);
        return status;
    }
    *out_writer = w;
    return QN_OK;
}

void volume_writer_destroy(volume_writer *w) {
    if (w == NULL) {
        return;
    }
    for (uint32_t i = 0; w->lanes != NULL && i < w->n_lanes; i++) {
        volume_lane_close(&w->lanes[i]);
    }
    free(w->lanes);
    run_list_free(&w->quin_runs);
    run_list_free(&w->term_runs);
    spill_file_close(&w->quin_spill);
    spill_file_close(&w->term_spill);
    atomic_file_abort(&w->target);
    set_aside_end(&w->aside);
    set_members_free(&w->replaced);
    free(w);
}

bool volume_writer_collision(const volume_writer *w, uint64_t *out_key) {
    *out_key = w->collision;
    return w->has_collision;
}

volume_lane *volume_writer_lane(volume_writer *w, uint32_t worker) {
    return &w->lanes[worker];
}

/* -------------------------------------------------------------------------------------------------------------- runs */

static void sort_lane(void *arg, uint32_t worker, uint32_t n_workers) {
    (void)n_workers;
    volume_lane_sort(&((volume_writer *)arg)->lanes[worker]);
}

static qn_status collect(run_list *all, const run_list *some, error_context *err) {
    for (uint32_t i = 0; i < some->n; i++) {
        if (!run_list_add(all, &some->items[i])) {
            return FAIL(err, QN_NO_HOST_MEM, "no memory for a list of %u runs", all->n);
        }
    }
    return QN_OK;
}

static qn_status collect_spilled(volume_writer *w, error_context *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < w->n_lanes && status == QN_OK; i++) {
        status = collect(&w->quin_runs, &w->lanes[i].quin_runs, err);
        status = status == QN_OK ? collect(&w->term_runs, &w->lanes[i].term_runs, err) : status;
    }
    return status;
}

static uint64_t merge_buffer(const volume_writer *w) {
    return w->reserve / 4 / FAN_IN;
}

/* Until few enough are left for one merge. The oldest go first, so every quin is copied about log16(runs) times. */
static qn_status reduce_runs(volume_writer *w, error_context *err) {
    qn_status status = QN_OK;
    while (w->quin_runs.n > FAN_IN && status == QN_OK) {
        const uint32_t beyond = w->quin_runs.n - FAN_IN + 1, n = beyond < FAN_IN ? beyond : FAN_IN;
        status = quin_merge_reduce(&w->quin_runs, n, &w->quin_spill, merge_buffer(w), w->options.keeps_duplicates,
                                   &w->report.n_duplicates, err);
    }
    while (w->term_runs.n > FAN_IN && status == QN_OK) {
        const uint32_t beyond = w->term_runs.n - FAN_IN + 1, n = beyond < FAN_IN ? beyond : FAN_IN;
        status = term_merge_reduce(&w->term_runs, n, &w->term_spill, &w->collision, err);
        w->has_collision = status == QN_BAD_INPUT;
    }
    return status;
}

static qn_status collect_memory(volume_writer *w, error_context *err) {
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        const sorted_run quins = volume_lane_quins(&w->lanes[i]), terms = volume_lane_terms(&w->lanes[i]);
        if (!run_list_add(&w->quin_runs, &quins) || !run_list_add(&w->term_runs, &terms)) {
            return FAIL(err, QN_NO_HOST_MEM, "no memory for a list of %u runs", w->quin_runs.n);
        }
        w->report.n_duplicates += w->lanes[i].n_dropped;
    }
    for (uint32_t i = 0; i < w->quin_runs.n; i++) {
        w->n_quins += w->quin_runs.items[i].bytes / sizeof(uint64_t) / w->quin_runs.items[i].width;
    }
    return QN_OK;
}

/* ------------------------------------------------------------------------------------------------------------- merge */

static q42_term as_term(const lexicon_entry *entry) {
    q42_term term = {.hash = entry->key, .kind = entry->kind};
    if (entry->kind == Q42_TERM_TRIPLE) {
        memcpy(term.triple, entry->text, sizeof term.triple);
    } else {
        term.text = (fmt_str){entry->text, entry->size};
    }
    return term;
}

static qn_status next_term(volume_writer *w, term_merge *merge, lexicon_entry *out_entry, error_context *err) {
    const qn_status status = term_merge_next(merge, out_entry, err);
    w->has_collision = status == QN_BAD_INPUT;
    w->collision = out_entry->key;
    return status;
}

qn_status volume_writer_merge_terms(volume_writer *w, term_take_fn *take, void *ctx, bool *out_is_label,
                                    error_context *err) {
    term_merge *merge;
    lexicon_entry entry = {0};
    *out_is_label = false;
    qn_status status = term_merge_create(w->term_runs.items, w->term_runs.n, &merge, err);
    if (status != QN_OK) {
        return status;
    }
    while ((status = next_term(w, merge, &entry, err)) == QN_OK) {
        const q42_term term = as_term(&entry);
        if (entry.kind == TERM_PROBE) {
            *out_is_label = true;
            continue;
        }
        status = take(ctx, &term, err);
        if (status != QN_OK) {
            break;
        }
    }
    term_merge_destroy(merge);
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static bool is_stopped(void *ctx, uint64_t n_quins) {
    const volume_writer *w = ctx;
    return !w->options.progress(w->options.progress_ctx, n_quins, w->n_quins);
}

qn_status volume_writer_merge_quins(volume_writer *w, block_take_fn *take, void *ctx, error_context *err) {
    block_stream stream = {.workers = w->workers, .keeps_duplicates = w->options.keeps_duplicates,
                           .memory = block_memory(w), .take = take, .take_ctx = ctx,
                           .is_stopped = w->options.progress != NULL ? is_stopped : NULL, .stop_ctx = w};
    qn_status status = quin_merge_create(w->quin_runs.items, w->quin_runs.n, merge_buffer(w), &stream.merge, err);
    if (status == QN_OK) {
        status = block_stream_run(&stream, err);
        quin_merge_destroy(stream.merge);
    }
    w->report.n_quins = stream.n_quins;
    w->report.n_duplicates += stream.n_duplicates;
    return status;
}

q42_write_options volume_writer_file_options(const volume_writer *w, bool is_sanctuary) {
    return (q42_write_options){.timestamp_ms = w->options.timestamp_ms, .author = w->options.author,
                               .is_commons = w->options.is_commons,
                               .is_sanctuary = w->options.is_sanctuary || is_sanctuary,
                               .is_flat = w->options.is_flat, .has_dag = true};
}

/* ---------------------------------------------------------------------------------------------------------- one file */

static qn_status take_term(void *ctx, const q42_term *term, error_context *err) {
    return volume_file_add_term(ctx, term, err);
}

static qn_status take_block(void *ctx, const q42_built_block *block, bool *out_is_taken, error_context *err) {
    *out_is_taken = true;
    return volume_file_add_block(ctx, block, err);
}

static qn_status fill_file(volume_writer *w, volume_file *file, error_context *err) {
    bool is_label;
    q42_write_report report;
    qn_status status = volume_writer_merge_terms(w, take_term, file, &is_label, err);
    if (status == QN_OK && is_label) {
        q42_writer_need_sanctuary(file->writer);
        w->report.sanctuary_was_needed = true;
    }
    status = status == QN_OK ? volume_writer_merge_quins(w, take_block, file, err) : status;
    status = status == QN_OK ? volume_file_finish(file, &w->target, &report, NULL, err) : status;
    if (status == QN_OK) {
        w->report.n_terms = report.n_terms;
        w->report.n_blocks = report.n_blocks;
        w->report.bytes = report.bytes;
        w->report.flags = report.flags;
        w->report.n_files = 1;
    }
    return status;
}

void volume_writer_set_aside(volume_writer *w) {
    if (w->replaced.n > 0) {
        set_aside_begin(w->target.path, &w->aside);
    }
}

static qn_status write_file(volume_writer *w, error_context *err) {
    const q42_write_options options = volume_writer_file_options(w, w->report.sanctuary_was_needed);
    volume_file file;
    fmt_diag diag;
    qn_status status = volume_file_open(&file, w->target.path, &options, spool_memory(w), err);
    status = status == QN_OK ? fill_file(w, &file, err) : status;
    volume_file_close(&file);
    if (status != QN_OK) {
        return status;
    }
    volume_writer_set_aside(w);
    return error_from_diag(err, atomic_file_commit(&w->target, &diag), &diag, w->target.path);
}

qn_status volume_writer_commit(volume_writer *w, volume_report *out_report, error_context *err) {
    team_run(w->workers, sort_lane, w);
    qn_status status = collect_spilled(w, err);
    status = status == QN_OK ? reduce_runs(w, err) : status;
    status = status == QN_OK ? collect_memory(w, err) : status;
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        w->report.sanctuary_was_needed = w->report.sanctuary_was_needed || w->lanes[i].needs_sanctuary;
    }
    if (status == QN_OK) {
        const bool is_set = w->options.segment_bytes != 0 && w->n_quins > 0;
        status = is_set ? volume_set_write(w, err) : write_file(w, err);
    }
    if (status == QN_OK) {
        set_members_remove(&w->replaced);
        set_aside_end(&w->aside);
        *out_report = w->report;
    }
    return status;
}
