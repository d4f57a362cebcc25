/* test_volume_writer.c — what is given to a volume writer in any order, by any number of lanes, stands in the volume once and in order. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mapped_file.h"
#include "graph/volume_writer.h"

#define MIB (UINT64_C(1) << 20)
#define MANY_LANES 48u /* their shares of the least memory are so small that each spills several times */

typedef struct bench {
    char folder[64], path[96];
    team *workers;
    volume_writer *writer;
    error_context err;
} bench;

static void bench_open(bench *b, uint32_t n_lanes, volume_writer_options options) {
    memset(b, 0, sizeof *b);
    snprintf(b->folder, sizeof b->folder, "/tmp/quoin-writer-XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    snprintf(b->path, sizeof b->path, "%s/out.q42", b->folder);
    options.memory = options.memory != 0 ? options.memory : 32 * MIB;
    options.timestamp_ms = 1717286400000;
    assert_int_equal(team_create(n_lanes, &b->workers, &b->err), QN_OK);
    assert_int_equal(volume_writer_create(b->path, &options, b->workers, &b->writer, &b->err), QN_OK);
}

static uint32_t n_files(const bench *b) {
    uint32_t n = 0;
    DIR *dir = opendir(b->folder);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        n += entry->d_name[0] != '.' ? 1 : 0;
    }
    closedir(dir);
    return n;
}

static void bench_close(bench *b) {
    volume_writer_destroy(b->writer);
    team_destroy(b->workers);
    unlink(b->path);
    assert_int_equal(rmdir(b->folder), 0); /* nothing else is left there */
}

/* ------------------------------------------------------------------------------------------------- what is written */

typedef struct opened {
    mapped_file file;
    q42_volume volume;
} opened;

static void open_result(const bench *b, opened *o) {
    error_context err = {0};
    fmt_diag diag;
    assert_int_equal(mapped_file_open(b->path, &o->file, &err), QN_OK);
    assert_int_equal(q42_open(o->file.span, FMT_MODE_STRICT, &o->volume, NULL, NULL, &diag), FMT_OK);
}

/* Every quin of the volume, in its order. */
static q42_quin *read_quins(const opened *o, uint64_t *out_n) {
    static uint8_t room[Q42_BLOCK_BYTES];
    q42_quin *quins = calloc(o->volume.header.block_count + 1, Q42_BLOCK_QUINS * sizeof *quins);
    fmt_diag diag;
    *out_n = 0;
    assert_non_null(quins);
    for (uint64_t i = 0; i < o->volume.header.block_count; i++) {
        q42_block block;
        const q42_block_check all = Q42_CHECK_READ | Q42_CHECK_TAIL;
        assert_int_equal(q42_read_block(&o->volume, i, all, room, &block, &diag), FMT_OK);
        for (uint32_t slot = 0; slot < block.n_quins; slot++) {
            quins[(*out_n)++] = q42_block_quin(&block, slot);
        }
    }
    return quins;
}

static int by_order(const void *a, const void *b) {
    return q42_quin_compare(a, b);
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 20;
}

/* Quin `i` of a series in which every third one stands twice. */
static q42_quin nth_quin(uint64_t i, uint64_t context, uint64_t metadata) {
    uint64_t state = i % 3 == 0 ? i / 3 : i;
    const uint64_t subject = next_random(&state), predicate = next_random(&state) % 7;
    return q42_quin_make(subject, predicate, next_random(&state) % 50000, context, metadata);
}

/* The volume holds exactly the `n` quins, each once. Sorts them. */
static void assert_holds(const bench *b, q42_quin *quins, uint64_t n) {
    opened o;
    uint64_t n_read, n_wanted = 0;
    open_result(b, &o);
    q42_quin *read = read_quins(&o, &n_read);
    qsort(quins, n, sizeof *quins, by_order);
    for (uint64_t i = 0; i < n; i++) {
        if (n_wanted == 0 || q42_quin_compare(&quins[n_wanted - 1], &quins[i]) != 0) {
            quins[n_wanted++] = quins[i];
        }
    }
    assert_int_equal(n_read, n_wanted);
    assert_memory_equal(read, quins, n_wanted * sizeof *quins);
    free(read);
    mapped_file_close(&o.file);
}

/* ------------------------------------------------------------------------------------------------------------ tests */

