/* layout_speed.c — one product, with its weights in several ways, in turns. */
#include "bench/layout_speed.h"

#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>
#include <quoin/panels.h>

#include "backends/trial.h"
#include "base/atomic_file.h"
#include "base/clock.h"
#include "bench/spread.h"

#define LEAST_BYTES ((uint64_t)64 << 20) /* of all ways together */
#define MOST_BYTES ((uint64_t)512 << 20)
#define CACHES 4 /* times the last-level cache are the ways together */
#define PAGE ((uint64_t)16384)
#define ROUNDS 9u
#define LEAST_ROUNDS 3u
#define SECONDS 2.0 /* after that, LEAST_ROUNDS will do */

typedef struct contest {
    const backend *on;
    const layout_way *ways;
    uint32_t n_ways;
    uint64_t width, n_rows;
    uint64_t at[LAYOUT_SPEED_MOST]; /* of each way's weights in the file */
    layout_speed *out;
    atomic_file file;
    fmt_span weights;
    trial trials[LAYOUT_SPEED_MOST];
    double first_s[LAYOUT_SPEED_MOST]; /* until behind the first token */
} contest;

/* So many that whoever's turn it is finds nothing of its own in the caches. */
static uint64_t choose_rows(const backend *on, const layout_way *ways, uint32_t n_ways, uint64_t width) {
    const uint64_t row = qn_format_bytes(ways[0].format, width), wanted = CACHES * on->host_cache_bytes;
    const uint64_t bytes = wanted > MOST_BYTES ? MOST_BYTES : wanted < LEAST_BYTES ? LEAST_BYTES : wanted;
    return row == 0 ? 0 : (bytes / n_ways / row / BLK_PANEL_ROWS + 1) * BLK_PANEL_ROWS;
}

static uint64_t standard_bytes(const contest *c, qn_format format) {
    return format == QN_FORMAT_TERNARY ? qn_format_bytes(format, c->width * c->n_rows) : qn_format_bytes(format, c->width) * c->n_rows;
}

static bool lay_out(const contest *c, qn_format format, blk_panels *out) {
    return blk_panel_find(format) != BLK_NO_PANELS && blk_panels_init(out, blk_panel_find(format), c->n_rows, c->width);
}

/* Bytes of a way's weights; 0: there are none. */
static uint64_t bytes_of(const contest *c, const layout_way *way) {
    blk_panels panels;
    return !way->is_in_panels ? standard_bytes(c, way->format) : lay_out(c, way->format, &panels) ? blk_panels_bytes(&panels) : 0;
}

static void pack(const contest *c, qn_format format, const uint8_t *blocks, uint8_t *out) {
    blk_panels panels;
    if (lay_out(c, format, &panels)) {
        const uint64_t head = blk_panels_head(&panels);
        memset(out, 0, (size_t)blk_panels_bytes(&panels));
        memcpy(out, blocks, head > 0 ? sizeof(float) : 0); /* the scale of a ternary tensor */
        blk_panels_pack(&panels, out + head, 0, panels.n_panels, blocks, 0);
    }
}

/* All weights into the file, by way of two buffers that hold the largest. */
static fmt_status write_weights(contest *c, uint8_t *blocks, uint8_t *panels, fmt_diag *diag) {
    uint64_t end = 0;
    fmt_status status = FMT_OK;
    for (uint32_t i = 0; i < c->n_ways && status == FMT_OK; i++) {
        const layout_way *way = &c->ways[i];
        c->at[i] = end;
        c->out[i].file_bytes = bytes_of(c, way);
        trial_fill_blocks(way->format, blocks, standard_bytes(c, way->format));
        if (way->is_in_panels) {
            pack(c, way->format, blocks, panels);
        }
        status = atomic_file_write(&c->file, end, way->is_in_panels ? panels : blocks, c->out[i].file_bytes, diag);
        end = (end + c->out[i].file_bytes + PAGE - 1) / PAGE * PAGE;
    }
    return status == FMT_OK ? atomic_file_map(&c->file, &c->weights, diag) : status;
}

