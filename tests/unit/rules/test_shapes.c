/* test_shapes.c — each constraint, met and not met; targets; what a shapes file is refused for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "rules_fixture.h"

static char folder[CORPUS_PATH_SIZE];

static int make_folder(void **state) {
    (void)state;
    test_make_folder(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(folder);
    return 0;
}

/* Checks `data` as the whole graph. */
static void validate(const shapes *all, const char *data, shape_policy policy, bool is_whole, shape_report *out) {
    fact_table table;
    fixture_table(data, FACT_TABLE_DEFAULT, &table);
    const fact_source source = fact_table_source(&table);
    fact *facts = fixture_facts(&table);
    const shape_check check = {.facts = &source, .candidates = facts, .n_candidates = table.n_facts, .is_whole = is_whole, .policy = policy};
    error_context err = {.code = QN_OK};
    if (shapes_validate(all, &check, out, &err) < 0) {
        print_error("%s\n", error_text(&err));
        fail();
    }
    free(facts);
    fact_table_deinit(&table);
}

/* Results of violations with this component, and whether there is any other violation. */
static uint64_t count(const shape_report *report, const char *component) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < report->n_results; i++) {
        n += strcmp(report->results[i].component, component) == 0 ? 1 : 0;
    }
    return n;
}

/* One row a constraint: the constraint on ex:p of ex:T, objects that meet it, objects that do not, the component. Objects are of ex:x. */
static void each_constraint_passes_what_it_allows_and_finds_the_rest(void **state) {
    static const struct {
        const char *constraint, *good, *bad, *component;
        uint64_t n_bad;
    } rows[] = {
        {"sh:minCount 2", "1, 2", "1", "MinCount", 1},
        {"sh:maxCount 1", "1", "1, 2", "MaxCount", 1},
        {"sh:datatype xsd:integer", "1, -5", "1.5, \"1\", ex:o, \"x\"^^xsd:integer", "Datatype", 4},
        {"sh:datatype xsd:decimal", "1.5", "1, \"a\"^^xsd:decimal", "Datatype", 2},
        {"sh:datatype xsd:boolean", "true", "\"yes\"^^xsd:boolean, \"true\"", "Datatype", 2},
        {"sh:datatype xsd:string", "\"x\"", "\"x\"@en, 1", "Datatype", 2},
        {"sh:datatype xsd:dateTime", "\"2026-11-30T12:00:00Z\"^^xsd:dateTime", "\"today\"^^xsd:dateTime, \"2026-11-30\"^^xsd:date", "Datatype", 2},
        {"sh:datatype ex:years", "\"whatever\"^^ex:years", "\"whatever\"", "Datatype", 1},
        {"sh:datatype <http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>", "\"x\"@en", "\"x\"", "Datatype", 1},
        {"sh:nodeKind sh:IRI", "ex:o", "_:b, \"x\"", "NodeKind", 2},
        {"sh:nodeKind sh:BlankNode", "_:b", "ex:o, \"x\"", "NodeKind", 2},
        {"sh:nodeKind sh:Literal", "\"x\"", "ex:o, _:b", "NodeKind", 2},
        {"sh:nodeKind sh:BlankNodeOrIRI", "_:b, ex:o", "\"x\"", "NodeKind", 1},
        {"sh:nodeKind sh:BlankNodeOrLiteral", "_:b, \"x\"", "ex:o", "NodeKind", 1},
        {"sh:nodeKind sh:IRIOrLiteral", "ex:o, \"x\"", "_:b", "NodeKind", 1},
        {"sh:class ex:C", "ex:c1, ex:c2", "ex:o, \"x\", ex:super", "Class", 3},
        {"sh:in ( 1 \"two\" ex:three )", "1, \"two\", ex:three", "2, \"two\"@en, 1.0", "In", 3},
        {"sh:in ()", "", "1", "In", 1},
        {"sh:hasValue ex:v", "ex:v, ex:w", "ex:w", "HasValue", 1},
        {"sh:minInclusive 5", "5, 5.0, 6", "4.9999999999999999999999, \"9\", ex:o", "MinInclusive", 3},
        {"sh:maxInclusive 5", "5, -7", "5.00000000000000000000001, \"NaN\"^^xsd:double", "MaxInclusive", 2},
        {"sh:minExclusive 5", "5.1", "5, 4", "MinExclusive", 2},
        {"sh:maxExclusive 9007199254740993", "9007199254740992", "9007199254740993, 1e16", "MaxExclusive", 2},
        {"sh:minLength 3", "\"abc\", \"\xC3\xA9\xC3\xA9\xC3\xA9\", ex:o", "\"\xC3\xA9\xC3\xA9\", _:b", "MinLength", 2},
        {"sh:maxLength 2", "\"ab\", \"\xC3\xA9\xC3\xA9\", \"\\\\\\\\\"", "\"abc\", ex:o", "MaxLength", 2},
        {"sh:pattern \"^[A-Z]{2}-\\\\d+$\"", "\"AB-1\"", "\"ab-1\", \"AB-\", _:b", "Pattern", 3},
        {"sh:pattern \"^ab$\" ; sh:flags \"i\"", "\"AB\"", "\"abc\"", "Pattern", 1},
        {"sh:pattern \"^http://e/\"", "ex:o", "<urn:x>", "Pattern", 1}};
    static const char classes[] = "ex:c1 a ex:C . ex:c2 a ex:Sub . ex:Sub rdfs:subClassOf ex:Mid . ex:Mid rdfs:subClassOf ex:C, ex:Sub . ex:super a ex:Above . "
                                  "ex:C rdfs:subClassOf ex:Above .";
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[600];
        print_message("%s\n", rows[i].constraint);
        snprintf(text, sizeof text, "ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; %s ] .", rows[i].constraint);
        shapes *all = fixture_shapes(folder, text);
        for (int is_bad = 0; is_bad <= 1; is_bad++) {
            const char *objects = is_bad ? rows[i].bad : rows[i].good;
            shape_report report;
            snprintf(text, sizeof text, "ex:x a ex:T %s%s . %s", objects[0] != '\0' ? "; ex:p " : "", objects, classes);
            validate(all, text, SHAPE_POLICY_OPEN, true, &report);
            assert_int_equal(report.counts[SHAPE_VIOLATION], is_bad ? rows[i].n_bad : 0);
            assert_int_equal(count(&report, rows[i].component), is_bad ? rows[i].n_bad : 0);
            assert_int_equal(shape_report_conforms(&report), !is_bad);
            shape_report_free(&report);
        }
        shapes_free(all);
    }
}

