/* test_rdf_turtle.c — Turtle and TriG: what is read, what is refused and where, labels, places, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/turtle_feed.h"
#include "rdf_fixture.h"

#define XSD "http://www.w3.org/2001/XMLSchema#"
#define RDF "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#define SP "<a:s> <a:p> "
#define E "@prefix e: <a:> .\n"

static rdf_folder folder;

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

static const struct {
    const char *name, *file, *base, *text, *statements; /* statements null: refused */
} right[] = {
    {"empty", "x.ttl", NULL, "", ""},
    {"comment", "x.ttl", NULL, "# nothing\n", ""},
    {"prefix and a", "x.ttl", NULL, E "e:s a e:o .", "<a:s> <" RDF "type> <a:o> .\n"},
    {"sparql directives", "x.ttl", NULL, "PREFIX e: <a:> BASE <http://h/> e:s e:p <x>.", SP "<http://h/x> .\n"},
    {"lists of objects", "x.ttl", NULL, E "e:s e:p 1, 2.50 ; e:q 1e3, true ; .",
     SP "\"1\"^^<" XSD "integer> .\n" SP "\"2.50\"^^<" XSD "decimal> .\n<a:s> <a:q> \"1e3\"^^<" XSD "double> .\n"
     "<a:s> <a:q> \"true\"^^<" XSD "boolean> .\n"},
    {"number before the stop", "x.ttl", NULL, SP "1.\n" SP "-2.5.\n" SP "3.e1.\n" SP "4.e-1.",
     SP "\"1\"^^<" XSD "integer> .\n" SP "\"-2.5\"^^<" XSD "decimal> .\n" SP "\"3.e1\"^^<" XSD "double> .\n"
     SP "\"4.e-1\"^^<" XSD "double> .\n"},
    {"number before a name", "x.ttl", NULL, E "e:s e:p 1.e:s e:p 2.", SP "\"1\"^^<" XSD "integer> .\n"
     SP "\"2\"^^<" XSD "integer> .\n"},
    {"two stops", "x.ttl", NULL, SP "_:c..\n", NULL},
    {"label and stop", "x.ttl", NULL, SP "_:a.b.\n_:c <a:p> _:d.", SP "_:a.b .\n_:c <a:p> _:d .\n"},
    {"name and stop", "x.ttl", NULL, E "e:s.x e:p e:o.e:t e:p e:u.", NULL},
    {"dots in names", "x.ttl", NULL, E "e:s.x e:p e:o..o .", "<a:s.x> <a:p> <a:o..o> .\n"},
    {"escapes in names", "x.ttl", NULL, E "e:s e:p e:a\\~b\\.c, e:%41 .", SP "<a:a~b.c> .\n" SP "<a:%41> .\n"},
    {"strings", "x.ttl", NULL, SP "'a\"b', \"c'd\", '''e'f''g\nh''', \"\"\"i\"j\"\"k\\\"\"\"\" .",
     SP "\"a\\\"b\" .\n" SP "\"c'd\" .\n" SP "\"e'f''g\\nh\" .\n" SP "\"i\\\"j\\\"\\\"k\\\"\" .\n"},
    {"empty strings", "x.ttl", NULL, SP "\"\", '', \"\"\"\"\"\", '''''' .", SP "\"\" .\n" SP "\"\" .\n" SP "\"\" .\n" SP "\"\" .\n"},
    {"labels inside other tokens", "x.ttl", NULL, E SP "\"_:b1\", <http://h/_:b1>, e:x_:b1, e:_:b1 . # _:b1\n",
     SP "\"_:b1\" .\n" SP "<http://h/_:b1> .\n" SP "<a:x_:b1> .\n" SP "<a:_:b1> .\n"},
    {"escapes", "x.ttl", NULL, SP "\"\\t\\u00e9\\U0001F600\\u000A\" .", SP "\"\t\303\251\360\237\230\200\\n\" .\n"},
    {"tags and types", "x.ttl", NULL, E SP "\"x\"@EN-gb, \"y\"^^e:t, \"z\"^^<" XSD "string> .",
     SP "\"x\"@EN-gb .\n" SP "\"y\"^^<a:t> .\n" SP "\"z\" .\n"},
    {"base given", "x.ttl", "http://h/a/b", "<> <p> <../c#d>, <?q> .",
     "<http://h/a/b> <http://h/a/p> <http://h/c#d> .\n<http://h/a/b> <http://h/a/p> <http://h/a/b?q> .\n"},
    {"base of the text", "x.ttl", "http://h/a/b", "@base <c/> . @prefix e: <d#> . e:s <p> <o> .",
     "<http://h/a/c/d#s> <http://h/a/c/p> <http://h/a/c/o> .\n"},
    {"dot segments", "x.ttl", "http://h/a/b", "<./x/./y> <a:p> <z/..> .", "<http://h/a/x/y> <a:p> <http://h/a/> .\n"},
    {"version as a name", "x.ttl", NULL, "@prefix version: <a:> . version:s version:version \"v\"@version .",
     "<a:s> <a:version> \"v\"@version .\n"},
    {"absolute ones are kept", "x.ttl", "http://h/", SP "<http://h/a/../b> .", SP "<http://h/a/../b> .\n"},
    {"graphs", "x.trig", NULL, "{ " SP "1 } <a:g> { " SP "2 . } GRAPH _:g { " SP "_:g }",
     SP "\"1\"^^<" XSD "integer> .\n" SP "\"2\"^^<" XSD "integer> <a:g> .\n" SP "_:g _:g .\n"},
    {"triples in trig", "x.trig", NULL, SP "<a:o> .", SP "<a:o> .\n"},
};

