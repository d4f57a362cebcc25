/* volume_stats.c — one pass for what is counted in order and by predicate, more when distinct ids are many. */
#include "graph/volume_stats.h"

#include <stdlib.h>
#include <string.h>

#include "graph/id_counter.h"
#include "graph/secret.h"
#include "graph/volume_export.h"
#include "graph/volume_files.h"

#define PROGRESS_EVERY 65536u
#define N_HEADS (2 * STATS_MAX_LISTED) /* a power of two */

typedef struct id_table {
    uint64_t multiplier; /* see secret.h */
    uint32_t *heads;     /* [N_HEADS]: item + 1, or 0 */
    id_list list;
} id_table;

typedef struct stats_run {
    graph_volume *volume;
    volume_stats *stats;
    graph_scan *scan;
    id_counter subjects, predicates, graphs;
    id_table by_predicate, by_graph;
    progress_fn *progress;
    void *progress_ctx;
    uint64_t n_expected;
} stats_run;

static bool table_init(id_table *table) {
    table->multiplier = secret_multiplier();
    table->heads = calloc(N_HEADS, sizeof *table->heads);
    table->list.items = calloc(STATS_MAX_LISTED, sizeof *table->list.items);
    return table->heads != NULL && table->list.items != NULL;
}

static void table_add(id_table *table, uint64_t id) {
    uint32_t at = (uint32_t)secret_slot(id, table->multiplier, N_HEADS);
    while (table->heads[at] != 0 && table->list.items[table->heads[at] - 1].id != id) {
        at = (at + 1) & (N_HEADS - 1);
    }
    if (table->heads[at] == 0) {
        if (table->list.n_items == STATS_MAX_LISTED) {
            table->list.is_cut = true;
            return;
        }
        table->list.items[table->list.n_items++] = (id_count){id, 0};
        table->heads[at] = table->list.n_items;
    }
    table->list.items[table->heads[at] - 1].n++;
}

static int compare_counts(const void *a, const void *b) {
    const id_count *left = a, *right = b;
    if (left->n != right->n) {
        return left->n > right->n ? -1 : 1;
    }
    return left->id < right->id ? -1 : left->id > right->id;
}

static void count_kind(volume_stats *s, uint64_t object) {
    if ((object & Q42_POINTER_BIT) != 0) {
        return;
    }
    switch (q42_object_tag(object)) {
    case Q42_TAG_INTEGER: s->n_integers++; break;
    case Q42_TAG_DECIMAL: s->n_decimals++; break;
    case Q42_TAG_BOOLEAN: s->n_booleans++; break;
    case Q42_TAG_FLOAT: s->n_floats++; break;
    default: break;
    }
}

static bool has_same_triple(const q42_quin *a, const q42_quin *b) {
    return a->object == b->object && a->subject == b->subject && a->predicate == b->predicate;
}

static bool is_before(const q42_quin *a, const q42_quin *b) {
    const uint64_t left[] = {a->object, a->subject, a->predicate}, right[] = {b->object, b->subject, b->predicate};
    for (uint32_t i = 0; i < 3; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i];
        }
    }
    return true;
}

/* What the first pass learns from a quin; `before` is null at the first. */
static void count_first(stats_run *r, const q42_quin *quin, const q42_quin *before) {
    volume_stats *s = r->stats;
    s->n_quins++;
    s->n_objects += before == NULL || before->object != quin->object;
    s->n_triples += before == NULL || !has_same_triple(before, quin);
    s->has_triples = s->has_triples && (before == NULL || is_before(before, quin));
    s->n_default += quin->context == Q42_DEFAULT_GRAPH;
    count_kind(s, quin->object);
    table_add(&r->by_predicate, quin->predicate);
    if (quin->context != Q42_DEFAULT_GRAPH) {
        table_add(&r->by_graph, quin->context);
    }
}

static void count_ids(stats_run *r, const q42_quin *quin) {
    id_counter_add(&r->subjects, quin->subject);
    id_counter_add(&r->predicates, quin->predicate);
    if (quin->context != Q42_DEFAULT_GRAPH) {
        id_counter_add(&r->graphs, quin->context);
    }
}

