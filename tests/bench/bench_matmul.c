/* bench_matmul.c — the matrix products of a plugin, through the ABI: GB/s of weights for one token, Gop/s for many, beside the
 * ceilings of this machine. Best of several runs, since a neighbour can only make a run slower.
 *
 *     bench_matmul --plugin FILE [--mask LEVEL] [--workers N] [--format NAME] [--numeric f32acc|act8]
 *                  [--rows N] [--cols K] [--matrices M] [--tokens T] [--runs R]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "backend.h"
#include "bench_ceilings.h"
#include "op_data.h"

typedef struct options {
    const char *plugin, *mask, *format;
    uint32_t workers, rows, cols, matrices, tokens, runs, numeric;
} options;

static uint32_t to_number(const char *text) {
    return (uint32_t)strtoul(text, NULL, 10);
}

static bool read_options(int argc, char **argv, options *o) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *const key = argv[i];
        const char *const value = argv[i + 1];
        if (strcmp(key, "--plugin") == 0) { o->plugin = value; }
        else if (strcmp(key, "--mask") == 0) { o->mask = value; }
        else if (strcmp(key, "--format") == 0) { o->format = value; }
        else if (strcmp(key, "--workers") == 0) { o->workers = to_number(value); }
        else if (strcmp(key, "--rows") == 0) { o->rows = to_number(value); }
        else if (strcmp(key, "--cols") == 0) { o->cols = to_number(value); }
        else if (strcmp(key, "--matrices") == 0) { o->matrices = to_number(value); }
        else if (strcmp(key, "--tokens") == 0) { o->tokens = to_number(value); }
        else if (strcmp(key, "--runs") == 0) { o->runs = to_number(value); }
        else if (strcmp(key, "--numeric") == 0) { o->numeric = strcmp(value, "act8") == 0 ? QN_NUMERIC_ACT8 : QN_NUMERIC_F32ACC; }
        else { return false; }
    }
    return o->plugin != NULL && argc % 2 == 1 && o->matrices >= 1 && o->matrices <= 80;
}

/* A tensor of the asked size: one random piece of sixteen rows, repeated. */
static void *make_weight(qn_format format, uint32_t cols, uint32_t rows, uint64_t *bytes) {
    op_random random = {42};
    op_weight piece = op_weight_make(&random, format, false, 0, 16u * (uint64_t)cols);
    const bool ternary = format == QN_FORMAT_TERNARY;
    const uint64_t head = ternary ? 4 : 0;
    *bytes = ternary ? head + ((uint64_t)rows * cols + 4) / 5 : rows * qn_format_bytes(format, cols);
    uint8_t *const data = malloc(*bytes);
    for (uint64_t at = 0; data != NULL && at < *bytes;) {
        const uint64_t n = piece.n_bytes < *bytes - at ? piece.n_bytes : *bytes - at;
        memcpy(data + at, piece.bytes, n);
        at += n;
    }
    op_weight_free(&piece);
    return data;
}

/* Best seconds of several steps: processor time with one worker, time on the clock with more. */
static double time_step(rig *r, uint32_t workers, uint32_t tokens, uint32_t runs) {
    int32_t *const positions = calloc(tokens, sizeof *positions);
    double best = 1e9;
    for (uint32_t i = 0; i < runs + 2; i++) {
        qn_step step = {.n_tokens = tokens, .n_outputs = 0, .n_sequences = 1, .positions = positions};
        const double start = workers == 1 ? bench_cpu_now() : bench_now();
        rig_step(r, &step);
        const double took = (workers == 1 ? bench_cpu_now() : bench_now()) - start;
        best = took < best ? took : best;
    }
    free(positions);
    return best;
}