static void a_closed_shape_finds_what_it_does_not_name(void **state) {
    shape_report report;
    (void)state;
    shapes *all = fixture_shapes(folder, "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . ex:S sh:targetClass ex:T ; sh:closed true ; "
                                         "sh:ignoredProperties ( rdf:type ) ; sh:property [ sh:path ex:p ] .");
    validate(all, "ex:x a ex:T ; ex:p 1 .", SHAPE_POLICY_OPEN, true, &report);
    assert_true(shape_report_conforms(&report));
    shape_report_free(&report);
    validate(all, "ex:x a ex:T ; ex:p 1 ; ex:q 2, 3 .", SHAPE_POLICY_OPEN, true, &report);
    assert_int_equal(count(&report, "Closed"), 2);
    assert_true(texts_equal(report.results[0].path, text_of("<http://e/q>")));
    assert_true(texts_equal(report.results[0].value, text_of("\"2\"^^<http://www.w3.org/2001/XMLSchema#integer>")));
    shape_report_free(&report);
    shapes_free(all);
}

/* Each kind of target: data in which ex:x is one, and data in which it is not. ex:p is wanted and missing. */
static void each_target_finds_its_nodes(void **state) {
    static const struct {
        const char *target, *is_target, *is_none;
    } rows[] = {
        {"sh:targetClass ex:T", "ex:x a ex:T .", "ex:x a ex:U ."},
        {"sh:targetClass ex:T", "ex:x a ex:Sub . ex:Sub rdfs:subClassOf ex:T .", "ex:x a ex:Sub . ex:T rdfs:subClassOf ex:Sub ."},
        {"sh:targetNode ex:x", "ex:x ex:q 1 .", "ex:y ex:q 1 ."},
        {"sh:targetSubjectsOf ex:q", "ex:x ex:q 1 .", "ex:x ex:r 1 ."},
        {"sh:targetObjectsOf ex:q", "ex:y ex:q ex:x .", "ex:x ex:q ex:x2 . ex:x2 ex:p 1 ."},
        {"sh:targetObjectsOf ex:q", "ex:y ex:q \"literal\" .", "ex:y ex:r \"literal\" ."},
        {"a sh:NodeShape, rdfs:Class", "ex:x a ex:S .", "ex:x a ex:T ."}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[300];
        shape_report report;
        print_message("%s\n", rows[i].target);
        snprintf(text, sizeof text, "ex:S %s ; sh:property [ sh:path ex:p ; sh:minCount 1 ] .", rows[i].target);
        shapes *all = fixture_shapes(folder, text);
        validate(all, rows[i].is_target, SHAPE_POLICY_OPEN, false, &report);
        assert_int_equal(report.counts[SHAPE_VIOLATION], 1);
        assert_int_equal(report.n_checked, 1);
        shape_report_free(&report);
        validate(all, rows[i].is_none, SHAPE_POLICY_OPEN, false, &report);
        assert_int_equal(report.counts[SHAPE_VIOLATION], 0);
        shape_report_free(&report);
        shapes_free(all);
    }
}

