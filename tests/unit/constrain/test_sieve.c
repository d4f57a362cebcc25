/* test_sieve.c — sieves: what is read, what cannot be built, how three terms are walked, margins, and the beam against every candidate. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/choose.h"
#include "constrain/sieve.h"
#include "corpus.h"
#include "decode/session.h"
#include "text_fixture.h"
#include "tiny_model.h"

#define SLOTS "[subject]\nterm = <e:s>\nlabel = S\n[predicate]\nterm = <e:p>\nlabel = P\n[object]\nterm = <e:o>\nlabel = O\n"

static qn_status parse(const char *text, sieve_spec *spec, error_context *err) {
    return sieve_spec_parse((fmt_str){text, strlen(text)}, "s.ini", spec, err);
}

static void every_key_of_a_spec_arrives(void **state) {
    (void)state;
    sieve_spec spec;
    error_context err = {0};
    const char *text = "# x\r\n[sieve]\nvolume = v ; w.q42\nprefix = e=http://e/#\nseparator = \"\\n\\\"\"\ngraph = <e:g>\nbeam = 16\nreview = 1.25\n"
                       "memory=2\n; y\n[subject]\n term = <e:a>  \nterm = \"b ; c\"@en\nlabel = \" B\"\npattern = ?s a ?o\n";
    if (parse(text, &spec, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    assert_string_equal(spec.volume, "v ; w.q42");
    assert_string_equal(spec.prefixes[0], "e=http://e/#");
    assert_string_equal(spec.separator, "\n\"");
    assert_string_equal(spec.graph, "<e:g>");
    assert_int_equal(spec.beam, 16);
    assert_true(spec.review_below == 1.25);
    assert_int_equal(spec.memory_mib, 2);
    assert_int_equal(spec.slots[SIEVE_SUBJECT].n_terms, 2);
    assert_string_equal(spec.slots[SIEVE_SUBJECT].terms[0].text, "<e:a>");
    assert_null(spec.slots[SIEVE_SUBJECT].terms[0].label);
    assert_string_equal(spec.slots[SIEVE_SUBJECT].terms[1].label, " B");
    assert_string_equal(spec.slots[SIEVE_SUBJECT].patterns[0], "?s a ?o");
    sieve_spec_free(&spec);
}

static const struct {
    const char *text, *words;
} bad_specs[] = {
    {"term = x", "line 1, column 1: before the first key stands a section"},
    {"[sieve]\nvolume", "line 2, column 1: a line is [section] or key = value"},
    {"[sieve]\nvolume =", "line 2, column 1: the value is missing"},
    {"[sieve]\n colour = red", "line 2, column 2: [sieve] has volume"},
    {"[slots]", "line 1, column 1: sections are"},
    {"[subject]\nlabel = a", "line 2, column 1: a label stands behind its term"},
    {"[subject]\nterm = <e:a>\nlabel = a\nlabel = b", "line 4, column 1: a label stands behind its term"},
    {"[subject]\nterm = <e:a>\n[object]\nlabel = b", "line 4, column 1: a label stands behind its term"},
    {"[subject]\nweight = 1", "a slot has term, label and pattern"},
    {"[sieve]\nbeam = 17", "line 2, column 8: beam is 17; the limit is 16"},
    {"[sieve]\nbeam = 0", "beam is a whole number from 1 to 16"},
    {"[sieve]\nbeam = 4x", "beam is a whole number"},
    {"[sieve]\nmemory = 999999999", "memory is 999999999; the limit is 4096"},
    {"[sieve]\nreview = -1", "a margin is a number from 0"},
    {"[sieve]\nreview = 1.2.3", "a margin is a number from 0"},
    {"[sieve]\nseparator = \"x", "ends with one"},
    {"[sieve]\nseparator = \"\\q\"", "known escapes are"},
    {"[subject]\nterm = \xff", "line 2, column 8: the file is text in UTF-8"},
};

static void a_spec_that_is_wrong_is_refused_with_line_and_column(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_specs / sizeof bad_specs[0]; i++) {
        sieve_spec spec;
        error_context err = {0};
        const qn_status status = parse(bad_specs[i].text, &spec, &err);
        if (status >= 0 || strstr(error_text(&err), bad_specs[i].words) == NULL || strncmp(error_text(&err), "s.ini: ", 7) != 0) {
            fail_msg("%s: %d %s", bad_specs[i].text, status, error_text(&err));
        }
    }
}

/* ------------------------------------------------------------------------------------------------------------- building */

