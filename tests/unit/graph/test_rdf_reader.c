/* test_rdf_reader.c — formats by name, chunks of lines on one and several threads, rejects, prefixes. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rdf_fixture.h"

#define P "<http://e/p>"

static rdf_folder folder;
static error_context err;

static int make_folder(void **state) {
    (void)state;
    test_make_folder(folder.path);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(folder.path);
    return 0;
}

static void the_format_comes_from_the_name_behind_any_compression(void **state) {
    static const struct {
        const char *name;
        rdf_format format;
    } rows[] = {
        {"a.nt", RDF_NTRIPLES},    {"a.NT", RDF_NTRIPLES},   {"a.nq", RDF_NQUADS},      {"a.ttl", RDF_TURTLE},
        {"a.turtle", RDF_TURTLE},  {"a.trig", RDF_TRIG},     {"a.nt.gz", RDF_NTRIPLES}, {"a.b.ttl.zst", RDF_TURTLE},
        {"a.nq.LZ4", RDF_NQUADS},  {"a", RDF_AUTO},          {"a.gz", RDF_AUTO},        {"nt", RDF_AUTO},
        {"a.nt.bz2", RDF_AUTO},    {"a.rdf", RDF_AUTO},      {".nt", RDF_NTRIPLES},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const rdf_options options = {.format = RDF_AUTO};
        rdf_reader *reader;
        const char *path = rdf_write(&folder, rows[i].name, "", 0);
        error_clear(&err);
        const qn_status status = rdf_reader_open(path, &options, &reader, &err);
        if (rows[i].format == RDF_AUTO) {
            assert_int_equal(status, QN_BAD_INPUT);
            assert_non_null(strstr(error_text(&err), ".ttl"));
            continue;
        }
        assert_int_equal(status, QN_OK);
        assert_int_equal(rdf_reader_format(reader), rows[i].format);
        assert_int_equal(rdf_reader_has_chunks(reader), rows[i].format <= RDF_NQUADS);
        rdf_reader_close(reader);
    }
}

static void a_format_that_is_asked_for_wins_over_the_name(void **state) {
    const rdf_options options = {.format = RDF_TURTLE};
    (void)state;
    rdf_result result = rdf_read_text(&folder, "x.nt", "@prefix e: <http://e/> . e:s e:p 1 .", &options);
    assert_string_equal(result.text, "<http://e/s> " P " \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n");
    rdf_free(&result);
}

static void format_names_are_found_in_any_case(void **state) {
    rdf_format format = RDF_AUTO;
    (void)state;
    assert_true(rdf_format_find("TriG", &format));
    assert_int_equal(format, RDF_TRIG);
    assert_true(rdf_format_find("N-Quads", &format));
    assert_string_equal(rdf_format_name(format), "N-Quads");
    assert_false(rdf_format_find("rdfxml", &format));
}

static void wrong_options_are_refused_before_anything_is_read(void **state) {
    static const rdf_options rows[] = {
        {.format = RDF_TURTLE, .base = "relative"}, {.format = RDF_TURTLE, .base = "http://e/ x"},
        {.format = RDF_NTRIPLES, .blank_prefix = "a b"}, {.format = RDF_NTRIPLES, .blank_prefix = "a:"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rdf_reader *reader = NULL;
        error_clear(&err);
        assert_int_equal(rdf_reader_open("/no/such/file", &rows[i], &reader, &err), QN_BAD_INPUT);
        assert_null(reader);
    }
}

static void compressed_statements_are_read(void **state) {
    static const char text[] = "<http://e/s> " P " \"a\" .\n_:x " P " _:y <http://e/g> .\n";
    static const char *const extensions[] = {".gz", ".zst", ".lz4"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        uint8_t *stored = rdf_compress(extensions[i], text, sizeof text - 1, &size);
        rdf_result result = rdf_read(rdf_write(&folder, "plain.nq", stored, size), NULL, 0);
        assert_int_equal(result.status, QN_OK);
        assert_string_equal(result.text, text);
        rdf_free(&result);
        free(stored);
    }
}

static void a_fault_names_file_line_column_and_rule(void **state) {
    (void)state;
    rdf_result result = rdf_read_text(&folder, "bad.nt", "# one\n<http://e/s> " P " 42 .\n", NULL);
    assert_int_equal(result.status, QN_BAD_FILE);
    assert_non_null(strstr(result.message, "bad.nt"));
    assert_non_null(strstr(result.message, "line 2, column 27: \"42\" stands here"));
    assert_non_null(strstr(result.message, "object"));
    rdf_free(&result);
}

static void lenient_reading_hands_out_each_refused_line_and_goes_on(void **state) {
    static const char text[] = "<http://e/s> " P " 42 .\n<http://e/s> " P " \"a\" .\nnothing\n<http://e/s> " P " \"b\" .";
    (void)state;
    rdf_result result = rdf_read(rdf_write(&folder, "some.nt", text, sizeof text - 1), NULL, 1);
    assert_int_equal(result.status, QN_OK);
    assert_int_equal(result.n_statements, 2);
    assert_string_equal(result.rejects, "1: object <http://e/s> " P " 42 .\n3: subject nothing\n");
    rdf_free(&result);
}

static void labels_get_the_prefix_of_their_input(void **state) {
    const rdf_options options = {.format = RDF_AUTO, .blank_prefix = "s2_"};
    (void)state;
    rdf_result result = rdf_read_text(&folder, "b.nq", "_:a " P " _:b _:g .\n", &options);
    assert_string_equal(result.text, "_:s2_a " P " _:s2_b _:s2_g .\n");
    rdf_free(&result);
    result = rdf_read_text(&folder, "b.ttl", "_:a " P " [] .\n", &options);
    assert_string_equal(result.text, "_:s2_a " P " _:s2_genid1 .\n");
    rdf_free(&result);
}

static void standard_input_is_n_quads_unless_said(void **state) {
    static const char text[] = "<http://e/s> " P " <http://e/o> <http://e/g> .\n";
    int ends[2];
    const int kept = dup(STDIN_FILENO);
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, sizeof text - 1), sizeof text - 1);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    rdf_result result = rdf_read("-", NULL, 0);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(ends[0]);
    assert_int_equal(result.status, QN_OK);
    assert_string_equal(result.text, text);
    rdf_free(&result);
}

static qn_status stop_at_once(void *ctx, const ntriples_statement *statement, error_context *error) {
    (void)ctx;
    (void)statement;
    return FAIL(error, QN_CANCELLED, "enough");
}

static void a_status_of_the_taker_ends_the_reading_and_is_handed_on(void **state) {
    static const char *const names[] = {"two.nt", "two.ttl"};
    static const char text[] = "<http://e/s> " P " \"a\" .\n<http://e/s> " P " \"b\" .\n";
    const rdf_options options = {.format = RDF_AUTO};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rdf_reader *reader;
        error_clear(&err);
        assert_int_equal(rdf_reader_open(rdf_write(&folder, names[i], text, sizeof text - 1), &options, &reader, &err), QN_OK);
        assert_int_equal(rdf_reader_each(reader, stop_at_once, NULL, NULL, &err), QN_CANCELLED);
        assert_string_equal(error_text(&err), "enough");
        rdf_reader_close(reader);
    }
}

/* ---------------------------------------------------------------- chunks */

