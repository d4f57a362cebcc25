/* bench_q42_verify.c — how fast a volume is verified, beside what it cannot do without.
 *
 *     bench_q42_verify [MILLIONS [THREADS [RUNS]]]
 *
 * Makes a volume of MILLIONS (2) of quins over half a million terms for each million in a temporary file, then measures
 * on THREADS (all) workers, RUNS (5) times in turn, and prints the medians: floor     LZ4 decompression of every block
 * and SHA-256 of its quins, shared out block by block blocks    verify at level blocks: that, and counts, order,
 * parity, unused slots, BIDX, DAG and root full      verify at level full
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lz4.h>
#include <quoin/q42_write.h>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "base/team.h"
#include "common/sha.h"
#include "graph/verify_volume.h"

#define MAX_RUNS 51u
#define LEAF_BYTES 27200u /* what a DAG node binds of a full block: 32 bytes a quin */

static void require(bool condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "bench_q42_verify: %s\n", what);
        exit(1);
    }
}

/* ------------------------------------------------------------------------------------------------------- the volume */

typedef struct grown {
    uint8_t *bytes;
    uint64_t size, room;
} grown;

static fmt_status append(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    grown *g = ctx;
    (void)diag;
    if (g->size + size > g->room) {
        g->room = 2 * (g->size + size);
        g->bytes = realloc(g->bytes, g->room);
        require(g->bytes != NULL, "no memory");
    }
    memcpy(g->bytes + g->size, data, size);
    g->size += size;
    return FMT_OK;
}

static fmt_status read_back(void *ctx, uint64_t offset, void *room, uint64_t size, fmt_diag *diag) {
    (void)diag;
    memcpy(room, ((grown *)ctx)->bytes + offset, size);
    return FMT_OK;
}

static fmt_status write_file(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    (void)diag;
    return fwrite(data, 1, size, ctx) == size ? FMT_OK : FMT_IO;
}

typedef struct named {
    uint64_t key;
    char text[40];
} named;