typedef struct rig {
    small_vocabulary words;
    tokenizer *tok;
    uint32_t stop, n;
    float row[TEXT_MAX_TOKENS];
} rig;

static void open_rig(rig *r) {
    small_byte_level(&r->words);
    small_merge(&r->words, "~", "~", "~~"); /* one there must be; no text here has it */
    r->stop = r->words.facts.eos;
    r->tok = small_create(&r->words);
    r->n = tokenizer_size(r->tok);
}

static qn_status create(const rig *r, const char *text, bool has_stop, sieve **out, error_context *err) {
    sieve_spec spec;
    const constraint_target target = {.tok = r->tok, .stops = &r->stop, .n_stops = has_stop};
    if (parse(text, &spec, err) < 0) {
        fail_msg("%s", error_text(err));
    }
    const qn_status status = sieve_create(&spec, &target, out, err);
    sieve_spec_free(&spec);
    return status;
}

static const struct {
    const char *text, *words;
    qn_status status;
} unbuildable[] = {
    {"[subject]\nterm = <e:s>\n[object]\nterm = <e:o>\n", "[predicate] has no candidates", QN_BAD_INPUT},
    {SLOTS "term = <e:o>\nlabel = O\n", "<e:o> and <e:o> are both printed as \"O\"", QN_BAD_INPUT},
    {SLOTS "term = <e:x>\nlabel = O\n", "are both printed as \"O\"", QN_BAD_INPUT},
    {SLOTS "term = <e:x>\nlabel = \"\"\n", "the label of <e:x> is empty", QN_BAD_INPUT},
    {SLOTS "term = no term\n", "s.ini: line 10: term, column 1", QN_BAD_INPUT},
    {SLOTS "term = <e:x> y\n", "behind the term stands", QN_BAD_INPUT},
    {SLOTS "[predicate]\nterm = \"text\"\n", "\"text\" cannot stand as predicate", QN_BAD_INPUT},
    {SLOTS "[subject]\nterm = \"text\"\n", "\"text\" cannot stand as subject", QN_BAD_INPUT},
    {SLOTS "[object]\npattern = ?s ?p ?o\n", "[sieve] names no volume to ask", QN_BAD_INPUT},
    {SLOTS "[sieve]\nvolume = /nowhere/v.q42\n", "/nowhere/v.q42", QN_NOT_FOUND},
    {SLOTS "[sieve]\ngraph = \"text\"\n", "cannot stand as a graph", QN_BAD_INPUT},
};

static void what_cannot_be_built_is_an_error_and_no_free_text(void **state) {
    (void)state;
    rig r;
    open_rig(&r);
    for (size_t i = 0; i < sizeof unbuildable / sizeof unbuildable[0]; i++) {
        error_context err = {0};
        sieve *s = NULL;
        const qn_status status = create(&r, unbuildable[i].text, true, &s, &err);
        if (status != unbuildable[i].status || s != NULL || strstr(error_text(&err), unbuildable[i].words) == NULL) {
            fail_msg("%s: %d %s", unbuildable[i].text, status, error_text(&err));
        }
    }
    tokenizer_destroy(r.tok);
}

static void an_object_that_begins_another_needs_a_stop_token(void **state) {
    (void)state;
    rig r;
    sieve *s = NULL;
    error_context err = {0};
    open_rig(&r);
    assert_int_equal(create(&r, SLOTS "term = <e:o2>\nlabel = OO\n", false, &s, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "\"O\" begins another object"));
    assert_int_equal(create(&r, SLOTS "term = <e:o2>\nlabel = OO\n", true, &s, NULL), QN_OK);
    sieve_destroy(s);
    tokenizer_destroy(r.tok);
}