#define N_LINES 40000u

/* Lines of many lengths, ended in the three ways; the caller frees. */
static char *make_lines(size_t *out_size) {
    static const char *const ends[] = {"\n", "\r\n", "\r", "\n\n", " # comment\r\n"};
    char *text = malloc((size_t)N_LINES * 180);
    size_t n = 0;
    assert_non_null(text);
    for (unsigned i = 0; i < N_LINES; i++) {
        n += (size_t)snprintf(text + n, 180, "<http://e/s%u> " P " \"%0*u\" .%s", i, (int)(i % 83), i, ends[i % 5]);
    }
    *out_size = n;
    return text;
}

typedef struct parsed {
    uint64_t n, line_sum, size;
    bool is_broken;
} parsed;

static void parse_chunk(const rdf_reader *reader, const rdf_chunk *chunk, void *scratch, parsed *out) {
    ntriples_parser parser;
    ntriples_statement statement;
    fmt_diag diag;
    fmt_status status;
    ntriples_start(&parser, chunk->lines, rdf_reader_parser_options(reader), scratch);
    while ((status = ntriples_next(&parser, &statement, &diag)) == FMT_OK) {
        out->n++;
        out->line_sum += statement.line;
        out->size += statement.terms[NTRIPLES_OBJECT].size;
    }
    out->is_broken = out->is_broken || status != FMT_NOT_FOUND || chunk->long_line != 0;
}

static parsed parse_whole(const char *text, size_t size) {
    parsed all = {0, 0, 0, false};
    ntriples_parser parser;
    ntriples_statement statement;
    fmt_diag diag;
    char *scratch = malloc(NTRIPLES_SCRATCH_SIZE);
    const ntriples_options options = {.syntax = NTRIPLES_TRIPLES};
    assert_non_null(scratch);
    ntriples_start(&parser, (ntriples_chunk){{(const uint8_t *)text, size}, 0, 1}, &options, scratch);
    while (ntriples_next(&parser, &statement, &diag) == FMT_OK) {
        all.n++;
        all.line_sum += statement.line;
        all.size += statement.terms[NTRIPLES_OBJECT].size;
    }
    free(scratch);
    return all;
}

