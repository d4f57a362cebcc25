/* test_ntr_parse.c — statements, lines, chunks, and going on after a fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nt_fixture.h"

#define S "<http://e/s>"
#define P "<http://e/p>"
#define O "<http://e/o>"
#define G "<http://e/g>"
#define SP S " " P " "

static char scratch[NTRIPLES_SCRATCH_SIZE];

static ntriples_parser start(const char *text, ntriples_options options) {
    ntriples_parser parser;
    ntriples_start(&parser, (ntriples_chunk){{(const uint8_t *)text, strlen(text)}, 0, 1}, &options, scratch);
    return parser;
}

static void assert_term(const ntriples_term *term, ntriples_kind kind, const char *text) {
    assert_int_equal(term->kind, kind);
    assert_int_equal(term->size, strlen(text));
    assert_memory_equal(term->text, text, term->size);
}

/* One line each that is right; `canonical` is what must be written for it. */
static const struct {
    const char *name, *text, *canonical;
    ntriples_syntax syntax;
} right[] = {
    {"empty", "", "", NTRIPLES_TRIPLES},
    {"blanks only", " \t", "", NTRIPLES_TRIPLES},
    {"comment without line end", "#x", "", NTRIPLES_TRIPLES},
    {"no line end", SP O " .", SP O " .\n", NTRIPLES_TRIPLES},
    {"tabs around", "\t" S "\t" P "\t" O "\t.\t\n", SP O " .\n", NTRIPLES_TRIPLES},
    {"graph", SP O " " G " .\n", SP O " " G " .\n", NTRIPLES_QUADS},
    {"graph without blanks", S P O G ".", SP O " " G " .\n", NTRIPLES_QUADS},
    {"graph is a blank node", SP O " _:g .", SP O " _:g .\n", NTRIPLES_QUADS},
    {"triple among quads", SP O " .", SP O " .\n", NTRIPLES_QUADS},
    {"label before the full stop", "_:a.b" P "_:c.d.", "_:a.b " P " _:c.d .\n", NTRIPLES_TRIPLES},
    {"label with dots inside", "_:a..b " P " _:0 .", "_:a..b " P " _:0 .\n", NTRIPLES_TRIPLES},
    {"tag before a label", SP "\"x\"@en_:g .", SP "\"x\"@en _:g .\n", NTRIPLES_QUADS},
    {"tag with parts", SP "\"x\"@de-DE-1996 .", SP "\"x\"@de-DE-1996 .\n", NTRIPLES_TRIPLES},
    {"blanks inside a literal", SP "\"x\" ^^ <http://e/t> .", SP "\"x\"^^<http://e/t> .\n", NTRIPLES_TRIPLES},
    {"blank before the tag", SP "\"x\"\t@en .", SP "\"x\"@en .\n", NTRIPLES_TRIPLES},
    {"string datatype", SP "\"x\"^^<http://www.w3.org/2001/XMLSchema#string>.", SP "\"x\" .\n", NTRIPLES_TRIPLES},
    {"escaped string datatype", SP "\"x\"^^<http://www.w3.org/2001/XMLSchema#\\u0073tring> .", SP "\"x\" .\n",
     NTRIPLES_TRIPLES},
    {"escapes that stay", SP "\"\\\"\\\\\\n\\r\" .", SP "\"\\\"\\\\\\n\\r\" .\n", NTRIPLES_TRIPLES},
    {"escapes that go", SP "\"\\t\\b\\f\\'\" .", SP "\"\t\b\f'\" .\n", NTRIPLES_TRIPLES},
    {"codes that must be escaped", SP "\"\\u0022\\u005C\\u000a\\U0000000D\" .", SP "\"\\\"\\\\\\n\\r\" .\n",
     NTRIPLES_TRIPLES},
    {"codes in an IRI", "<\\u0068ttp://e/\\u00E9> " P " " O " .", "<http://e/\303\251> " P " " O " .\n",
     NTRIPLES_TRIPLES},
    {"last code point", SP "\"\\U0010FFFF\" .", SP "\"\364\217\277\277\" .\n", NTRIPLES_TRIPLES},
    {"control characters", SP "\"\001\177\" .", SP "\"\001\177\" .\n", NTRIPLES_TRIPLES},
    {"delete in an IRI", "<http://e/\177> " P " " O " .", "<http://e/\177> " P " " O " .\n", NTRIPLES_TRIPLES},
    {"scheme only", "<a:> " P " <b+c.d-e1:f> .", "<a:> " P " <b+c.d-e1:f> .\n", NTRIPLES_TRIPLES},
    {"comment behind", SP O " . # <x> \"y\"", SP O " .\n", NTRIPLES_TRIPLES},
    {"comment at once", SP O ".#", SP O " .\n", NTRIPLES_TRIPLES},
};