static void add_series(bench *b, uint32_t n_lanes, q42_quin *quins, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        char text[64];
        const uint32_t lane = (uint32_t)(i * n_lanes / n);
        const int size = snprintf(text, sizeof text, "<http://e.example/a-rather-long-name/%llu>", (unsigned long long)(i / 2));
        quins[i] = nth_quin(i, 0, 0);
        assert_int_equal(volume_lane_add_quin(volume_writer_lane(b->writer, lane), &quins[i], &b->err), QN_OK);
        assert_int_equal(volume_lane_add_term(volume_writer_lane(b->writer, lane), q42_hash(text, (uint64_t)size), text,
                                              (uint64_t)size, &b->err), QN_OK);
    }
}

static void more_runs_than_one_merge_takes_become_one_volume(void **state) {
    (void)state;
    enum { N = 600000 };
    bench b;
    volume_report report;
    q42_quin *quins = calloc(N, sizeof *quins);
    bench_open(&b, MANY_LANES, (volume_writer_options){.is_marked = true});
    add_series(&b, MANY_LANES, quins, N);
    assert_int_equal(volume_writer_commit(b.writer, &report, &b.err), QN_OK);
    assert_int_equal(report.n_terms, N / 2);
    assert_int_equal(report.n_quins + report.n_duplicates, N);
    assert_true(report.n_duplicates > 0);
    assert_holds(&b, quins, N);
    free(quins);
    bench_close(&b);
}

static void the_bytes_do_not_depend_on_the_number_of_lanes(void **state) {
    (void)state;
    enum { N = 100000 };
    bench one, many;
    volume_report report;
    opened a, z;
    q42_quin *quins = calloc(N, sizeof *quins);
    bench_open(&one, 1, (volume_writer_options){.is_marked = true});
    bench_open(&many, MANY_LANES, (volume_writer_options){.is_marked = true});
    add_series(&one, 1, quins, N);
    add_series(&many, MANY_LANES, quins, N);
    assert_int_equal(volume_writer_commit(one.writer, &report, &one.err), QN_OK);
    assert_int_equal(volume_writer_commit(many.writer, &report, &many.err), QN_OK);
    open_result(&one, &a);
    open_result(&many, &z);
    assert_int_equal(a.file.span.size, z.file.span.size);
    assert_memory_equal(a.file.span.data, z.file.span.data, a.file.span.size);
    mapped_file_close(&a.file);
    mapped_file_close(&z.file);
    free(quins);
    bench_close(&one);
    bench_close(&many);
}

/* Records of three words become four and five words wide when the first graph and the first metadata arrive. */
static void graphs_and_metadata_that_come_late_change_nothing_before_them(void **state) {
    (void)state;
    enum { N = 60000 };
    bench b;
    volume_report report;
    q42_quin *quins = calloc(N, sizeof *quins);
    bench_open(&b, MANY_LANES, (volume_writer_options){.is_flat = false});
    for (uint64_t i = 0; i < N; i++) {
        quins[i] = nth_quin(i, i < N / 3 ? 0 : i % 5, i < 2 * N / 3 ? 0 : i % 3);
        assert_int_equal(volume_lane_add_quin(volume_writer_lane(b.writer, 3), &quins[i], &b.err), QN_OK);
    }
    assert_int_equal(volume_writer_commit(b.writer, &report, &b.err), QN_OK);
    assert_holds(&b, quins, N);
    free(quins);
    bench_close(&b);
}

static void repetitions_stay_when_that_is_asked_for(void **state) {
    (void)state;
    bench b;
    volume_report report;
    const q42_quin quin = q42_quin_make(1, 2, 3, 0, 0);
    bench_open(&b, 2, (volume_writer_options){.keeps_duplicates = true});
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(volume_lane_add_quin(volume_writer_lane(b.writer, i % 2), &quin, &b.err), QN_OK);
    }
    assert_int_equal(volume_writer_commit(b.writer, &report, &b.err), QN_OK);
    assert_int_equal(report.n_quins, 5);
    bench_close(&b);
}