static void right_texts_give_their_statements(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        const rdf_options options = {.format = RDF_AUTO, .base = right[i].base};
        rdf_result result = rdf_read_text(&folder, right[i].file, right[i].text, &options);
        if (right[i].statements == NULL) {
            assert_int_equal(result.status, QN_BAD_FILE);
        } else if (result.status != QN_OK || strcmp(result.text, right[i].statements) != 0) {
            fail_msg("%s: %s\n%s", right[i].name, result.message, result.text);
        }
        rdf_free(&result);
    }
}

static const struct {
    const char *file, *text, *rule, *place;
    qn_status status;
} wrong[] = {
    {"x.ttl", SP "<a:o>", "turtle-syntax", "line 1, column 17", QN_BAD_FILE},
    {"x.ttl", "\n" SP "\n  <a:o> <a:x> .", "turtle-syntax", "line 3, column 9", QN_BAD_FILE},
    {"x.ttl", "\n" SP "[ .", "turtle-syntax", "line 2, column", QN_BAD_FILE},
    {"x.ttl", SP "\"a\nb\" .", "turtle-syntax", "line 1, column", QN_BAD_FILE},
    {"x.ttl", SP "\"a\\xb\" .", "turtle-syntax", "line 1, column", QN_BAD_FILE},
    {"x.ttl", SP "<a:b{c> .", "turtle-syntax", "line 1, column 18", QN_BAD_FILE},
    {"x.ttl", "\"x\" <a:p> <a:o> .", "turtle-syntax", "line 1, column", QN_BAD_FILE},
    {"x.ttl", SP "1 .\n" SP "\"\\uD800\" .", "utf-8", "line 2, column 13: ", QN_BAD_FILE},
    {"x.ttl", "# \303\251\n#\377\n" SP "1 .", "utf-8", "line 2, column 2", QN_BAD_FILE},
    {"x.ttl", SP "\"\303\251 \303", "utf-8", "line 1, column 16", QN_BAD_FILE},
    {"x.ttl", SP "\"x\"@en- .", "language-tag", "line 1, column 16: ", QN_BAD_FILE},
    {"x.ttl", SP "\"x\"@en--ltr .", "rdf12-direction", "line 1, column 16: ", QN_UNSUPPORTED},
    {"x.ttl", "\r\n<< " SP "<a:o> >> <a:p> <a:o> .", "rdf12-triple-term", "line 2, column 1", QN_UNSUPPORTED},
    {"x.ttl", SP "<a:o> {| <a:q> 1 |} .", "rdf12-triple-term", "line 1, column 19", QN_UNSUPPORTED},
    {"x.ttl", "\n<< <a:s> <a:p> <a:o> ~ <a:r> >> <a:p> 1 .", "rdf12-triple-term", "line 2, column 1: ", QN_UNSUPPORTED},
    {"x.ttl", SP "<a:o> ~ <a:r> .", "rdf12-triple-term", "line 1, column 19: ", QN_UNSUPPORTED},
    {"x.ttl", SP "\n<<( <a:s> <a:p> 1 )>> .", "rdf12-triple-term", "line 2, column 1: ", QN_UNSUPPORTED},
    {"x.trig", "<a:g> { " SP "\n<a:o> {| <a:q> 1 |} }", "rdf12-triple-term", "line 2, column 7: ", QN_UNSUPPORTED},
    {"x.ttl", "# \303\251\n  @version \"1.2\" .", "rdf12-version", "line 2, column 3: ", QN_UNSUPPORTED},
    {"x.trig", SP "1 .\nVERSION \"1.2\"\n", "rdf12-version", "line 2, column 1: ", QN_UNSUPPORTED},
    {"x.ttl", E "version'1.2'", "rdf12-version", "line 2, column 1: ", QN_UNSUPPORTED},
    {"x.ttl", "\357\273\277" SP "1 .", "byte-order-mark", "line 1, column 1", QN_BAD_FILE},
    {"x.ttl", "\n" SP "<o> .", "iri-relative", "line 2, column 13: ", QN_BAD_FILE},
    {"x.ttl", "@base <x> .", "iri-relative", "line 1, column 7: ", QN_BAD_FILE},
    {"x.ttl", "@prefix e: <x> .", "iri-relative", "line 1, column 12: ", QN_BAD_FILE},
    {"x.ttl", SP "1 ;\n e:q 2 .", "prefix", "line 2, column 2: ", QN_BAD_FILE},
    {"x.ttl", SP "\"x\"^^e:t .", "prefix", "line 1, column 18: ", QN_BAD_FILE},
    {"x.ttl", "<a:g> { " SP "1 }", "graph", "line 1, column 7", QN_BAD_FILE},
    {"x.trig", "<a:g> { " SP "1", "turtle-syntax", "line 1, column", QN_BAD_FILE},
};