static void right_lines_are_read_and_written_canonically(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        nt_result result = nt_parse_text(right[i].text, right[i].syntax);
        if (result.status != FMT_NOT_FOUND || result.size != strlen(right[i].canonical) ||
            memcmp(result.text == NULL ? "" : result.text, right[i].canonical, result.size) != 0) {
            fail_msg("%s: status %d, %.*s", right[i].name, result.status, (int)result.size, result.text);
        }
        nt_free(&result);
    }
}

/* One line each that is wrong. */
static const struct {
    const char *text, *rule;
    uint64_t column;
    ntriples_syntax syntax;
    fmt_status status;
} wrong[] = {
    {"x", "subject", 1, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"  \"s\" " P " " O " .", "subject", 3, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {S, "predicate", 13, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {S " a " O " .", "predicate", 14, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {S " \"p\" " O " .", "predicate", 14, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP ".", "object", 27, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "true .", "object", 27, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP O " " G " .", "full-stop", 40, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP O " " G " " G " .", "full-stop", 53, NTRIPLES_QUADS, FMT_BAD_FILE},
    {SP O, "full-stop", 39, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP O, "full-stop", 39, NTRIPLES_QUADS, FMT_BAD_FILE},
    {SP O " # no stop", "full-stop", 40, NTRIPLES_QUADS, FMT_BAD_FILE},
    {SP O " . .", "line-end", 42, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP O " ; " P " " O " .", "full-stop", 40, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"@base <http://e/> .", "directive", 1, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"PREFIX e: <http://e/>", "directive", 1, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"BASE <http://e/>", "directive", 1, NTRIPLES_QUADS, FMT_BAD_FILE},
    {"VERSION \"1.2\"", "rdf12-version", 1, NTRIPLES_TRIPLES, FMT_UNSUPPORTED},
    {"<< " SP O " >> " P " " O " .", "rdf12-triple-term", 1, NTRIPLES_TRIPLES, FMT_UNSUPPORTED},
    {SP "<<( " SP O " )>> .", "rdf12-triple-term", 27, NTRIPLES_QUADS, FMT_UNSUPPORTED},
    {SP "\"x\"@en--ltr .", "rdf12-direction", 34, NTRIPLES_TRIPLES, FMT_UNSUPPORTED},
    {SP "\"x\"@en-- .", "language-tag", 34, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"x\"@1 .", "language-tag", 31, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"x\"^<http://e/t> .", "datatype", 30, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"x\"^^xsd:integer .", "datatype", 32, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"x\"^^", "datatype", 32, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"x", "literal-end", 29, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"x\\", "escape", 29, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"x\\a\" .", "escape", 29, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"\\u12G4\" .", "escape", 28, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"\\U0001234\" .", "escape", 28, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"\\uDFFF\" .", "code-point", 28, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"\\UFFFFFFFF\" .", "code-point", 28, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"<http://e/\\u0020> " P " " O " .", "iri-character", 11, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"<http://e/\\u003E> " P " " O " .", "iri-character", 11, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"<http://e/\\n> " P " " O " .", "iri-character", 11, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"<http://e/", "iri-end", 11, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"<http://e/<> " P " " O " .", "iri-character", 11, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"<s> " P " " O " .", "iri-relative", 1, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"<//e/s> " P " " O " .", "iri-relative", 1, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"<1a:s> " P " " O " .", "iri-relative", 1, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"<:s> " P " " O " .", "iri-relative", 1, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"_ " P " " O " .", "label", 1, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"_: " P " " O " .", "label", 3, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"_:-a " P " " O " .", "label", 3, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"_:.a " P " " O " .", "label", 3, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"_:a:b " P " " O " .", "label", 4, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"_:a\303\227 " P " " O " .", "label", 4, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"_:\302\267 " P " " O " .", "label", 3, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"_:a\377 " P " " O " .", "utf-8", 4, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {"# \303\251 \377", "utf-8", 5, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP O " . # \377", "utf-8", 44, NTRIPLES_TRIPLES, FMT_BAD_FILE},
    {SP "\"\303\251\360\237\230\200\200\" .", "utf-8", 30, NTRIPLES_TRIPLES, FMT_BAD_FILE},
};

static void wrong_lines_are_refused_by_rule_and_column(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        nt_result result = nt_parse_text(wrong[i].text, wrong[i].syntax);
        char place[60];
        snprintf(place, sizeof place, "line 1, column %u: ", (unsigned)wrong[i].column);
        if (result.status != wrong[i].status || strcmp(result.diag.rule, wrong[i].rule) != 0 ||
            result.fault.column != wrong[i].column || strncmp(result.diag.text, place, strlen(place)) != 0) {
            fail_msg("%s: status %d, %s", wrong[i].text, result.status, result.status == 0 ? "" : result.diag.text);
        }
        assert_int_equal(result.diag.index, 1);
        assert_int_equal(result.diag.offset, result.fault.offset);
        nt_free(&result);
    }
}

/* Every prefix of a right line is the line, or wrong; never read past. Also puts each token at every distance from the
 * end of the memory. */
static void every_cut_of_a_line_is_refused_or_is_blank(void **state) {
    static const char line[] = S " " P " \"caf\303\251 \\u00e9 \\n a longer text than sixteen\"^^<http://e/t> _:g .";
    (void)state;
    for (size_t size = 0; size < sizeof line; size++) {
        nt_result result = nt_parse((fmt_span){(const uint8_t *)line, size}, NTRIPLES_QUADS);
        const bool is_right = size == 0 || size == sizeof line - 1;
        assert_int_equal(result.status == FMT_NOT_FOUND, is_right);
        if (!is_right) {
            assert_true(result.diag.offset <= size);
        }
        nt_free(&result);
    }
}

/* A stopping character at every distance behind the start of a run, against the vector and the plain loop. */
static void a_stop_is_found_at_every_distance(void **state) {
    static const char stops[] = "<>\"{}|^`\\ \n\r\001";
    char text[200];
    (void)state;
    for (size_t distance = 0; distance < 40; distance++) {
        for (size_t i = 0; i < sizeof stops - 1; i++) {
            const int size = snprintf(text, sizeof text, "<a:%.*s%c%040d> " P " " O " .", (int)distance,
                                      "!#$%&'()*+,-./0123456789:;=?@ABC[]_~xyzw", stops[i], 0);
            nt_result result = nt_parse((fmt_span){(const uint8_t *)text, (uint64_t)size}, NTRIPLES_TRIPLES);
            assert_int_equal(result.status, FMT_BAD_FILE);
            assert_int_equal(result.fault.column, stops[i] == '>' ? 5 + distance : 4 + distance);
            nt_free(&result);
        }
    }
}

static void lines_count_lf_crlf_and_cr_once_each(void **state) {
    static const char text[] = SP O " .\n" SP O " .\r\n\r" SP O " .\r\r\n\n" SP O " .";
    static const uint64_t lines[] = {1, 2, 4, 7}, offsets[] = {0, 42, 86, 130};
    const ntriples_options options = {.syntax = NTRIPLES_TRIPLES};
    ntriples_statement statement;
    fmt_diag diag;
    (void)state;
    ntriples_parser parser = start(text, options);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ntriples_next(&parser, &statement, &diag), FMT_OK);
        assert_int_equal(statement.line, lines[i]);
        assert_int_equal(text[statement.offset], '<');
        assert_true(statement.offset <= offsets[i] && statement.offset + 4 > offsets[i]);
    }
    assert_int_equal(ntriples_next(&parser, &statement, &diag), FMT_NOT_FOUND);
    assert_int_equal(ntriples_count_lines((fmt_span){(const uint8_t *)text, sizeof text - 1}), 6);
}

static void a_chunk_counts_lines_and_offsets_from_where_it_begins(void **state) {
    static const char text[] = SP O " .\n bad\n";
    ntriples_parser parser;
    ntriples_statement statement;
    fmt_diag diag;
    const ntriples_options options = {.syntax = NTRIPLES_QUADS};
    (void)state;
    ntriples_start(&parser, (ntriples_chunk){{(const uint8_t *)text, sizeof text - 1}, 1000, 31}, &options, scratch);
    assert_int_equal(ntriples_next(&parser, &statement, &diag), FMT_OK);
    assert_int_equal(statement.line, 31);
    assert_int_equal(statement.offset, 1000);
    assert_int_equal(ntriples_next(&parser, &statement, &diag), FMT_BAD_FILE);
    assert_int_equal(parser.fault.line, 32);
    assert_int_equal(parser.fault.column, 2);
    assert_int_equal(parser.fault.offset, 1000 + 42);
    assert_int_equal(diag.offset, 1000 + 42);
    assert_int_equal(diag.index, 32);
    assert_int_equal(strncmp(diag.text, "line 32, column 2: ", 19), 0);
}

static void after_a_fault_the_parser_goes_on_with_the_next_line(void **state) {
    static const char text[] = SP "42 .\r\n" SP O " .\nnothing\r" SP "\"x\"@en--ltr .\n" SP "\"y\" .";
    static const char *const rejects[] = {SP "42 .", "nothing", SP "\"x\"@en--ltr ."};
    const ntriples_options options = {.syntax = NTRIPLES_TRIPLES};
    ntriples_statement statement;
    fmt_diag diag;
    fmt_status status;
    size_t n_rejects = 0, n_right = 0;
    (void)state;
    ntriples_parser parser = start(text, options);
    while ((status = ntriples_next(&parser, &statement, &diag)) != FMT_NOT_FOUND) {
        if (status == FMT_OK) {
            n_right++;
            continue;
        }
        assert_true(n_rejects < 3);
        assert_int_equal(parser.fault.text.size, strlen(rejects[n_rejects]));
        assert_memory_equal(parser.fault.text.data, rejects[n_rejects], parser.fault.text.size);
        n_rejects++;
    }
    assert_int_equal(n_rejects, 3);
    assert_int_equal(n_right, 2);
    assert_int_equal(statement.line, 5);
}

static void canonical_terms_point_into_the_input_and_others_into_the_scratch(void **state) {
    static const char text[] = S " <http://e/\\u0070> \"a\\tb\" _:g .";
    const ntriples_options options = {.syntax = NTRIPLES_QUADS};
    ntriples_statement statement;
    fmt_diag diag;
    (void)state;
    ntriples_parser parser = start(text, options);
    assert_int_equal(ntriples_next(&parser, &statement, &diag), FMT_OK);
    assert_ptr_equal(statement.terms[NTRIPLES_SUBJECT].text, text);
    assert_ptr_equal(statement.terms[NTRIPLES_GRAPH].text, strstr(text, "_:g"));
    assert_term(&statement.terms[NTRIPLES_PREDICATE], NTRIPLES_IRI, P);
    assert_term(&statement.terms[NTRIPLES_OBJECT], NTRIPLES_LITERAL, "\"a\tb\"");
    for (size_t i = NTRIPLES_PREDICATE; i <= NTRIPLES_OBJECT; i++) {
        assert_true(statement.terms[i].text >= scratch && statement.terms[i].text < scratch + sizeof scratch);
    }
}

static void a_repeated_iri_is_marked_as_the_same(void **state) {
    static const char text[] = SP O " .\n" SP "<http://e/o2> .\n<http://e/s2> " P " <http://e/o2> .\n" SP O " .\n";
    static const uint32_t same[] = {0, 1u << NTRIPLES_SUBJECT | 1u << NTRIPLES_PREDICATE,
                                    1u << NTRIPLES_PREDICATE | 1u << NTRIPLES_OBJECT, 1u << NTRIPLES_PREDICATE};
    const ntriples_options options = {.syntax = NTRIPLES_TRIPLES};
    ntriples_statement statement;
    fmt_diag diag;
    (void)state;
    ntriples_parser parser = start(text, options);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ntriples_next(&parser, &statement, &diag), FMT_OK);
        assert_int_equal(statement.same, same[i]);
        assert_term(&statement.terms[NTRIPLES_PREDICATE], NTRIPLES_IRI, P);
    }
    assert_term(&statement.terms[NTRIPLES_SUBJECT], NTRIPLES_IRI, S);
}