static void a_node_that_is_named_is_missed_only_in_the_whole_graph(void **state) {
    shape_report report;
    (void)state;
    shapes *all = fixture_shapes(folder, "ex:S sh:targetNode ex:x ; sh:property [ sh:path ex:p ; sh:minCount 1 ] .");
    for (int is_whole = 0; is_whole <= 1; is_whole++) {
        validate(all, "ex:y ex:p 1 .", SHAPE_POLICY_OPEN, is_whole, &report);
        assert_int_equal(report.counts[SHAPE_VIOLATION], is_whole);
        shape_report_free(&report);
    }
    shapes_free(all);
}

static void a_shape_constrains_the_node_itself(void **state) {
    shape_report report;
    (void)state;
    shapes *all = fixture_shapes(folder, "ex:S sh:targetSubjectsOf ex:p ; sh:nodeKind sh:IRI ; sh:pattern \"^http://e/[a-z]$\" ; sh:class ex:C .");
    validate(all, "ex:x ex:p 1 ; a ex:C . _:b ex:p 1 . ex:xx ex:p 1 ; a ex:C .", SHAPE_POLICY_OPEN, true, &report);
    assert_int_equal(count(&report, "NodeKind"), 1);
    assert_int_equal(count(&report, "Pattern"), 2);
    assert_int_equal(count(&report, "Class"), 1);
    assert_int_equal(report.results[0].path.size, 0);
    shape_report_free(&report);
    shapes_free(all);
}

static void a_property_with_targets_stands_alone(void **state) {
    shape_report report;
    (void)state;
    shapes *all = fixture_shapes(folder, "ex:P a sh:PropertyShape ; sh:targetClass ex:T ; sh:path ex:p ; sh:minCount 1 .");
    validate(all, "ex:x a ex:T .", SHAPE_POLICY_OPEN, true, &report);
    assert_int_equal(count(&report, "MinCount"), 1);
    assert_true(texts_equal(report.results[0].shape, text_of("<http://e/P>")));
    shape_report_free(&report);
    shapes_free(all);
}

static void only_violations_block(void **state) {
    static const struct {
        const char *word;
        shape_severity severity;
    } rows[] = {{"", SHAPE_VIOLATION}, {"sh:severity sh:Violation ;", SHAPE_VIOLATION}, {"sh:severity sh:Warning ;", SHAPE_WARNING}, {"sh:severity sh:Info ;", SHAPE_INFO}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[300];
        shape_report report;
        snprintf(text, sizeof text, "ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; %s sh:minCount 1 ; sh:message \"eins\"@de, \"one, please\" ] .", rows[i].word);
        shapes *all = fixture_shapes(folder, text);
        validate(all, "ex:x a ex:T .", SHAPE_POLICY_OPEN, true, &report);
        assert_int_equal(report.n_results, 1);
        assert_int_equal(report.results[0].severity, rows[i].severity);
        assert_true(texts_equal(report.results[0].message, text_of("one, please")));
        assert_int_equal(shape_report_conforms(&report), rows[i].severity != SHAPE_VIOLATION);
        shape_report_free(&report);
        shapes_free(all);
    }
}