static void wrong_texts_are_refused_by_rule_and_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char rule[60];
        rdf_result result = rdf_read_text(&folder, wrong[i].file, wrong[i].text, NULL);
        snprintf(rule, sizeof rule, "(rule %s)", wrong[i].rule);
        if (result.status != wrong[i].status || strstr(result.message, rule) == NULL ||
            strstr(result.message, wrong[i].place) == NULL || strstr(result.message, wrong[i].file) == NULL) {
            fail_msg("%s: status %d, %s", wrong[i].text, result.status, result.message);
        }
        assert_null(strchr(result.message, '\n'));
        rdf_free(&result);
    }
}

/* Each is refused for one term, which begins behind the $. */
static const struct {
    const char *file, *marked, *rule;
} misplaced[] = {
    {"x.ttl", "$<rel> <a:p> 1 .", "iri-relative"},
    {"x.ttl", "<a:s> <a:p> 1 .\n\n  $<rel> <a:p> 1 .", "iri-relative"},
    {"x.ttl", SP "1 ;\n  <a:q> 2 , 3 ;\n\n\t$<rel>\n  4 .", "iri-relative"},
    {"x.ttl", SP "1 ;\n  $<rel> [ <a:q> 1 ] .", "iri-relative"},
    {"x.ttl", SP "1 ;\n  $<rel> [] .", "iri-relative"},
    {"x.ttl", SP "1 ;\n  $<rel> ( 1 2 ) .", "iri-relative"},
    {"x.ttl", SP "1 ;\n  $<rel> () .", "iri-relative"},
    {"x.ttl", "[ <a:p> 1 ] <a:q> 2 ; $<rel> 3 .", "iri-relative"},
    {"x.ttl", "[ <a:p> 1 ; <a:q> [ $<rel> 2 ] ] .", "iri-relative"},
    {"x.ttl", SP "[ <a:q> [ <a:r> 1 ] ; <a:t> 1 ] ,\n $<rel> .", "iri-relative"},
    {"x.ttl", SP "( 1 \"x\" <a:o> ( <a:i> ) [ <a:q> 1 ] $<rel>) .", "iri-relative"},
    {"x.ttl", SP "( \"x\"$<rel>\"y\" ) .", "iri-relative"},
    {"x.ttl", "( 1 2 ) $<rel> 1 .", "iri-relative"},
    {"x.ttl", "PREFIX e: <a:>\nBASE <http://h/>\ne:s $f:p 1 .", "prefix"},
    {"x.ttl", E "e:s a e:t ; e:p true , e:o . $f:s e:p 1 .", "prefix"},
    {"x.ttl", E "e:s e:p \"x\"^^$f:t .", "prefix"},
    {"x.ttl", SP "\"\"\"\303\251\n\342\202\254\360\237\230\200\"\"\"$@en- .", "language-tag"},
    {"x.ttl", SP "\"\303\251\342\202\254\360\237\230\200\" , $<rel> .", "iri-relative"},
    {"x.ttl", "<a:\303\251> <a:p> <a:\360\237\230\200>, $<rel> .", "iri-relative"},
    {"x.ttl", SP "1 ;\r\n# \303\251\r\n  <a:q> $<rel> .\r\n", "iri-relative"},
    {"x.ttl", SP "1 ;\r  <a:q> $<rel> .\r", "iri-relative"},
    {"x.ttl", SP "2 ,\n $<a:b\\uD800c> .", "utf-8"},
    {"x.ttl", "@prefix \303\251: <a:b%> .\n" SP "2 , $\303\242:x .", "prefix"},
    {"x.ttl.gz", SP "2 ,\n  \"\303\251\" , $<rel> .", "iri-relative"},
    {"x.trig", SP "1 .\n$<rel> { " SP "1 }", "iri-relative"},
    {"x.trig", "<a:g> { " SP "1 }\n<a:h> {}\nGRAPH $<rel> { " SP "1 . " SP "2 }", "iri-relative"},
    {"x.trig", "<a:g> { " SP "1 . <a:s> <a:p> [ <a:q> <a:o> , $<rel> ] }", "iri-relative"},
};