static void a_prefix_is_put_before_every_label(void **state) {
    const ntriples_options options = {.syntax = NTRIPLES_QUADS, .blank_prefix = nt_str("s2_")};
    ntriples_statement statement;
    fmt_diag diag;
    (void)state;
    ntriples_parser parser = start("_:a " P " _:b.c _:0.\n", options);
    assert_int_equal(ntriples_next(&parser, &statement, &diag), FMT_OK);
    assert_term(&statement.terms[NTRIPLES_SUBJECT], NTRIPLES_BLANK, "_:s2_a");
    assert_term(&statement.terms[NTRIPLES_OBJECT], NTRIPLES_BLANK, "_:s2_b.c");
    assert_term(&statement.terms[NTRIPLES_GRAPH], NTRIPLES_BLANK, "_:s2_0");
}

/* `before` bytes, then `n` times `unit`, then `after`. */
static nt_result parse_long(const char *before, const char *unit, size_t n, const char *after) {
    const size_t unit_size = strlen(unit), size = strlen(before) + n * unit_size + strlen(after);
    char *text = malloc(size + 1);
    assert_non_null(text);
    size_t at = (size_t)snprintf(text, size + 1, "%s", before);
    for (size_t i = 0; i < n; i++, at += unit_size) {
        memcpy(text + at, unit, unit_size);
    }
    snprintf(text + at, size + 1 - at, "%s", after);
    const nt_result result = nt_parse((fmt_span){(const uint8_t *)text, size}, NTRIPLES_TRIPLES);
    free(text);
    return result;
}