static void what_is_deactivated_is_not_checked(void **state) {
    static const char *const texts[] = {"ex:S sh:targetClass ex:T ; sh:deactivated true ; sh:property [ sh:path ex:p ; sh:minCount 1 ] .",
                                        "ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:minCount 1 ; sh:deactivated true ] ."};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        shape_report report;
        shapes *all = fixture_shapes(folder, texts[i]);
        validate(all, "ex:x a ex:T .", SHAPE_POLICY_OPEN, true, &report);
        assert_true(shape_report_conforms(&report));
        shape_report_free(&report);
        shapes_free(all);
    }
}

static void a_predicate_without_a_shape_is_told_or_refused(void **state) {
    shape_report report;
    (void)state;
    shapes *all = fixture_shapes(folder, "ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:class ex:V ] .");
    static const char data[] = "ex:x a ex:T ; ex:p ex:v ; ex:q 1, 2 . ex:v a ex:V . ex:y a ex:W .";
    validate(all, data, SHAPE_POLICY_OPEN, true, &report);
    assert_int_equal(report.counts[SHAPE_INFO], 2); /* ex:q once, and the class ex:W */
    assert_true(shape_report_conforms(&report));
    shape_report_free(&report);
    validate(all, data, SHAPE_POLICY_CLOSED, true, &report);
    assert_int_equal(report.counts[SHAPE_VIOLATION], 3); /* ex:q twice */
    assert_int_equal(count(&report, "UnknownPredicate"), 3);
    shape_report_free(&report);
    shapes_free(all);
}

static void what_would_constrain_and_is_not_offered_is_refused_by_name(void **state) {
    static const struct {
        const char *shapes, *words;
    } rows[] = {
        {"ex:S sh:targetClass ex:T ; sh:or ( [ sh:path ex:p ; sh:minCount 1 ] ) .", "sh:or is not offered"},
        {"ex:S sh:targetClass ex:T ; sh:not [ sh:class ex:C ] .", "sh:not is not offered"},
        {"ex:S sh:targetClass ex:T ; sh:sparql [ sh:select \"x\" ] .", "is not offered"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:node ex:S ] .", "sh:node is not offered"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:uniqueLang true ] .", "sh:uniqueLang is not offered"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:qualifiedValueShape [ sh:class ex:C ] ; sh:qualifiedMinCount 1 ] .", "is not offered"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ( ex:p ex:q ) ; sh:minCount 1 ] .", "several steps"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path [ sh:inversePath ex:p ] ; sh:minCount 1 ] .", "sh:inversePath is not offered"},
        {"ex:S sh:targetClass ex:T ; <http://datashapes.org/dash#uniqueValueForClass> ex:C .", "dash#uniqueValueForClass> is not offered"},
        {"ex:S a sh:SPARQLTargetType .", "sh:SPARQLTargetType is not offered"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:property [ sh:path ex:q ; sh:minCount 1 ] ] .", "sh:property on a property"},
        {"ex:S sh:targetClass ex:T ; sh:minCount 1 .", "sh:minCount on a shape without sh:path"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:closed true ] .", "sh:closed on a property"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:minCount 1 ] .", "sh:minCount on a shape without sh:path"},
        {"ex:S sh:targetClass ex:T ; sh:property ex:Nothing .", "without sh:path"},
        {"ex:S sh:targetClass ex:T . ex:P sh:path ex:p ; sh:minCount 1 .", "nothing would ever check <http://e/P>"},
        {"ex:S sh:targetClass ex:T . ex:N a sh:NodeShape ; sh:property [ sh:path ex:p ; sh:minCount 1 ] .", "nothing would ever check"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:minCount 1, 2 ] .", "a second sh:minCount"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:minCount 2 ; sh:maxCount 1 ] .", "above sh:maxCount"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:minCount -1 ] .", "no count"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:minLength 3 ; sh:maxLength 2 ] .", "sh:minLength is above"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:minInclusive \"2026-01-01\"^^xsd:date ] .", "only numbers are bounds"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:datatype \"integer\" ] .", "a datatype is an IRI"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:nodeKind ex:IRI ] .", "no kind of node"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:in ex:list ] .", "no list"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:in _:l ] . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
         "_:l rdf:first 1 ; rdf:rest _:l .", "no list"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:pattern \"(a)\\\\1\" ] .", "refers back"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:pattern \"a\" ; sh:flags \"x\" ] .", "flags"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:flags \"i\" ] .", "sh:flags without sh:pattern"},
        {"ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:severity ex:Bad ] .", "no severity"},
        {"ex:S sh:targetClass ex:T ; sh:ignoredProperties ( ex:p ) .", "without sh:closed"},
        {"ex:S sh:targetClass \"T\" .", "this target is an IRI"}, {"ex:a ex:b ex:c .", "no shape with a target"}, {"", "no shape with a target"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        shapes *all;
        error_context err = {.code = QN_OK};
        print_message("%s\n", rows[i].shapes);
        assert_false(fixture_try_shapes(folder, rows[i].shapes, &all, &err));
        print_message("    %s\n", error_text(&err));
        assert_int_equal(err.code, QN_BAD_INPUT);
        assert_non_null(strstr(error_text(&err), rows[i].words));
        assert_non_null(strstr(error_text(&err), "shapes.ttl"));
    }
}

