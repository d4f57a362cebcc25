/* ingest.c — one input after another, each parsed by all workers where its lines allow it. */
#include "graph/ingest.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/collision_search.h"
#include "graph/reject_list.h"
#include "graph/term_encoder.h"

enum { TIER_AT = 56, PREFIX_SIZE = 16 };

/* One worker's part. */
typedef struct ingest_worker {
    volume_lane *lane;
    char *buffer;              /* [INGEST_CHUNK_BYTES] */
    char *scratch;             /* [NTRIPLES_SCRATCH_SIZE] of the parser */
    char *room;                /* [NTRIPLES_TERM_ROOM] of the encoder */
    text_buffer rejects;       /* of the chunk in work */
    uint64_t ids[4];           /* of the terms of the statement before */
    bool has_ids;              /* false at the start of a chunk, and behind a line that was rejected */
    uint64_t n_statements, n_rejected, n_long;
    uint64_t failed_serial;    /* chunk of err */
    uint32_t failed_term;      /* position of the term that was refused last */
    error_context err;
} ingest_worker;

typedef struct ingest_load {
    const ingest_options *options;
    team *workers;
    volume_writer *writer;
    ingest_worker *parts;      /* [n_parts] */
    uint32_t n_parts;
    rdf_reader *reader;        /* the input in work */
    reject_list rejects;       /* where the options name one */
    uint64_t graph;            /* id for statements without one */
    uint64_t read_before, size_before; /* bytes of the inputs that are done */
    atomic_bool is_stopped;    /* some worker has failed, or the user asked for it */
    bool is_cancelled;
} ingest_load;

static bool has_rejects(const ingest_load *load) {
    return load->options->reject_path != NULL;
}

/* -------------------------------------------------------------------------------------------------------- statements */

static qn_status add_term(const ingest_load *load, ingest_worker *part, const ntriples_statement *s, uint32_t i,
                          error_context *err) {
    const encoded_term term = term_encode(&s->terms[i], i, load->options->terms, part->room);
    part->ids[i] = term.id;
    part->failed_term = i;
    return term.text.data == NULL ? QN_OK
                                  : volume_lane_add_term(part->lane, term.id, term.text.data, term.text.size, err);
}

static qn_status add_statement(const ingest_load *load, ingest_worker *part, const ntriples_statement *s,
                               error_context *err) {
    const uint32_t same = part->has_ids ? s->same : 0;
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < s->n_terms && status == QN_OK; i++) {
        /* A term that stands where it stood before is in the lexicon already. */
        if ((same >> i & 1u) == 0) {
            status = add_term(load, part, s, i, err);
        }
    }
    if (status != QN_OK) {
        return status;
    }
    part->has_ids = true;
    const uint64_t graph = s->n_terms == 4 ? part->ids[NTRIPLES_GRAPH] : load->graph;
    const q42_quin quin = q42_quin_make(part->ids[NTRIPLES_SUBJECT], part->ids[NTRIPLES_PREDICATE],
                                        part->ids[NTRIPLES_OBJECT], graph, (uint64_t)load->options->tier << TIER_AT);
    part->n_statements++;
    return volume_lane_add_quin(part->lane, &quin, err);
}

/* What a lane refuses in a line of the input; other failures have nothing to do with it. */
static bool is_about_term(qn_status status) {
    return status < 0 && status != QN_IO && status != QN_NO_HOST_MEM;
}

/* The words of a lane know no file: puts the place before them. */
static qn_status put_place(const ingest_load *load, rdf_place place, qn_status status, error_context *err) {
    char text[480];
    snprintf(text, sizeof text, "%.400s: line %" PRIu64 ", column %" PRIu64, rdf_reader_name(load->reader), place.line,
             place.column);
    return error_put_path(err, status, text);
}

/* What the parser refuses: goes to the list, or ends the load. */
static qn_status reject(const ingest_load *load, ingest_worker *part, fmt_status fault, const fmt_diag *diag,
                        fmt_str line, error_context *err) {
    const bool is_long = fault == FMT_LIMIT;
    if (!has_rejects(load) || (is_long && !load->options->rejects_long)) {
        return error_from_diag(err, fault, diag, rdf_reader_name(load->reader));
    }
    part->has_ids = false;
    part->n_rejected++;
    part->n_long += is_long ? 1 : 0;
    return reject_list_note(&part->rejects, rdf_reader_name(load->reader), diag, line)
               ? QN_OK
               : FAIL(err, QN_NO_HOST_MEM, "no memory for the list of rejects");
}

/* ------------------------------------------------------------------------------------------------------------ chunks */