/* Takes the mark out; line and column of what stood behind it. */
static size_t unmark(const char *marked, char *out, unsigned *line, unsigned *column) {
    size_t size = 0;
    bool is_before = true;
    *line = *column = 1;
    for (const char *at = marked; *at != '\0'; at++) {
        if (*at == '$') {
            is_before = false;
            continue;
        }
        out[size++] = *at;
        if (is_before) {
            const bool is_end = *at == '\n' || (*at == '\r' && at[1] != '\n');
            *line += is_end;
            *column = is_end ? 1 : *column + ((*at & 0xC0) != 0x80);
        }
    }
    return size;
}

static void a_term_that_is_refused_is_told_with_line_and_column(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof misplaced / sizeof misplaced[0]; i++) {
        char text[400], place[60], rule[60];
        unsigned line, column;
        size_t size = unmark(misplaced[i].marked, text, &line, &column);
        const bool is_packed = strstr(misplaced[i].file, ".gz") != NULL;
        uint8_t *packed = is_packed ? rdf_compress(".gz", text, size, &size) : NULL;
        const void *bytes = is_packed ? (const void *)packed : text;
        rdf_result result = rdf_read(rdf_write(&folder, misplaced[i].file, bytes, size), NULL, 0);
        snprintf(place, sizeof place, "line %u, column %u: ", line, column);
        snprintf(rule, sizeof rule, "(rule %s)", misplaced[i].rule);
        if (result.status != QN_BAD_FILE || strstr(result.message, place) == NULL || strstr(result.message, rule) == NULL) {
            fail_msg("%s: %s, not %s", misplaced[i].marked, result.message, place);
        }
        rdf_free(&result);
        free(packed);
    }
}