static void description_is_no_constraint(void **state) {
    (void)state;
    shapes *all = fixture_shapes(folder, "ex:G a sh:PropertyGroup ; sh:order 1 ; rdfs:label \"g\" . ex:S sh:targetClass ex:T ; rdfs:comment \"c\" ; sh:name \"n\" ; "
                                         "sh:property [ sh:path ex:p ; sh:name \"n\" ; sh:description \"d\" ; sh:group ex:G ; sh:order 2 ; sh:defaultValue 1 ] .");
    uint32_t n_shapes, n_properties;
    shapes_count(all, &n_shapes, &n_properties);
    assert_int_equal(n_shapes, 1);
    assert_int_equal(n_properties, 1);
    shapes_free(all);
}

static void text_that_is_no_turtle_is_refused_with_its_line(void **state) {
    shapes *all;
    error_context err = {.code = QN_OK};
    (void)state;
    assert_false(fixture_try_shapes(folder, "\nex:S sh:targetClass [ .", &all, &err));
    assert_int_equal(err.code, QN_BAD_FILE);
    assert_non_null(strstr(error_text(&err), "line "));
}

/* Lists of one shape that grow in turns. */
static void thousands_of_classes_and_values_are_read(void **state) {
    static char text[3000 * 64];
    size_t at = (size_t)snprintf(text, sizeof text, "ex:S sh:targetClass ex:T ; sh:property ex:P . ex:P sh:path ex:p .\n");
    (void)state;
    for (int i = 0; i < 3000; i++) {
        at += (size_t)snprintf(text + at, 64, "ex:P sh:class ex:c%d ; sh:hasValue ex:v%d .\n", i, i);
    }
    shapes *all = fixture_shapes(folder, text);
    shapes_free(all);
}

static void a_report_is_cut_and_counts_on(void **state) {
    static char data[(SHAPES_MAX_RESULTS + 10) * 24];
    size_t at = (size_t)snprintf(data, sizeof data, "ex:x a ex:T ; ex:p 0");
    fact_table table;
    shape_report report;
    (void)state;
    for (uint32_t i = 1; i < SHAPES_MAX_RESULTS + 6; i++) {
        at += (size_t)snprintf(data + at, 24, " , %u", i);
    }
    snprintf(data + at, 24, " .");
    shapes *all = fixture_shapes(folder, "ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:datatype xsd:string ] .");
    fixture_table(data, FACT_TABLE_MOST, &table);
    const fact_source source = fact_table_source(&table);
    fact *facts = fixture_facts(&table);
    const shape_check check = {.facts = &source, .candidates = facts, .n_candidates = table.n_facts};
    assert_int_equal(shapes_validate(all, &check, &report, NULL), QN_OK);
    assert_int_equal(report.n_results, SHAPES_MAX_RESULTS);
    assert_int_equal(report.counts[SHAPE_VIOLATION], SHAPES_MAX_RESULTS + 6);
    shape_report_free(&report);
    free(facts);
    fact_table_deinit(&table);
    shapes_free(all);
}