static qn_status parse_chunk(const ingest_load *load, ingest_worker *part, const rdf_chunk *chunk) {
    ntriples_parser parser;
    ntriples_statement statement;
    fmt_diag diag;
    qn_status status = QN_OK;
    fmt_status found;
    if (chunk->long_line != 0) {
        const fmt_status fault = rdf_refuse_long_line(chunk, &diag);
        return reject(load, part, fault, &diag, (fmt_str){NULL, 0}, &part->err);
    }
    part->has_ids = false;
    ntriples_start(&parser, chunk->lines, rdf_reader_parser_options(load->reader), part->scratch);
    while (status == QN_OK && (found = ntriples_next(&parser, &statement, &diag)) != FMT_NOT_FOUND) {
        status = found != FMT_OK ? reject(load, part, found, &diag, parser.fault.text, &part->err)
                                 : add_statement(load, part, &statement, &part->err);
        if (found == FMT_OK && is_about_term(status)) {
            status = put_place(load, rdf_chunk_find_term(chunk, &statement, part->failed_term), status, &part->err);
        }
    }
    return status;
}

static qn_status take_chunk(ingest_load *load, ingest_worker *part, const rdf_chunk *chunk) {
    part->rejects.size = 0;
    qn_status status = parse_chunk(load, part, chunk);
    if (status == QN_OK && has_rejects(load)) {
        status = reject_list_put(&load->rejects, chunk->serial, &part->rejects, &part->err);
    }
    return status;
}

static void show_progress(ingest_load *load) {
    uint64_t read, size;
    if (load->options->progress != NULL) {
        rdf_reader_progress(load->reader, &read, &size);
        if (!load->options->progress(load->options->progress_ctx, read, size)) {
            load->is_cancelled = true;
            atomic_store(&load->is_stopped, true);
        }
    }
}

/* Chunks before a faulty one are finished first, so that the first fault of the text is the one that is told. */
static void read_chunks(void *arg, uint32_t worker, uint32_t n_workers) {
    ingest_load *load = arg;
    ingest_worker *part = &load->parts[worker];
    rdf_chunk chunk = {0};
    qn_status status = QN_OK;
    (void)n_workers;
    while (status == QN_OK && !atomic_load(&load->is_stopped)) {
        status = rdf_reader_next_chunk(load->reader, part->buffer, INGEST_CHUNK_BYTES, &chunk, &part->err);
        part->failed_serial = status < 0 ? UINT64_MAX : chunk.serial; /* damaged input: behind all that could be read */
        status = status == QN_OK ? take_chunk(load, part, &chunk) : status;
        if (worker == 0) {
            show_progress(load);
        }
    }
    if (status < 0 && status != QN_NOT_FOUND) {
        atomic_store(&load->is_stopped, true);
        if (has_rejects(load)) {
            reject_list_end(&load->rejects);
        }
    }
}

/* The error of the earliest chunk. */
static qn_status first_error(const ingest_load *load, error_context *err) {
    const ingest_worker *first = NULL;
    for (uint32_t i = 0; i < load->n_parts; i++) {
        const ingest_worker *part = &load->parts[i];
        if (part->err.code < 0 && (first == NULL || part->failed_serial < first->failed_serial)) {
            first = part;
        }
    }
    if (first != NULL && err != NULL) {
        *err = first->err;
    }
    return first != NULL ? first->err.code : QN_OK;
}

/* -------------------------------------------------------------------------------------- statements of Turtle and TriG */

static qn_status take_statement(void *ctx, const ntriples_statement *statement, error_context *err) {
    ingest_load *load = ctx;
    ingest_worker *part = &load->parts[0];
    const qn_status status = add_statement(load, part, statement, err);
    if (part->n_statements % 65536 == 0) {
        show_progress(load);
    }
    if (is_about_term(status)) {
        return put_place(load, rdf_reader_find_term(load->reader, statement, part->failed_term), status, err);
    }
    return status == QN_OK && atomic_load(&load->is_stopped) ? QN_CANCELLED : status;
}

static qn_status take_reject(void *ctx, const rdf_reject *fault, error_context *err) {
    ingest_load *load = ctx;
    const fmt_status status = strcmp(fault->diag->rule, "term-too-long") == 0 ? FMT_LIMIT : FMT_BAD_FILE;
    return reject(load, &load->parts[0], status, fault->diag, fault->text, err);
}

static qn_status read_statements(ingest_load *load, error_context *err) {
    ingest_worker *part = &load->parts[0];
    part->rejects.size = 0;
    part->has_ids = false;
    const qn_status status = rdf_reader_each(load->reader, take_statement, load,
                                             has_rejects(load) ? take_reject : NULL, err);
    return status == QN_OK && has_rejects(load) ? reject_list_put(&load->rejects, 0, &part->rejects, err) : status;
}

/* ------------------------------------------------------------------------------------------------------------ inputs */

static qn_status read_input(ingest_load *load, error_context *err) {
    if (has_rejects(load)) {
        reject_list_begin(&load->rejects);
    }
    qn_status status;
    if (rdf_reader_has_chunks(load->reader)) {
        team_run(load->workers, read_chunks, load);
        status = first_error(load, err);
    } else {
        status = read_statements(load, err);
    }
    return load->is_cancelled ? FAIL(err, QN_CANCELLED, "interrupted; nothing was written") : status;
}