static void the_limit_counts_the_bytes_of_the_canonical_text(void **state) {
    static const struct {
        const char *before, *unit;
        size_t n;
        const char *after;
        uint64_t length; /* 0: accepted */
    } rows[] = {
        {SP "\"", "x", 65533, "\" .", 0},
        {SP "\"", "x", 65534, "\" .", 65536},
        {SP "\"", "\\u0041", 65533, "\" .", 0},
        {SP "\"", "\\u0041", 65534, "\" .", 65536},
        {SP "\"", "\\u0022", 32766, "\" .", 0},
        {SP "\"", "\\u0022", 32767, "\" .", 65536},
        {SP "\"", "x", 65520, "\"@en-GB .", 0},
        {SP "\"", "x", 65530, "\"@en-GB .", 65538},
        {SP "\"", "x", 65533, "\"^^<http://www.w3.org/2001/XMLSchema#string> .", 0},
        {SP "\"", "\\u0041", 65533, "\"^^<http://www.w3.org/2001/XMLSchema#\\u0073tring> .", 0},
        {SP "\"", "x", 65533, "\"^^<a:b> .", 65542},
        {"<http://e/", "x", 65524, "> " P " " O " .", 0},
        {"<http://e/", "x", 65525, "> " P " " O " .", 65536},
        {SP "\"1\"^^<a:", "x", 70000, "> .", 70004},
        {"_:", "x", 65533, " " P " " O " .", 0},
        {"_:", "x", 65534, " " P " " O " .", 65536},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        nt_result result = parse_long(rows[i].before, rows[i].unit, rows[i].n, rows[i].after);
        if (rows[i].length == 0) {
            assert_int_equal(result.status, FMT_NOT_FOUND);
            assert_int_equal(result.n_statements, 1);
        } else {
            assert_int_equal(result.status, FMT_LIMIT);
            assert_string_equal(result.diag.rule, "term-too-long");
            assert_int_equal(result.diag.got, rows[i].length);
            assert_int_equal(result.diag.expected, NTRIPLES_MAX_TERM);
        }
        nt_free(&result);
    }
}