static rdf_reader *open_text(const char *name, const char *text, size_t size) {
    const rdf_options options = {.format = RDF_AUTO};
    rdf_reader *reader = NULL;
    error_clear(&err);
    assert_int_equal(rdf_reader_open(rdf_write(&folder, name, text, size), &options, &reader, &err), QN_OK);
    return reader;
}

static void chunks_of_any_size_hold_the_same_statements_at_the_same_lines(void **state) {
    static const uint64_t rooms[] = {RDF_LEAST_ROOM, RDF_LEAST_ROOM + 1, 100003, UINT64_C(8) << 20};
    size_t size;
    char *text = make_lines(&size), *buffer = malloc(8 << 20), *scratch = malloc(NTRIPLES_SCRATCH_SIZE);
    const parsed wanted = parse_whole(text, size);
    (void)state;
    assert_int_equal(wanted.n, N_LINES);
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        parsed all = {0, 0, 0, false};
        rdf_chunk chunk;
        uint64_t serial = 0, offset = 0;
        rdf_reader *reader = open_text("lines.nt", text, size);
        while (rdf_reader_next_chunk(reader, buffer, rooms[i], &chunk, &err) == QN_OK) {
            assert_int_equal(chunk.serial, serial++);
            assert_int_equal(chunk.lines.offset, offset);
            assert_memory_equal(chunk.lines.bytes.data, text + offset, chunk.lines.bytes.size);
            offset += chunk.lines.bytes.size;
            parse_chunk(reader, &chunk, scratch, &all);
        }
        assert_int_equal(offset, size);
        assert_false(all.is_broken);
        assert_int_equal(all.n, wanted.n);
        assert_int_equal(all.line_sum, wanted.line_sum);
        assert_int_equal(all.size, wanted.size);
        assert_int_equal(rdf_reader_next_chunk(reader, buffer, rooms[i], &chunk, &err), QN_NOT_FOUND);
        rdf_reader_close(reader);
    }
    free(text);
    free(buffer);
    free(scratch);
}

typedef struct worker {
    pthread_t thread;
    rdf_reader *reader;
    parsed all;
} worker;

static void *run_worker(void *arg) {
    worker *w = arg;
    error_context own;
    rdf_chunk chunk;
    void *buffer = malloc(RDF_LEAST_ROOM), *scratch = malloc(NTRIPLES_SCRATCH_SIZE);
    error_clear(&own);
    while (rdf_reader_next_chunk(w->reader, buffer, RDF_LEAST_ROOM, &chunk, &own) == QN_OK) {
        parse_chunk(w->reader, &chunk, scratch, &w->all);
    }
    free(buffer);
    free(scratch);
    return NULL;
}

static void several_threads_share_the_chunks_of_one_input(void **state) {
    size_t size;
    char *text = make_lines(&size);
    const parsed wanted = parse_whole(text, size);
    rdf_reader *reader = open_text("shared.nt", text, size);
    worker workers[4];
    parsed all = {0, 0, 0, false};
    (void)state;
    memset(workers, 0, sizeof workers);
    for (size_t i = 0; i < 4; i++) {
        workers[i].reader = reader;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(workers[i].thread, NULL);
        all.n += workers[i].all.n;
        all.line_sum += workers[i].all.line_sum;
        all.is_broken = all.is_broken || workers[i].all.is_broken;
    }
    assert_false(all.is_broken);
    assert_int_equal(all.n, wanted.n);
    assert_int_equal(all.line_sum, wanted.line_sum);
    rdf_reader_close(reader);
    free(text);
}

/* A line of `size` bytes with its end between two others. */
static void check_long_line(size_t size, const char *end, bool fits) {
    static const char first[] = "<http://e/s> " P " \"1\" .\n", last[] = "<http://e/s> " P " \"3\" .\n";
    static const char second[] = "<http://e/s> " P " \"2\" .";
    const size_t end_size = strlen(end), line_size = size - end_size;
    char *text = malloc(size + 200), *buffer = malloc(RDF_LEAST_ROOM), *scratch = malloc(NTRIPLES_SCRATCH_SIZE);
    size_t n = sizeof first - 1;
    parsed all = {0, 0, 0, false};
    rdf_chunk chunk;
    assert_true(text != NULL && buffer != NULL && scratch != NULL);
    memcpy(text, first, n);
    memset(text + n, ' ', line_size);
    memcpy(text + n, second, sizeof second - 1);
    n += line_size;
    n += (size_t)snprintf(text + n, size + 200 - n, "%s%s", end, last);
    rdf_reader *reader = open_text("long.nt", text, n);
    size_t n_long = 0;
    while (rdf_reader_next_chunk(reader, buffer, RDF_LEAST_ROOM, &chunk, &err) == QN_OK) {
        if (chunk.long_line != 0) {
            fmt_diag diag;
            assert_int_equal(chunk.long_line, size);
            assert_int_equal(chunk.lines.line, 2);
            assert_int_equal(chunk.lines.offset, sizeof first - 1);
            assert_int_equal(rdf_refuse_long_line(&chunk, &diag), FMT_LIMIT);
            assert_string_equal(diag.rule, "term-too-long");
            assert_int_equal(diag.got, size);
            assert_non_null(strstr(diag.text, "line 2, "));
            n_long++;
        } else {
            parse_chunk(reader, &chunk, scratch, &all);
        }
    }
    assert_int_equal(n_long, !fits);
    assert_int_equal(all.n, fits ? 3 : 2);
    assert_int_equal(all.line_sum, fits ? 6 : 4);
    assert_false(all.is_broken);
    rdf_reader_close(reader);
    free(text);
    free(buffer);
    free(scratch);
}