static int compare_names(const void *a, const void *b) {
    const named *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static int compare_quins(const void *a, const void *b) {
    return q42_quin_compare(a, b);
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static named *make_terms(uint64_t n) {
    named *terms = malloc(n * sizeof *terms);
    require(terms != NULL, "no memory");
    for (uint64_t i = 0; i < n; i++) {
        const int size =
            snprintf(terms[i].text, sizeof terms[i].text, "<http://bench.example/%llu>", (unsigned long long)i);
        terms[i].key = q42_hash(terms[i].text, (uint64_t)size);
    }
    qsort(terms, n, sizeof *terms, compare_names);
    return terms;
}

static q42_quin *make_quins(const named *terms, uint64_t n_terms, uint64_t n) {
    q42_quin *quins = malloc(n * sizeof *quins);
    uint64_t state = 88172645463325252u;
    require(quins != NULL, "no memory");
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t s = terms[next_random(&state) % n_terms].key, p = terms[next_random(&state) % 40].key;
        const uint64_t o = terms[next_random(&state) % (next_random(&state) % 4 == 0 ? 100 : n_terms)].key;
        quins[i] = q42_quin_make(s, p, o, 0, 0);
    }
    qsort(quins, n, sizeof *quins, compare_quins);
    return quins;
}

static void make_volume(const char *path, uint64_t n_quins) {
    static uint8_t room[Q42_BLOCK_BYTES];
    static q42_built_block block;
    static grown storage[Q42_N_SPOOLS];
    const uint64_t n_terms = n_quins / 2;
    named *terms = make_terms(n_terms);
    q42_quin *quins = make_quins(terms, n_terms, n_quins);
    const q42_write_options options = {.timestamp_ms = 1, .has_dag = true};
    q42_writer *writer = aligned_alloc(16, (q42_writer_bytes() + 15) / 16 * 16);
    q42_spool spools[Q42_N_SPOOLS];
    q42_write_report report;
    fmt_diag diag;
    for (uint32_t i = 0; i < Q42_N_SPOOLS; i++) {
        spools[i] = (q42_spool){&storage[i], append, read_back};
    }
    memset(writer, 0, q42_writer_bytes());
    q42_writer_begin(writer, &options, spools);
    for (uint64_t i = 0; i < n_terms; i++) {
        const q42_term term = {
            .hash = terms[i].key, .kind = Q42_TERM_STRING, .text = {terms[i].text, strlen(terms[i].text)}};
        require(q42_writer_add_term(writer, &term, &diag) == FMT_OK, diag.text);
    }
    for (uint64_t at = 0, i = 0; at < n_quins; at += Q42_BLOCK_QUINS, i++) {
        const uint64_t n = n_quins - at < Q42_BLOCK_QUINS ? n_quins - at : Q42_BLOCK_QUINS;
        require(q42_build_block(quins + at, (uint32_t)n, i, room, &block, &diag) == FMT_OK, diag.text);
        require(q42_writer_add_block(writer, &block, &diag) == FMT_OK, diag.text);
    }
    FILE *file = fopen(path, "wb");
    require(file != NULL, "cannot write the temporary file");
    const q42_sink sink = {file, write_file};
    require(q42_writer_finish(writer, &sink, &report, &diag) == FMT_OK, diag.text);
    require(fclose(file) == 0, "cannot write the temporary file");
    for (uint32_t i = 0; i < Q42_N_SPOOLS; i++) {
        free(storage[i].bytes);
    }
    free(writer);
    free(quins);
    free(terms);
}

/* -------------------------------------------------------------------------------------------------------- measuring */

typedef struct floor_job {
    const q42_volume *volume;
    team *workers;
} floor_job;

static void do_floor(void *arg, uint32_t worker, uint32_t n_workers) {
    const floor_job *j = arg;
    uint8_t *room = malloc(Q42_BLOCK_BYTES);
    uint8_t digest[SHA256_BYTES];
    (void)worker;
    (void)n_workers;
    for (uint64_t i; (i = team_next(j->workers)) < j->volume->header.block_count;) {
        const q42_directory_entry entry = q42_get_directory_entry(j->volume, i);
        const char *payload = (const char *)j->volume->span.data + entry.offset + 4;
        require(LZ4_decompress_safe(payload, (char *)room, (int)entry.size - 4, (int)Q42_BLOCK_BYTES) ==
                    (int)Q42_BLOCK_BYTES,
                "a block does not decode");
        require(sha256_digest(room + 160, LEAF_BYTES, digest), "no SHA-256");
    }
    free(room);
}

static double measure_floor(const char *path, team *workers) {
    mapped_file file;
    q42_volume volume;
    const double begin = clock_seconds();
    require(mapped_file_open(path, &file, NULL) == QN_OK, "cannot open the volume");
    require(q42_open(file.span, FMT_MODE_DEFAULT, &volume, NULL, NULL, NULL) == FMT_OK, "the volume is bad");
    floor_job job = {&volume, workers};
    team_run(workers, do_floor, &job);
    mapped_file_close(&file);
    return clock_seconds() - begin;
}

static double measure_verify(const char *path, team *workers, q42_level level) {
    const verify_volume_options options = {.level = level};
    volume_report_list list;
    require(verify_volume(path, &options, workers, &list, NULL) == QN_OK && list.verdict == Q42_PASS,
            "the volume is bad");
    const double seconds = list.seconds;
    verify_report_free(&list);
    return seconds;
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, uint32_t n) {
    qsort(values, n, sizeof *values, compare_doubles);
    return values[n / 2];
}

int main(int argc, char **argv) {
    const uint64_t n_quins = (argc > 1 ? strtoull(argv[1], NULL, 10) : 2) * 1000000;
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t n_threads = argc > 2 ? (uint32_t)atoi(argv[2]) : (uint32_t)n_cores;
    const uint32_t n_runs = argc > 3 ? (uint32_t)atoi(argv[3]) : 5;
    char path[] = "/tmp/bench_q42_XXXXXX";
    double floors[MAX_RUNS], blocks[MAX_RUNS], full[MAX_RUNS];
    team *workers;
    const int fd = mkstemp(path);
    require(fd >= 0 && n_quins > 0 && n_runs >= 1 && n_runs <= MAX_RUNS, "arguments, or /tmp cannot be written");
    close(fd);
    require(team_create(n_threads, &workers, NULL) == QN_OK, "no threads");
    make_volume(path, n_quins);
    measure_floor(path, workers); /* warms the page cache */
    for (uint32_t i = 0; i < n_runs; i++) {
        floors[i] = measure_floor(path, workers);
        blocks[i] = measure_verify(path, workers, Q42_LEVEL_BLOCKS);
        full[i] = measure_verify(path, workers, Q42_LEVEL_FULL);
    }
    unlink(path);
    team_destroy(workers);
    const double raw = (double)n_quins * 48 * 1e-9;
    const double f = median(floors, n_runs), b = median(blocks, n_runs), l = median(full, n_runs);
    printf("%llu quins, %u threads, median of %u; GB/s of decoded quins\n", (unsigned long long)n_quins, n_threads,
           n_runs);
    printf("LZ4 + SHA-256   %7.3f s  %6.2f GB/s\n", f, raw / f);
    printf("verify blocks   %7.3f s  %6.2f GB/s  %.2f of it\n", b, raw / b, f / b);
    printf("verify full     %7.3f s  %6.2f GB/s  %.2f of it\n", l, raw / l, f / l);
    return 0;
}