static void a_flat_lexicon_holds_triples_and_identities(void **state) {
    (void)state;
    bench b;
    opened o;
    volume_report report;
    fmt_diag diag;
    q42_term term;
    const q42_term triple = {.hash = q42_triple_id(1, 2, 3), .kind = Q42_TERM_TRIPLE, .triple = {1, 2, 3}};
    const q42_term identity = {.hash = 77, .kind = Q42_TERM_WEBIZEN, .text = {"alice", 5}};
    bench_open(&b, 2, (volume_writer_options){.is_flat = true});
    assert_int_equal(volume_lane_add_entry(volume_writer_lane(b.writer, 0), &triple, &b.err), QN_OK);
    assert_int_equal(volume_lane_add_entry(volume_writer_lane(b.writer, 1), &triple, &b.err), QN_OK);
    assert_int_equal(volume_lane_add_entry(volume_writer_lane(b.writer, 1), &identity, &b.err), QN_OK);
    assert_int_equal(volume_writer_commit(b.writer, &report, &b.err), QN_OK);
    open_result(&b, &o);
    assert_int_equal(o.volume.lexicon.form, Q42_LEXICON_TAGGED);
    assert_int_equal(o.volume.lexicon.n_entries, 2);
    assert_int_equal(q42_lexicon_find(&o.volume.lexicon, triple.hash, &term, &diag), FMT_OK);
    assert_int_equal(term.kind, Q42_TERM_TRIPLE);
    assert_memory_equal(term.triple, triple.triple, sizeof term.triple);
    assert_int_equal(q42_lexicon_find(&o.volume.lexicon, 77, &term, &diag), FMT_OK);
    assert_int_equal(term.kind, Q42_TERM_WEBIZEN);
    assert_memory_equal(term.text.data, "alice", 5);
    mapped_file_close(&o.file);
    bench_close(&b);
}

static void a_quin_with_a_wrong_parity_is_refused(void **state) {
    (void)state;
    bench b;
    q42_quin quin = q42_quin_make(1, 2, 3, 4, 5);
    quin.parity ^= 1;
    bench_open(&b, 1, (volume_writer_options){.is_marked = true});
    assert_int_equal(volume_lane_add_quin(volume_writer_lane(b.writer, 0), &quin, &b.err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&b.err), "parity"));
    assert_int_equal(n_files(&b), 0);
    bench_close(&b);
}

static void two_texts_under_one_key_are_refused_by_both_names(void **state) {
    (void)state;
    for (uint32_t other = 0; other < 2; other++) { /* in one lane, and in two */
        bench b;
        volume_report report;
        bench_open(&b, 2, (volume_writer_options){.is_marked = true});
        qn_status status = volume_lane_add_term(volume_writer_lane(b.writer, 0), 5, "<left>", 6, &b.err);
        assert_int_equal(status, QN_OK);
        status = volume_lane_add_term(volume_writer_lane(b.writer, other), 5, "<right>", 7, &b.err);
        assert_int_equal(status, other == 0 ? QN_BAD_INPUT : QN_OK);
        if (status == QN_OK) {
            assert_int_equal(volume_writer_commit(b.writer, &report, &b.err), QN_BAD_INPUT);
        }
        assert_non_null(strstr(error_text(&b.err), "<left>"));
        assert_non_null(strstr(error_text(&b.err), "<right>"));
        assert_int_equal(n_files(&b), 0);
        bench_close(&b);
    }
}

static void too_little_memory_is_refused(void **state) {
    (void)state;
    error_context err = {0};
    team *workers;
    volume_writer *writer = NULL;
    const volume_writer_options options = {.memory = 31 * MIB};
    assert_int_equal(team_create(1, &workers, &err), QN_OK);
    assert_int_equal(volume_writer_create("/tmp/quoin-never.q42", &options, workers, &writer, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "32 MiB"));
    assert_int_not_equal(access("/tmp/quoin-never.q42", F_OK), 0);
    team_destroy(workers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_runs_than_one_merge_takes_become_one_volume),
        cmocka_unit_test(the_bytes_do_not_depend_on_the_number_of_lanes),
        cmocka_unit_test(graphs_and_metadata_that_come_late_change_nothing_before_them),
        cmocka_unit_test(repetitions_stay_when_that_is_asked_for),
        cmocka_unit_test(a_flat_lexicon_holds_triples_and_identities),
        cmocka_unit_test(a_quin_with_a_wrong_parity_is_refused),
        cmocka_unit_test(two_texts_under_one_key_are_refused_by_both_names),
        cmocka_unit_test(too_little_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