static void whole_lines_end_where_no_later_byte_can_change_it(void **state) {
    static const struct {
        const char *text;
        uint64_t size, lines;
    } rows[] = {
        {"", 0, 0},       {"abc", 0, 0},      {"a\n", 2, 1},      {"a\nb", 2, 1},  {"a\r", 0, 1},
        {"a\rb", 2, 1},   {"a\r\n", 3, 1},    {"a\nb\r", 2, 2},   {"a\n\r", 2, 2}, {"a\r\r", 2, 2},
        {"\n\n\n", 3, 3}, {"0123456789abcd\r\nx\r\n", 19, 2}, {"0123456789abcde\r\nx", 17, 1},
        {"0\n2\n4\n6\n8\nabcdefghijklm\n\n", 25, 7},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fmt_span span = {(const uint8_t *)rows[i].text, strlen(rows[i].text)};
        assert_int_equal(ntriples_whole_lines(span), rows[i].size);
        assert_int_equal(ntriples_count_lines(span), rows[i].lines);
    }
}

static void all_rules_have_an_id_of_their_own(void **state) {
    uint64_t n;
    const fmt_rule *rules = ntriples_rules(&n);
    (void)state;
    assert_true(n > 20);
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t j = 0; j < i; j++) {
            assert_string_not_equal(rules[i].id, rules[j].id);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_lines_are_read_and_written_canonically),
        cmocka_unit_test(wrong_lines_are_refused_by_rule_and_column),
        cmocka_unit_test(every_cut_of_a_line_is_refused_or_is_blank),
        cmocka_unit_test(a_stop_is_found_at_every_distance),
        cmocka_unit_test(lines_count_lf_crlf_and_cr_once_each),
        cmocka_unit_test(a_chunk_counts_lines_and_offsets_from_where_it_begins),
        cmocka_unit_test(after_a_fault_the_parser_goes_on_with_the_next_line),
        cmocka_unit_test(canonical_terms_point_into_the_input_and_others_into_the_scratch),
        cmocka_unit_test(a_repeated_iri_is_marked_as_the_same),
        cmocka_unit_test(a_prefix_is_put_before_every_label),
        cmocka_unit_test(the_limit_counts_the_bytes_of_the_canonical_text),
        cmocka_unit_test(whole_lines_end_where_no_later_byte_can_change_it),
        cmocka_unit_test(all_rules_have_an_id_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