static void a_nul_is_kept_in_strings_and_refused_elsewhere(void **state) {
    static const char inside[] = SP "\"a\0b\", '''\0''', \"\\u0000\" .", outside[] = SP "1 \0 .";
    (void)state;
    rdf_result result = rdf_read(rdf_write(&folder, "nul.ttl", inside, sizeof inside - 1), NULL, 0);
    static const char wanted[] = SP "\"a\0b\" .\n" SP "\"\0\" .\n" SP "\"\0\" .\n";
    assert_int_equal(result.status, QN_OK);
    assert_int_equal(result.size, sizeof wanted - 1);
    assert_memory_equal(result.text, wanted, result.size);
    rdf_free(&result);
    result = rdf_read(rdf_write(&folder, "nul.ttl", outside, sizeof outside - 1), NULL, 0);
    assert_int_equal(result.status, QN_BAD_FILE);
    assert_non_null(strstr(result.message, "(rule nul)"));
    rdf_free(&result);
}

/* libserd names nodes b1, b2, … itself. */
static void labels_of_the_text_are_kept_and_never_meet_generated_ones(void **state) {
    (void)state;
    rdf_result result = rdf_read_text(&folder, "x.ttl", "_:B1 <a:p> _:b1, [], [] .\n_:b2 <a:p> _:x .", NULL);
    assert_string_equal(result.text, "_:B1 <a:p> _:b1 .\n_:B1 <a:p> _:genid1 .\n_:B1 <a:p> _:genid2 .\n_:b2 <a:p> _:x .\n");
    rdf_free(&result);
    result = rdf_read_text(&folder, "x.ttl", "[] <a:p> _:genid1, _:genid1_1, _:genid2, _:genid22 .", NULL);
    assert_int_equal(strncmp(result.text, "_:genid2_1 <a:p> _:genid1 .\n_:genid2_1 <a:p> _:genid1_1 .\n", 55), 0);
    rdf_free(&result);
}

static void all_prefixes_of_generated_labels_are_tried(void **state) {
    char prefix[TURTLE_LABEL_START];
    (void)state;
    assert_int_equal(turtle_free_prefix(0), 0);
    assert_int_equal(turtle_free_prefix(7), 3);
    assert_int_equal(turtle_free_prefix(UINT64_MAX), 64);
    turtle_generated_prefix(0, prefix);
    assert_string_equal(prefix, "genid");
    turtle_generated_prefix(63, prefix);
    assert_string_equal(prefix, "genid63_");
}

static rdf_result read_from_pipe(const char *text) {
    const rdf_options options = {.format = RDF_TURTLE};
    int ends[2];
    const int kept = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    const rdf_result result = rdf_read("-", &options, 0);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(ends[0]);
    return result;
}

static void a_pipe_is_read_once_and_a_clash_in_it_is_refused(void **state) {
    (void)state;
    rdf_result result = read_from_pipe("_:b1 <a:p> [] .");
    assert_int_equal(result.status, QN_OK);
    assert_string_equal(result.text, "_:b1 <a:p> _:genid1 .\n");
    rdf_free(&result);
    result = read_from_pipe("[] <a:p> 1 .\n_:genid1 <a:p> 2 .");
    assert_int_equal(result.status, QN_BAD_FILE);
    assert_non_null(strstr(result.message, "(rule label-clash)"));
    rdf_free(&result);
    result = read_from_pipe("_:genid1 <a:p> 2 .\n[] <a:p> 1 .\n");
    assert_int_equal(result.status, QN_OK);
    assert_non_null(strstr(result.text, "_:genid1_1 <a:p> \"1\""));
    rdf_free(&result);
}

static void a_collection_becomes_first_and_rest(void **state) {
    (void)state;
    rdf_result result = rdf_read_text(&folder, "x.ttl", SP "(<a:x> ()) .", NULL);
    assert_int_equal(result.status, QN_OK);
    assert_int_equal(result.n_statements, 5);
    assert_non_null(strstr(result.text, "<" RDF "first> <a:x> .\n"));
    assert_non_null(strstr(result.text, "<" RDF "first> <" RDF "nil> .\n"));
    assert_non_null(strstr(result.text, "<" RDF "rest> <" RDF "nil> .\n"));
    rdf_free(&result);
}

static void each_statement_knows_its_line(void **state) {
    (void)state;
    rdf_result result = rdf_read_text(&folder, "x.ttl", "# 1\r\n# 2\r# 3\n" SP "1 ;\n<a:q>\n'''\n''' ,\n2 .\n\n", NULL);
    assert_int_equal(result.status, QN_OK);
    assert_int_equal(result.n_statements, 3);
    assert_int_equal(result.last_line, 8);
    rdf_free(&result);
}