static void bench_format(const backend *b, const options *o, qn_format format, double read_gbs, double int8_gops) {
    op_program *const p = op_program_create();
    uint64_t bytes = 0;
    void *const data = make_weight(format, o->cols, o->rows, &bytes);
    const uint32_t x = op_program_add_rows(p, "x", QN_ROLE_INPUT, QN_FORMAT_F32, o->cols, QN_DIM_TOKENS);
    uint32_t weights[80];
    for (uint32_t m = 0; m < o->matrices; m++) {
        weights[m] = op_program_add_weight(p, "w", format, o->cols, o->rows);
        const uint32_t y = op_program_add_rows(p, "y", QN_ROLE_ACT, QN_FORMAT_F32, o->rows, QN_DIM_TOKENS);
        op_program_add_op(p, QN_OP_MATMUL, m, 2, (const uint32_t[]){weights[m], x}, y, NULL, 0);
    }
    const uint32_t z = op_program_add_rows(p, "z", QN_ROLE_OUTPUT, QN_FORMAT_F32, o->cols, QN_DIM_TOKENS);
    const qn_scale_attrs scale = {sizeof scale, 1.0f};
    op_program_add_op(p, QN_OP_SCALE, o->matrices, 1, (const uint32_t[]){x}, z, &scale, sizeof scale);
    const qn_limits limits = rig_limits(o->tokens, o->tokens, 1, 0, 0);
    rig r;
    rig_init(&r, b, op_program_finish(p), &limits);
    for (uint32_t m = 0; m < o->matrices; m++) {
        rig_set(&r, weights[m], data, bytes);
    }
    float *const values = malloc(sizeof(float) * o->cols * o->tokens);
    op_random random = {7};
    op_fill(&random, false, false, (uint64_t)o->cols * o->tokens, values);
    rig_set(&r, x, values, sizeof(float) * o->cols);
    rig_compile(&r, QN_COMPILE_DETERMINISTIC, o->numeric);
    char kernel[64] = "";
    b->verbs->describe(r.prog, 0, kernel, sizeof kernel);
    const double one = time_step(&r, o->workers, 1, o->runs);
    const double macs = (double)o->rows * o->cols * o->matrices;
    const double gbs = (double)bytes * o->matrices / one / 1e9;
    printf("%-28s decode %8.3f ms %6.1f GB/s %3.0f%% of read", kernel, one * 1e3, gbs, 100 * gbs / (read_gbs * o->workers));
    if (o->tokens > 1) {
        rig_set(&r, x, values, sizeof(float) * o->cols * o->tokens);
        const double many = time_step(&r, o->workers, o->tokens, o->runs / 4 + 1);
        const double gops = 2 * macs * o->tokens / many / 1e9;
        printf(" | %u tokens %8.2f ms %7.1f Gop/s", o->tokens, many * 1e3, gops);
        if (int8_gops > 0) {
            printf(" %3.0f%% of int8 peak", 100 * gops / (int8_gops * o->workers));
        }
    }
    printf("\n");
    fflush(stdout);
    rig_deinit(&r);
    op_program_destroy(p);
    free(values);
    free(data);
}

int main(int argc, char **argv) {
    options o = {.mask = "native", .workers = 1, .rows = 2048, .cols = 2048, .matrices = 24, .tokens = 192, .runs = 20,
                 .numeric = QN_NUMERIC_ACT8};
    uint64_t features;
    backend b;
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr, "usage: bench_matmul --plugin FILE [--mask LEVEL] [--workers N] [--format NAME] [--numeric CLASS] [--rows N]\n"
                        "       [--cols K] [--matrices 1..80] [--tokens T] [--runs R]\n");
        return 2;
    }
    const qn_query_fn query = backend_load(o.plugin);
    if (query == NULL || !test_host_features(o.mask, &features) || !backend_open(&b, query, features, o.workers)) {
        return 77;
    }
    const size_t bytes = ((size_t)o.rows * o.cols * o.matrices * 9 / 16) / 4096 * 4096;
    void *const buffer = aligned_alloc(4096, bytes);
    memset(buffer, 1, bytes);
    const double read_gbs = bench_read_gbs(buffer, bytes);
    free(buffer);
    const double int8_gops = bench_int8_gops();
    printf("%s; one worker: read %.1f GB/s over %zu MiB, int8 %.0f Gop/s, f32 %.0f Gop/s; %u workers, %u matrices of %u x %u\n",
           b.info.driver, read_gbs, bytes >> 20, int8_gops, bench_f32_gops(), o.workers, o.matrices, o.rows, o.cols);
    for (uint32_t i = 0; i < op_n_weight_formats; i++) {
        const qn_format format = op_weight_formats[i];
        if (o.format == NULL || strcmp(o.format, qn_format_name(format)) == 0) {
            bench_format(&b, &o, format, read_gbs, int8_gops);
        }
    }
    backend_close(&b);
    return 0;
}