static qn_status make_weights(contest *c, const char *beside, error_context *err) {
    uint64_t most = 0, total = 0;
    fmt_diag diag;
    for (uint32_t i = 0; i < c->n_ways; i++) {
        const uint64_t blocks = standard_bytes(c, c->ways[i].format), bytes = bytes_of(c, &c->ways[i]);
        most = most < blocks ? blocks : most;
        most = most < bytes ? bytes : most;
        total += bytes + PAGE;
    }
    fmt_status status = atomic_file_create(&c->file, beside, true, total, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, beside);
    }
    uint8_t *room = malloc((size_t)(2 * most));
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for weights to time");
    }
    status = write_weights(c, room, room + most, &diag);
    free(room);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, beside);
}

/* A way that the device does not take is left alone from here on. */
static qn_status open_way(contest *c, uint32_t i, error_context *err) {
    const layout_way *way = &c->ways[i];
    trial *t = &c->trials[i];
    error_context refusal = {0};
    program_builder_init(&t->b);
    const uint32_t x = trial_input(t, c->width, "x"), w = program_matrix(&t->b, way->format, c->width, c->n_rows, "w");
    if (way->is_in_panels) {
        program_set_panels(&t->b, w);
    }
    t->weight = (qn_weight){.size = sizeof t->weight, .buffer = w, .flags = QN_WEIGHT_BORROW, .fd = -1,
                            .data = c->weights.data + c->at[i], .bytes = c->out[i].file_bytes};
    const double begin = clock_seconds();
    qn_status status = trial_open(t, c->on, program_matmul(&t->b, w, x, PROGRAM_NO_BUFFER), &refusal);
    status = status >= 0 ? trial_run(t, c->on, &refusal) : status;
    c->first_s[i] = clock_seconds() - begin;
    if (status >= 0) {
        c->out[i].is_run = true;
        c->out[i].n_rows = c->n_rows;
        c->out[i].copy_bytes = trial_copy_bytes(t, c->on);
    } else if (status == QN_UNSUPPORTED || status == QN_TOO_NEW) {
        return QN_OK;
    } else if (err != NULL) {
        *err = refusal;
    }
    return status;
}

static qn_status run_rounds(contest *c, spread *steps, error_context *err) {
    const double until = clock_seconds() + SECONDS;
    for (uint32_t round = 0; round < ROUNDS && (round < LEAST_ROUNDS || clock_seconds() < until); round++) {
        for (uint32_t i = 0; i < c->n_ways; i++) {
            if (c->out[i].is_run) {
                const double begin = clock_seconds();
                QN_TRY(trial_run(&c->trials[i], c->on, err), err, "timing a layout");
                spread_add(&steps[i], clock_seconds() - begin);
            }
        }
    }
    return QN_OK;
}

static qn_status measure(contest *c, const char *beside, error_context *err) {
    spread steps[LAYOUT_SPEED_MOST];
    QN_TRY(make_weights(c, beside, err), err, "writing weights to time");
    for (uint32_t i = 0; i < c->n_ways; i++) {
        steps[i].n = 0;
        QN_TRY(open_way(c, i, err), err, "preparing a layout");
    }
    QN_TRY(run_rounds(c, steps, err), err, "timing layouts");
    for (uint32_t i = 0; i < c->n_ways; i++) {
        c->out[i].step_s = spread_median(&steps[i]);
        c->out[i].start_s = c->out[i].is_run && c->first_s[i] > c->out[i].step_s ? c->first_s[i] - c->out[i].step_s : 0.0;
    }
    return QN_OK;
}

qn_status layout_speed_measure(const backend *on, const layout_way *ways, uint32_t n_ways, uint64_t width, const char *beside,
                               layout_speed *out, error_context *err) {
    contest *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for weights to time");
    }
    *c = (contest){.on = on, .ways = ways, .n_ways = n_ways, .width = width, .out = out, .file = {.fd = -1}};
    c->n_rows = choose_rows(on, ways, n_ways, width);
    memset(out, 0, n_ways * sizeof *out);
    const qn_status status = c->n_rows > 0 ? measure(c, beside, err) : QN_OK;
    for (uint32_t i = 0; i < n_ways; i++) {
        trial_close(&c->trials[i], on);
    }
    atomic_file_abort(&c->file);
    free(c);
    return status;
}