qn_status ingest_open_input(const ingest_options *options, uint32_t input, rdf_reader **out_reader, error_context *err) {
    char prefix[PREFIX_SIZE];
    snprintf(prefix, sizeof prefix, "s%u_", input + 1);
    const rdf_options how = {.format = options->format, .base = options->base, .blank_prefix = options->n_inputs > 1 ? prefix : NULL};
    return rdf_reader_open(options->inputs[input], &how, out_reader, err);
}

static qn_status read_inputs(ingest_load *load, error_context *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < load->options->n_inputs && status == QN_OK; i++) {
        status = ingest_open_input(load->options, i, &load->reader, err);
        if (status == QN_OK) {
            status = read_input(load, err);
            rdf_reader_close(load->reader);
        }
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- load */

static qn_status open_parts(ingest_load *load, error_context *err) {
    load->n_parts = team_size(load->workers);
    load->parts = calloc(load->n_parts, sizeof *load->parts);
    for (uint32_t i = 0; load->parts != NULL && i < load->n_parts; i++) {
        ingest_worker *part = &load->parts[i];
        part->lane = volume_writer_lane(load->writer, i);
        part->buffer = malloc(INGEST_CHUNK_BYTES);
        part->scratch = malloc(NTRIPLES_SCRATCH_SIZE);
        part->room = malloc(NTRIPLES_TERM_ROOM);
        if (part->buffer == NULL || part->scratch == NULL || part->room == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "no memory to read with %u workers", load->n_parts);
        }
    }
    return load->parts != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "no memory to read with %u workers", load->n_parts);
}

static void close_parts(ingest_load *load) {
    for (uint32_t i = 0; load->parts != NULL && i < load->n_parts; i++) {
        free(load->parts[i].buffer);
        free(load->parts[i].scratch);
        free(load->parts[i].room);
        text_buffer_free(&load->parts[i].rejects);
    }
    free(load->parts);
}

/* The graph that the options name gets its entry like any other. */
static qn_status open_graph(ingest_load *load, error_context *err) {
    const char *iri = load->options->graph;
    ntriples_term term;
    fmt_diag diag;
    if (iri == NULL) {
        return QN_OK;
    }
    ingest_worker *part = &load->parts[0];
    if (ntriples_make_iri((fmt_str){iri, strlen(iri)}, part->scratch, &term, &diag) != FMT_OK) {
        return FAIL(err, QN_BAD_INPUT, "the graph \"%.200s\" is no absolute IRI: %s", iri, diag.text);
    }
    const encoded_term graph = term_encode(&term, NTRIPLES_GRAPH, load->options->terms, part->room);
    load->graph = graph.id;
    return volume_lane_add_term(part->lane, graph.id, graph.text.data, graph.text.size, err);
}

/* Two terms with one key in different lanes or spills meet in the merge, which knows no places. */
static qn_status commit(ingest_load *load, ingest_report *report, error_context *err) {
    uint64_t key;
    const qn_status status = volume_writer_commit(load->writer, &report->volume, err);
    return status < 0 && volume_writer_collision(load->writer, &key) ? collision_put_place(load->options, key, status, err)
                                                                     : status;
}

static qn_status load_all(ingest_load *load, ingest_report *report, error_context *err) {
    qn_status status = open_parts(load, err);
    status = status == QN_OK ? open_graph(load, err) : status;
    status = status == QN_OK ? read_inputs(load, err) : status;
    for (uint32_t i = 0; i < load->n_parts && load->parts != NULL; i++) {
        report->n_statements += load->parts[i].n_statements;
        report->n_rejected += load->parts[i].n_rejected;
        report->n_long += load->parts[i].n_long;
    }
    close_parts(load);
    return status == QN_OK ? commit(load, report, err) : status;
}

static qn_status run_with_rejects(ingest_load *load, ingest_report *report, error_context *err) {
    const ingest_options *o = load->options;
    qn_status status = reject_list_open(&load->rejects, o->reject_path, o->volume.is_forced, err);
    status = status == QN_OK ? load_all(load, report, err) : status;
    status = status == QN_OK ? reject_list_commit(&load->rejects, err) : status;
    reject_list_abort(&load->rejects);
    return status;
}

qn_status ingest_run(const char *path, const ingest_options *options, team *workers, ingest_report *out_report,
                     error_context *err) {
    ingest_load load = {.options = options, .workers = workers};
    ingest_report report = {0};
    volume_writer_options volume = options->volume;
    volume.is_marked = options->terms == TERMS_SURFACE;
    volume.progress = options->progress;
    volume.progress_ctx = options->progress_ctx;
    qn_status status = volume_writer_create(path, &volume, workers, &load.writer, err);
    if (status == QN_OK) {
        status = has_rejects(&load) ? run_with_rejects(&load, &report, err) : load_all(&load, &report, err);
    }
    volume_writer_destroy(load.writer);
    if (status == QN_OK) {
        *out_report = report;
    }
    return status;
}