static void the_candidates_are_bounded_by_the_memory_that_is_given(void **state) {
    (void)state;
    rig r;
    sieve *s = NULL;
    error_context err = {0};
    static char text[4 << 20];
    size_t at = (size_t)snprintf(text, sizeof text, "[sieve]\nmemory = 1\n[subject]\n");
    for (uint32_t i = 0; i < 40000; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "term = <http://example.example/%u>\n", i);
    }
    open_rig(&r);
    assert_int_equal(create(&r, text, true, &s, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), "need more than 1 MiB"));
    tokenizer_destroy(r.tok);
}

/* -------------------------------------------------------------------------------------------------------------- walking */

/* A row in which each byte of `favoured` has the logit 2, the stop token 1 and everything else 0. Returns what may come as a string. */
static const char *mask(rig *r, sieve *s, const char *favoured) {
    static char allowed[300];
    const token_constraint hook = sieve_hook(s);
    uint32_t n_left = 0, n = 0;
    for (uint32_t id = 0; id < r->n; id++) {
        char byte = 0;
        tokenizer_token_bytes(r->tok, id, false, &byte, 1);
        r->row[id] = id == r->stop ? 1.0f : byte != 0 && strchr(favoured, byte) != NULL ? 2.0f : 0.0f;
    }
    assert_int_equal(hook.mask(hook.ctx, r->row, r->n, &n_left, NULL), QN_OK);
    for (uint32_t byte = 1; byte < 128; byte++) {
        for (uint32_t id = 0; id < r->n; id++) {
            char found = 0;
            if (r->row[id] > -INFINITY && id != r->stop && tokenizer_token_bytes(r->tok, id, false, &found, 1) == 1 && found == (char)byte) {
                allowed[n++] = found;
            }
        }
    }
    if (r->row[r->stop] > -INFINITY) {
        allowed[n++] = '$';
    }
    allowed[n] = '\0';
    assert_int_equal(n, n_left);
    return allowed;
}

static qn_status accept(const rig *r, sieve *s, char byte, bool *out_is_complete, error_context *err) {
    const token_constraint hook = sieve_hook(s);
    for (uint32_t id = 0; id < r->n; id++) {
        char found = 0;
        if (id != r->stop && tokenizer_token_bytes(r->tok, id, false, &found, 1) == 1 && found == byte) {
            return hook.accept(hook.ctx, id, out_is_complete, err);
        }
    }
    return QN_NOT_FOUND;
}

/* Takes each byte; the masks are made as a generation would. True when the sieve says that nothing can follow. */
static bool say(rig *r, sieve *s, const char *text, const char *favoured) {
    bool is_complete = false;
    for (; *text != '\0'; text++) {
        assert_false(is_complete);
        mask(r, s, favoured);
        error_context err = {0};
        if (accept(r, s, *text, &is_complete, &err) < 0) {
            fail_msg("at \"%s\": %s", text, error_text(&err));
        }
    }
    return is_complete;
}

#define FAMILY "[subject]\nterm = <e:lily>\nlabel = Lily\nterm = <e:ann>\nlabel = Lily Ann\nterm = <e:lou>\nlabel = Lou\n" \
               "[predicate]\nterm = <e:sees>\nlabel = sees\nterm = <e:asks>\nlabel = Asks\n" \
               "[object]\nterm = \"cat\"\nlabel = cat\nterm = \"cats\"@en\nlabel = cats\nterm = 7\n"

