/* bench_q42_lookup.c — how long a look-up by object takes in a large volume, and what it keeps in memory.
 *
 *     bench_q42_lookup VOLUME [LOOKUPS [TERMS]]
 *
 * Drops the volume from the page cache and looks one object up: cold. Then looks up LOOKUPS (10,000) objects of random statements,
 * each a pattern that is parsed, planned and answered as text, at most 100 rows: median and p99. Prints the resident memory beyond the
 * mapping. TERMS receives the objects, one a line, for asking another store the same.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "graph/query_output.h"
#include "graph/query_run.h"
#include "graph/term_text.h"

#define MAX_ROWS 100u
#define PATTERN_SIZE (NTRIPLES_TERM_ROOM + 16)

static graph_volume *volume;
static block_cache *cache;
static query_text query;
static query_plan plan;
static uint64_t n_rows, n_decoded;

static void require(bool condition, const error_context *err, const char *what) {
    if (!condition) {
        fprintf(stderr, "bench_q42_lookup: %s: %s\n", what, err != NULL ? error_text(err) : "failed");
        exit(1);
    }
}

static bool drop_text(void *ctx, const char *text, size_t size, error_context *err) {
    (void)text, (void)err;
    *(uint64_t *)ctx += size;
    return true;
}

/* The whole way of `quoin query VOLUME '?s ?p TERM'`. */
static double look_up(const char *pattern) {
    static error_context err;
    uint64_t n_bytes = 0;
    query_output_options options = {.format = QUERY_NQUADS, .has_limit = true, .limit = MAX_ROWS, .write = drop_text,
                                    .write_ctx = &n_bytes};
    query_output *output = NULL;
    const double begin = clock_seconds();
    require(query_add_pattern(&query, pattern, &err) == QN_OK, &err, pattern);
    require(query_plan_make(volume, &query, cache, &plan, &err) == QN_OK, &err, "planning");
    require(query_output_create(volume, &query, &options, &output, &err) == QN_OK, &err, "output");
    require(query_run(&plan, cache, query_output_receive, output, &err) == QN_OK, &err, "running");
    require(query_output_end(output, &err) == QN_OK, &err, "output");
    n_rows += query_output_n_rows(output);
    n_decoded += plan.steps[0].stats.n_decoded;
    query_output_destroy(output);
    query_text_free(&query);
    return clock_seconds() - begin;
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The pattern of a random statement's object. */
static void choose(uint64_t *state, term_printer *printer, char *pattern) {
    static uint8_t room[Q42_BLOCK_BYTES];
    error_context err = {.code = QN_OK};
    term_cell cell = {.is_filled = false};
    const q42_volume *member;
    q42_block block;
    fmt_diag diag;
    const uint32_t at = (uint32_t)(next_random(state) % graph_volume_n_members(volume));
    require(graph_volume_member(volume, at, &member, &err) == QN_OK, &err, "member");
    const uint64_t index = next_random(state) % member->header.block_count;
    require(q42_read_block(member, index, Q42_CHECK_READ, room, &block, &diag) == FMT_OK, NULL, "block");
    const q42_quin quin = q42_block_quin(&block, (uint32_t)(next_random(state) % block.n_quins));
    require(term_printer_get(printer, quin.object, NTRIPLES_OBJECT, &cell, &err) == QN_OK, &err, "term");
    snprintf(pattern, PATTERN_SIZE, "?s ?p %.*s", (int)cell.text.size, cell.text.text);
    term_cell_free(&cell);
}

static int compare_times(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* Kilobytes of this process that belong to no file. */
static unsigned long read_anonymous(void) {
    char line[256];
    unsigned long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        sscanf(line, "RssAnon: %lu", &kilobytes);
    }
    if (status != NULL) {
        fclose(status);
    }
    return kilobytes;
}

static void open_all(const char *path) {
    static error_context err;
    require(graph_volume_open(path, FMT_MODE_DEFAULT, TERMS_AUTO, &volume, &err) == QN_OK, &err, path);
    cache = block_cache_create(volume);
    require(cache != NULL, NULL, "cache");
}

static void close_all(void) {
    block_cache_destroy(cache);
    graph_volume_close(volume);
}

/* A fresh opening with nothing of the file in memory. */
static void measure_cold(const char *path, const char *pattern) {
    const int fd = open(path, O_RDONLY);
    require(fd >= 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, NULL, "dropping the file from the cache");
    close(fd);
    n_decoded = 0;
    const double begin = clock_seconds();
    open_all(path);
    look_up(pattern);
    printf("cold      open and look-up %.2f ms, %" PRIu64 " blocks decoded of %" PRIu64 " in the interval\n",
           (clock_seconds() - begin) * 1e3, n_decoded, plan.steps[0].stats.n_blocks);
    close_all();
}

int main(int argc, char **argv) {
    const size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
    if (argc < 2 || n == 0) {
        fprintf(stderr, "usage: bench_q42_lookup VOLUME [LOOKUPS [TERMS]]\n");
        return 2;
    }
    double *times = calloc(n, sizeof *times);
    char **patterns = calloc(n, sizeof *patterns), *pattern = malloc(PATTERN_SIZE);
    FILE *terms = argc > 3 ? fopen(argv[3], "w") : NULL;
    term_printer printer;
    uint64_t state = UINT64_C(0x2545F4914F6CDD1D);
    require(times != NULL && patterns != NULL && pattern != NULL, NULL, "memory");
    open_all(argv[1]);
    require(term_printer_init(&printer, volume, NULL) == QN_OK, NULL, "memory");
    for (size_t i = 0; i < n; i++) {
        choose(&state, &printer, pattern);
        patterns[i] = strdup(pattern);
        if (terms != NULL) {
            fprintf(terms, "%s\n", pattern + strlen("?s ?p "));
        }
    }
    term_printer_deinit(&printer);
    close_all();
    if (terms != NULL) {
        fclose(terms);
    }
    measure_cold(argv[1], patterns[0]);
    open_all(argv[1]);
    const unsigned long before = read_anonymous();
    n_rows = n_decoded = 0;
    for (size_t i = 0; i < n; i++) {
        times[i] = look_up(patterns[i]);
    }
    const unsigned long after = read_anonymous();
    qsort(times, n, sizeof *times, compare_times);
    printf("look-ups  %zu: median %.1f us, p99 %.1f us; %" PRIu64 " rows, %" PRIu64 " blocks decoded\n", n, times[n / 2] * 1e6,
           times[n * 99 / 100] * 1e6, n_rows, n_decoded);
    printf("memory    %lu KiB beyond the mapping before, %lu KiB after (the look-ups' own patterns counted)\n", before, after);
    close_all();
    return 0;
}