static void lenient_reading_leaves_out_statements_with_a_wrong_term(void **state) {
    static const char text[] = SP "1 .\n" SP "\"x\"@en- .\n" SP "<o> .\n" SP "2 .\n";
    (void)state;
    rdf_result result = rdf_read(rdf_write(&folder, "some.ttl", text, sizeof text - 1), NULL, 1);
    assert_int_equal(result.status, QN_OK);
    assert_int_equal(result.n_statements, 2);
    assert_string_equal(result.rejects, "2: language-tag \n3: iri-relative \n");
    rdf_free(&result);
}

/* `before`, `n` times `unit`, `after`. */
static rdf_result read_long(const char *before, const char *unit, size_t n, const char *after) {
    const size_t unit_size = strlen(unit), size = strlen(before) + n * unit_size + strlen(after);
    char *text = malloc(size + 1);
    assert_non_null(text);
    size_t at = (size_t)snprintf(text, size + 1, "%s", before);
    for (size_t i = 0; i < n; i++, at += unit_size) {
        memcpy(text + at, unit, unit_size);
    }
    snprintf(text + at, size + 1 - at, "%s", after);
    const rdf_result result = rdf_read(rdf_write(&folder, "long.ttl", text, size), NULL, 0);
    free(text);
    return result;
}

static void what_is_too_long_or_too_deep_is_refused(void **state) {
    static const struct {
        const char *before, *unit;
        size_t n;
        const char *after, *rule; /* null: accepted */
    } rows[] = {
        {SP "\"", "x", 65533, "\" .", NULL},
        {SP "\"", "x", 65534, "\" .", "term-too-long"},
        {SP "\"", "x", (size_t)17 << 20, "\" .", "term-too-long"},
        {"# ", "x", (size_t)17 << 20, "\n" SP "1 .", NULL},
        {SP, "[<a:p> ", 1000, "1", "turtle-syntax"},
        {SP, "[<a:p> ", 1000000, "1", "nesting"},
        {SP, "(", 1000000, "", "nesting"},
        {SP "(", "1 ", 100000, ") .", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rdf_result result = read_long(rows[i].before, rows[i].unit, rows[i].n, rows[i].after);
        if (rows[i].rule == NULL) {
            assert_int_equal(result.status, QN_OK);
        } else {
            assert_true(result.status < 0);
            assert_non_null(strstr(result.message, rows[i].rule));
        }
        rdf_free(&result);
    }
}

/* Tokens at every distance from the end of the block that is read at once. */
static void tokens_over_the_edge_of_a_block_are_read(void **state) {
    (void)state;
    for (size_t before = TURTLE_FEED_SIZE - 80; before < TURTLE_FEED_SIZE + 4; before++) {
        rdf_result result = read_long("#", "x", before - 2, "\n_:b1 <a:p> \"caf\303\251\"@fr.\n<a:s> <a:p> 1.5e-3, _:c.d.");
        assert_int_equal(result.status, QN_OK);
        assert_string_equal(result.text, "_:b1 <a:p> \"caf\303\251\"@fr .\n" SP "\"1.5e-3\"^^<" XSD "double> .\n" SP "_:c.d .\n");
        rdf_free(&result);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_texts_give_their_statements),
        cmocka_unit_test(wrong_texts_are_refused_by_rule_and_place),
        cmocka_unit_test(a_term_that_is_refused_is_told_with_line_and_column),
        cmocka_unit_test(a_nul_is_kept_in_strings_and_refused_elsewhere),
        cmocka_unit_test(labels_of_the_text_are_kept_and_never_meet_generated_ones),
        cmocka_unit_test(all_prefixes_of_generated_labels_are_tried),
        cmocka_unit_test(a_pipe_is_read_once_and_a_clash_in_it_is_refused),
        cmocka_unit_test(a_collection_becomes_first_and_rest),
        cmocka_unit_test(each_statement_knows_its_line),
        cmocka_unit_test(lenient_reading_leaves_out_statements_with_a_wrong_term),
        cmocka_unit_test(what_is_too_long_or_too_deep_is_refused),
        cmocka_unit_test(tokens_over_the_edge_of_a_block_are_read),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