static void a_line_that_does_not_fit_is_told_and_passed_over(void **state) {
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        check_long_line(RDF_LEAST_ROOM - 100, ends[i], true);
        check_long_line(RDF_LEAST_ROOM - 2, ends[i], true);
        for (size_t more = 1; more < 5; more++) {
            check_long_line(RDF_LEAST_ROOM + more, ends[i], false);
        }
        check_long_line(RDF_LEAST_ROOM + 4096, ends[i], false);
        check_long_line(1000000, ends[i], false);
    }
}

static void a_line_of_megabytes_is_rejected_with_the_rest_kept(void **state) {
    const size_t size = (size_t)5 << 20;
    char *text = malloc(size + 200);
    (void)state;
    assert_non_null(text);
    const int n = snprintf(text, size, "<http://e/s> " P " \"");
    memset(text + n, 'x', size);
    snprintf(text + (size_t)n + size, 100, "\" .\n<http://e/s> " P " \"y\" .\n");
    const char *path = rdf_write(&folder, "huge.nt", text, strlen(text));
    rdf_result result = rdf_read(path, NULL, 1);
    assert_int_equal(result.status, QN_OK);
    assert_int_equal(result.n_rejects, 1);
    assert_int_equal(strncmp(result.rejects, "1: term-too-long <http", 22), 0);
    assert_string_equal(result.text, "<http://e/s> " P " \"y\" .\n");
    rdf_free(&result);
    result = rdf_read(path, NULL, 0);
    assert_int_equal(result.status, QN_LIMIT);
    assert_non_null(strstr(result.message, "line 1, column 1: a line of 5242911 bytes"));
    rdf_free(&result);
    free(text);
}

static void a_cut_stream_fails_for_every_thread_after_the_first(void **state) {
    size_t size, stored_size;
    char *text = make_lines(&size), *buffer = malloc(8 << 20);
    uint8_t *stored = rdf_compress(".gz", text, size, &stored_size);
    rdf_reader *reader = open_text("cut.nt.gz", (const char *)stored, stored_size - 9);
    rdf_chunk chunk;
    qn_status status;
    (void)state;
    while ((status = rdf_reader_next_chunk(reader, buffer, RDF_LEAST_ROOM, &chunk, &err)) == QN_OK) {
    }
    assert_int_equal(status, QN_BAD_FILE);
    assert_non_null(strstr(error_text(&err), "cut short"));
    error_clear(&err);
    assert_int_equal(rdf_reader_next_chunk(reader, buffer, RDF_LEAST_ROOM, &chunk, &err), QN_BAD_FILE);
    assert_non_null(strstr(error_text(&err), "cut.nt.gz"));
    assert_non_null(strstr(error_text(&err), "cut short")); /* whichever thread is asked, the cause is told */
    rdf_reader_close(reader);
    free(stored);
    free(text);
    free(buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_format_comes_from_the_name_behind_any_compression),
        cmocka_unit_test(a_format_that_is_asked_for_wins_over_the_name),
        cmocka_unit_test(format_names_are_found_in_any_case),
        cmocka_unit_test(wrong_options_are_refused_before_anything_is_read),
        cmocka_unit_test(compressed_statements_are_read),
        cmocka_unit_test(a_fault_names_file_line_column_and_rule),
        cmocka_unit_test(lenient_reading_hands_out_each_refused_line_and_goes_on),
        cmocka_unit_test(labels_get_the_prefix_of_their_input),
        cmocka_unit_test(standard_input_is_n_quads_unless_said),
        cmocka_unit_test(a_status_of_the_taker_ends_the_reading_and_is_handed_on),
        cmocka_unit_test(chunks_of_any_size_hold_the_same_statements_at_the_same_lines),
        cmocka_unit_test(several_threads_share_the_chunks_of_one_input),
        cmocka_unit_test(a_line_that_does_not_fit_is_told_and_passed_over),
        cmocka_unit_test(a_line_of_megabytes_is_rejected_with_the_rest_kept),
        cmocka_unit_test(a_cut_stream_fails_for_every_thread_after_the_first),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