static qn_status break_down(void *ctx, const fmt_str pattern[FACT_PLACES], fact_take_fn *take, void *take_ctx, error_context *err) {
    (void)ctx;
    (void)pattern;
    (void)take;
    (void)take_ctx;
    return FAIL(err, QN_IO, "the volume is gone");
}

static void a_source_that_fails_ends_the_check(void **state) {
    const fact_source source = {break_down, NULL};
    const fact one = {{{"<http://e/x>", 12}, {"<http://e/p>", 12}, {"<http://e/y>", 12}}};
    const shape_check check = {.facts = &source, .candidates = &one, .n_candidates = 1};
    error_context err = {.code = QN_OK};
    shape_report report;
    (void)state;
    shapes *all = fixture_shapes(folder, "ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:minCount 1 ] .");
    assert_int_equal(shapes_validate(all, &check, &report, &err), QN_IO);
    assert_string_equal(error_text(&err), "the volume is gone");
    shape_report_free(&report);
    shapes_free(all);
}

static void scope_and_candidates_count_together(void **state) {
    fact_table scope, candidates;
    shape_report report;
    (void)state;
    shapes *all = fixture_shapes(folder, "ex:S sh:targetClass ex:T ; sh:property [ sh:path ex:p ; sh:maxCount 1 ] .");
    fixture_table("ex:x a ex:T ; ex:p 1 .", FACT_TABLE_DEFAULT, &scope);
    fixture_table("ex:x ex:p 2, 1 .", FACT_TABLE_DEFAULT, &candidates);
    const fact_source parts[] = {fact_table_source(&scope), fact_table_source(&candidates)};
    const fact_sources joined = {parts, 2};
    const fact_source source = fact_sources_join(&joined);
    fact *facts = fixture_facts(&candidates);
    const shape_check check = {.facts = &source, .candidates = facts, .n_candidates = candidates.n_facts};
    assert_int_equal(shapes_validate(all, &check, &report, NULL), QN_OK);
    assert_int_equal(count(&report, "MaxCount"), 1); /* 1 of both sides is one value */
    assert_non_null(strstr(report.results[0].message.data, "2 values, at most 1"));
    shape_report_free(&report);
    free(facts);
    fact_table_deinit(&candidates);
    fact_table_deinit(&scope);
    shapes_free(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_constraint_passes_what_it_allows_and_finds_the_rest),
        cmocka_unit_test(a_closed_shape_finds_what_it_does_not_name),
        cmocka_unit_test(each_target_finds_its_nodes),
        cmocka_unit_test(a_node_that_is_named_is_missed_only_in_the_whole_graph),
        cmocka_unit_test(a_shape_constrains_the_node_itself),
        cmocka_unit_test(a_property_with_targets_stands_alone),
        cmocka_unit_test(only_violations_block),
        cmocka_unit_test(what_is_deactivated_is_not_checked),
        cmocka_unit_test(a_predicate_without_a_shape_is_told_or_refused),
        cmocka_unit_test(what_would_constrain_and_is_not_offered_is_refused_by_name),
        cmocka_unit_test(description_is_no_constraint),
        cmocka_unit_test(text_that_is_no_turtle_is_refused_with_its_line),
        cmocka_unit_test(thousands_of_classes_and_values_are_read),
        cmocka_unit_test(a_report_is_cut_and_counts_on),
        cmocka_unit_test(a_source_that_fails_ends_the_check),
        cmocka_unit_test(scope_and_candidates_count_together),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