static void check_quin(const sieve *s, const char *subject, const char *predicate, const char *object) {
    sieve_result result;
    error_context err = {0};
    if (sieve_get_result(s, &result, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    assert_string_equal(result.terms[0], subject);
    assert_string_equal(result.terms[1], predicate);
    assert_string_equal(result.terms[2], object);
    assert_int_equal(result.quin.subject, q42_hash(subject, strlen(subject)));
    assert_int_equal(result.quin.predicate, q42_hash(predicate, strlen(predicate)));
    assert_int_equal(result.quin.parity, q42_quin_parity(&result.quin));
    assert_int_equal(result.quin.metadata, 0);
}

static void shared_beginnings_are_walked_until_they_part(void **state) {
    (void)state;
    rig r;
    sieve *s;
    open_rig(&r);
    assert_int_equal(create(&r, FAMILY, true, &s, NULL), QN_OK);
    assert_int_equal(sieve_budget(s), 8 + 5 + strlen(" \"7\"^^<http://www.w3.org/2001/XMLSchema#integer>"));
    assert_string_equal(mask(&r, s, ""), "L");
    assert_false(say(&r, s, "L", ""));
    assert_string_equal(mask(&r, s, ""), "io");
    assert_false(say(&r, s, "ou", ""));
    assert_string_equal(mask(&r, s, ""), " ");
    assert_false(say(&r, s, " ", ""));
    assert_string_equal(mask(&r, s, ""), "As");
    assert_false(say(&r, s, "sees", ""));
    assert_false(say(&r, s, " ", ""));
    assert_string_equal(mask(&r, s, ""), "\"c");
    assert_false(say(&r, s, "cat", ""));
    assert_string_equal(mask(&r, s, ""), "s$");
    assert_true(sieve_is_complete(s));
    check_quin(s, "<e:lou>", "<e:sees>", "\"cat\"");
    assert_true(say(&r, s, "s", ""));
    check_quin(s, "<e:lou>", "<e:sees>", "\"cats\"@en");
    sieve_destroy(s);
    tokenizer_destroy(r.tok);
}

static void a_term_that_begins_another_stays_possible_until_the_text_decides(void **state) {
    (void)state;
    rig r;
    sieve *s;
    open_rig(&r);
    assert_int_equal(create(&r, FAMILY, true, &s, NULL), QN_OK);
    assert_false(say(&r, s, "Lily ", ""));
    assert_string_equal(mask(&r, s, ""), "As"); /* Ann goes on, Asks and sees begin */
    assert_false(say(&r, s, "A", ""));
    assert_string_equal(mask(&r, s, ""), "ns");
    assert_false(say(&r, s, "sks cat", ""));
    check_quin(s, "<e:lily>", "<e:asks>", "\"cat\"");
    sieve_reset(s);
    assert_true(say(&r, s, "Lily Ann Asks cats", ""));
    check_quin(s, "<e:ann>", "<e:asks>", "\"cats\"@en");
    sieve_destroy(s);
    tokenizer_destroy(r.tok);
}

static void of_two_divisions_of_one_text_the_longer_subject_counts(void **state) {
    (void)state;
    rig r;
    sieve *s;
    open_rig(&r);
    assert_int_equal(create(&r, "[sieve]\nseparator = \"\"\n[subject]\nterm = <e:a>\nlabel = a\nterm = <e:ab>\nlabel = ab\n"
                                "[predicate]\nterm = <e:bc>\nlabel = bc\nterm = <e:c>\nlabel = c\n[object]\nterm = <e:d>\nlabel = d\n", true, &s, NULL), QN_OK);
    assert_true(say(&r, s, "abcd", ""));
    check_quin(s, "<e:ab>", "<e:c>", "<e:d>");
    sieve_destroy(s);
    tokenizer_destroy(r.tok);
}

static void an_incomplete_sieve_has_no_quin(void **state) {
    (void)state;
    rig r;
    sieve *s;
    sieve_result result;
    error_context err = {0};
    bool is_complete;
    open_rig(&r);
    assert_int_equal(create(&r, FAMILY, true, &s, NULL), QN_OK);
    assert_false(say(&r, s, "Lou se", ""));
    assert_int_equal(sieve_get_result(s, &result, &err), QN_NOT_FOUND);
    assert_non_null(strstr(error_text(&err), "stopped within the predicate"));
    assert_int_equal(accept(&r, s, 'x', &is_complete, &err), QN_BAD_INPUT);
    assert_int_equal(sieve_check_budget(s, sieve_budget(s), NULL), QN_OK);
    assert_int_equal(sieve_check_budget(s, sieve_budget(s) - 1, &err), QN_LIMIT);
    sieve_destroy(s);
    tokenizer_destroy(r.tok);
}

static void a_small_margin_asks_for_review(void **state) {
    (void)state;
    rig r;
    sieve *s;
    sieve_result result;
    open_rig(&r);
    assert_int_equal(create(&r, "[sieve]\nreview = 2.5\n" FAMILY, true, &s, NULL), QN_OK);
    assert_false(say(&r, s, "Lou sees cat", "o")); /* o has 2 more than i; s and A are alike; c and the quotation mark too */
    assert_string_equal(mask(&r, s, "s"), "s$"); /* the stop token has 1, going on 2 */
    assert_int_equal(sieve_get_result(s, &result, NULL), QN_OK);
    assert_true(result.margins[0] == 2.0 && result.margins[1] == 0.0 && result.margins[2] == -1.0);
    assert_true(result.needs_review);
    assert_true(result.log_probability < 0);
    sieve_destroy(s);
    assert_int_equal(create(&r, SLOTS "[sieve]\nreview = 100\n", true, &s, NULL), QN_OK);
    assert_true(say(&r, s, "S P O", ""));
    assert_int_equal(sieve_get_result(s, &result, NULL), QN_OK);
    assert_true(isinf(result.margins[0]) && !result.needs_review);
    sieve_destroy(s);
    tokenizer_destroy(r.tok);
}

/* ------------------------------------------------------------------------------------------------------------- the beam */

typedef struct runner {
    char folder[CORPUS_PATH_SIZE];
    team *workers;
    registry backends;
    host_services services;
    backend on;
    model *m;
    plan *p;
    session *s;
} runner;

static qn_status open_runner(runner *u, error_context *err) {
    char path[CORPUS_PATH_SIZE + 16];
    const qn_machine machine = {.size = sizeof machine, .n_workers = 1};
    const backend_request request = {.text = "reference"};
    const plan_options settings = {.n_ctx = TINY_CONTEXT, .max_chunk = 16, .max_outputs = 1, .state_format = QN_FORMAT_F32};
    bool was_named;
    test_make_folder(u->folder);
    snprintf(path, sizeof path, "%s/tiny.gguf", u->folder);
    tiny_model_write(path, "llama", NULL);
    QN_TRY(team_create(1, &u->workers, err), err, "starting");
    host_services_init(&u->services, &machine, u->workers);
    registry_discover(NULL, &u->backends);
    QN_TRY(backend_choose(&u->backends, &u->services, &request, &u->on, &was_named, err), err, "choosing");
    QN_TRY(model_open(path, NULL, NULL, &u->m, err), err, "opening");
    QN_TRY(plan_create(u->m, &u->on, &settings, &u->p, err), err, "planning");
    return session_create(u->p, &u->s, err);
}

static void close_runner(runner *u) {
    session_destroy(u->s);
    plan_destroy(u->p);
    model_close(u->m);
    backend_close(&u->on);
    team_destroy(u->workers);
    test_remove_tree(u->folder);
}

static double log_softmax(const float *row, uint32_t id) {
    double sum = 0;
    for (uint32_t i = 0; i < TINY_VOCABULARY; i++) {
        sum += exp((double)row[i]);
    }
    return (double)row[id] - log(sum);
}

/* Summed log-probability of a text's bytes behind what the session holds, which it holds again afterwards. */
static double weigh(session *s, const char *text) {
    const uint32_t length = session_length(s), last = (uint32_t)s->history[length - 1];
    double sum = 0;
    for (const char *c = text; *c != '\0'; c++) {
        const uint32_t id = TINY_BYTE_0 + (unsigned char)*c;
        sum += log_softmax(s->logits, id);
        assert_int_equal(session_append(s, &id, 1, NULL), QN_OK);
    }
    session_truncate(s, length - 1);
    assert_int_equal(session_append(s, &last, 1, NULL), QN_OK);
    return sum;
}

static void the_beam_takes_the_candidate_with_the_greatest_sum(void **state) {
    (void)state;
    static const char *const subjects[] = {" ab", " ac", " bcd", " x"};
    const char *text = "[subject]\nterm = <e:0>\nlabel = ab\nterm = <e:1>\nlabel = ac\nterm = <e:2>\nlabel = bcd\nterm = <e:3>\nlabel = x\n"
                       "[predicate]\nterm = <e:4>\nlabel = is\nterm = <e:5>\nlabel = has\nterm = <e:6>\nlabel = it\n"
                       "[object]\nterm = <e:7>\nlabel = q\nterm = <e:8>\nlabel = rst\nterm = <e:9>\nlabel = u\n";
    runner u = {.m = NULL};
    error_context err = {0};
    sieve_spec spec;
    sieve *s;
    if (open_runner(&u, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    const uint32_t stop = TINY_EOS, prompt[] = {TINY_BYTE_0 + 'a', TINY_BYTE_0 + 'b'};
    const constraint_target target = {.tok = u.m->tok, .stops = &stop, .n_stops = 1};
    assert_int_equal(parse(text, &spec, NULL), QN_OK);
    if (sieve_create(&spec, &target, &s, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    sieve_spec_free(&spec);
    assert_int_equal(session_append(u.s, prompt, 2, NULL), QN_OK);
    double best = -INFINITY, second = -INFINITY;
    size_t best_at = 0;
    for (size_t i = 0; i < 4; i++) {
        const double sum = weigh(u.s, subjects[i]);
        if (sum > best) {
            second = best;
            best = sum;
            best_at = i;
        } else if (sum > second) {
            second = sum;
        }
    }
    uint32_t ids[64], again[64], n = 0, n_again = 0;
    sieve_result result;
    assert_int_equal(sieve_beam_run(s, u.s, 4, ids, &n, &err), QN_OK);
    assert_int_equal(sieve_get_result(s, &result, NULL), QN_OK);
    char wanted[32];
    snprintf(wanted, sizeof wanted, "<e:%zu>", best_at);
    assert_string_equal(result.terms[0], wanted);
    assert_true(fabs(result.margins[0] - (best - second)) < 1e-4);
    assert_true(n <= sieve_budget(s) && sieve_is_complete(s));
    session_truncate(u.s, 1);
    assert_int_equal(session_append(u.s, prompt + 1, 1, NULL), QN_OK);
    char line[64];
    snprintf(line, sizeof line, " %s %s %s", result.labels[0], result.labels[1], result.labels[2]);
    assert_int_equal(n, strlen(line));
    assert_true(fabs(weigh(u.s, line) - result.log_probability) < 1e-4);
    assert_int_equal(sieve_beam_run(s, u.s, 4, again, &n_again, &err), QN_OK);
    assert_int_equal(n, n_again);
    assert_memory_equal(ids, again, n * sizeof *ids);
    sieve_destroy(s);
    close_runner(&u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_a_spec_arrives),
        cmocka_unit_test(a_spec_that_is_wrong_is_refused_with_line_and_column),
        cmocka_unit_test(what_cannot_be_built_is_an_error_and_no_free_text),
        cmocka_unit_test(an_object_that_begins_another_needs_a_stop_token),
        cmocka_unit_test(the_candidates_are_bounded_by_the_memory_that_is_given),
        cmocka_unit_test(shared_beginnings_are_walked_until_they_part),
        cmocka_unit_test(a_term_that_begins_another_stays_possible_until_the_text_decides),
        cmocka_unit_test(of_two_divisions_of_one_text_the_longer_subject_counts),
        cmocka_unit_test(an_incomplete_sieve_has_no_quin),
        cmocka_unit_test(a_small_margin_asks_for_review),
        cmocka_unit_test(the_beam_takes_the_candidate_with_the_greatest_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