static qn_status make_pass(stats_run *r, error_context *err) {
    q42_quin quin, before = {0};
    qn_status status;
    uint64_t n = 0;
    graph_scan_begin(r->scan, r->volume, NULL);
    while ((status = graph_scan_next(r->scan, &quin, err)) == QN_OK) {
        if (r->stats->n_passes == 0) {
            count_first(r, &quin, n > 0 ? &before : NULL);
        }
        count_ids(r, &quin);
        before = quin;
        if (++n % PROGRESS_EVERY == 0 && r->progress != NULL && !r->progress(r->progress_ctx, n, r->n_expected)) {
            return FAIL(err, QN_CANCELLED, "interrupted");
        }
    }
    r->stats->n_passes++;
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static qn_status make_passes(stats_run *r, error_context *err) {
    bool is_more = true;
    while (is_more) {
        const qn_status status = make_pass(r, err);
        if (status < 0) {
            return status;
        }
        const bool subjects = id_counter_next_pass(&r->subjects), predicates = id_counter_next_pass(&r->predicates);
        is_more = id_counter_next_pass(&r->graphs) || subjects || predicates;
    }
    return QN_OK;
}

/* Files and terms: of a set the lexicons of all its files, where the root's own texts may be there again. */
static qn_status count_files(stats_run *r, error_context *err) {
    volume_stats *s = r->stats;
    const graph_volume *v = r->volume;
    s->n_files = 1 + v->n_segments + v->n_shards;
    s->bytes = v->root.file.span.size;
    s->n_terms = v->root.volume.lexicon.n_entries;
    s->n_blocks = v->root.volume.header.block_count;
    for (uint32_t i = 0; i < v->n_segments + v->n_shards; i++) {
        graph_file *f;
        const qn_status status = graph_file_get(r->volume, i, &f, err);
        if (status < 0) {
            return status;
        }
        s->bytes += f->file.span.size;
        s->n_terms += f->volume.lexicon.n_entries;
        s->n_blocks += f->volume.header.block_count;
    }
    s->n_terms -= v->has_mark && s->n_terms > 0;
    return QN_OK;
}

static qn_status run_all(stats_run *r, uint64_t memory, error_context *err) {
    qn_status status = count_files(r, err);
    status = status < 0 ? status : id_counter_init(&r->subjects, memory / 4 * 3, err);
    status = status < 0 ? status : id_counter_init(&r->predicates, memory / 8, err);
    status = status < 0 ? status : id_counter_init(&r->graphs, memory / 8, err);
    if (status == QN_OK && (r->scan == NULL || !table_init(&r->by_predicate) || !table_init(&r->by_graph))) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    return status < 0 ? status : make_passes(r, err);
}

qn_status volume_stats_count(graph_volume *volume, uint64_t memory, progress_fn *progress, void *progress_ctx,
                             volume_stats *out_stats, error_context *err) {
    *out_stats = (volume_stats){.has_triples = true};
    stats_run r = {.volume = volume, .stats = out_stats, .scan = malloc(sizeof *r.scan), .progress = progress,
                   .progress_ctx = progress_ctx, .n_expected = volume_export_expected(volume)};
    const qn_status status = run_all(&r, memory, err);
    out_stats->n_subjects = id_counter_total(&r.subjects);
    out_stats->n_predicates = id_counter_total(&r.predicates);
    out_stats->n_graphs = id_counter_total(&r.graphs);
    out_stats->predicates = r.by_predicate.list;
    out_stats->graphs = r.by_graph.list;
    if (status == QN_OK) {
        qsort(out_stats->predicates.items, out_stats->predicates.n_items, sizeof(id_count), compare_counts);
        qsort(out_stats->graphs.items, out_stats->graphs.n_items, sizeof(id_count), compare_counts);
    } else {
        volume_stats_free(out_stats);
    }
    free(r.by_predicate.heads);
    free(r.by_graph.heads);
    free(r.scan);
    id_counter_deinit(&r.subjects);
    id_counter_deinit(&r.predicates);
    id_counter_deinit(&r.graphs);
    return status;
}

void volume_stats_free(volume_stats *stats) {
    free(stats->predicates.items);
    free(stats->graphs.items);
    stats->predicates = stats->graphs = (id_list){.items = NULL};
}
