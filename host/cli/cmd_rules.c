/* cmd_rules.c — quoin rules check: statements against shapes and rules, as a governed run would check them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mapped_file.h"
#include "base/text_buffer.h"
#include "cli/graph_command.h"
#include "graph/rdf_reader.h"
#include "rules/n3.h"
#include "rules/rule_machine.h"
#include "rules/shapes.h"

#define MOST_N3_BYTES (UINT64_C(64) << 20)
#define MOST_DEPTH 65535

static struct {
    const char *shapes, *rules;
    bool is_closed, shows_derived;
    uint32_t depth, max_facts;
} settings = {.depth = RULES_DEFAULT_DEPTH, .max_facts = FACT_TABLE_DEFAULT};

static const option *rules_options(void) {
    static const option table[] = {
        {OPTION_STRING, "shapes", 's', "FILE", "shapes in Turtle, a part of SHACL", &settings.shapes, 0, 0, NULL, NULL},
        {OPTION_STRING, "rules", 'r', "FILE", "rules in Notation3", &settings.rules, 0, 0, NULL, NULL},
        {OPTION_FLAG, "closed", 0, NULL, "refuse statements whose predicate no shape knows", &settings.is_closed, 0, 0, NULL, NULL},
        {OPTION_FLAG, "derived", 0, NULL, "print what the rules derive, each with its rule and premises", &settings.shows_derived, 0, 0, NULL,
         NULL},
        {OPTION_UINT, "depth", 0, "N", "how deep conclusions may build on each other (default 32)", &settings.depth, 1, MOST_DEPTH, NULL, NULL},
        {OPTION_UINT, "max-facts", 0, "N", "facts that the rules may have in all (default 4096)", &settings.max_facts, 1, FACT_TABLE_MOST, NULL,
         NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

/* ---------------------------------------------------------------- what is checked */

typedef struct rules_work {
    command_context *c;
    fact_table data;      /* what the files say */
    fact *candidates;     /* [data.n_facts] views of it */
    shapes *shapes;
    rule_program *program;
    shape_report report;
    fact_table derived;   /* the table of the rules */
    rule_verdict verdict;
    json_t *proposals;
    uint32_t n_proposals;
    const char *path;     /* of the file in work */
} rules_work;

static json_t *json_text(fmt_str text) {
    return command_json_text(text.data, (size_t)text.size);
}

/* Text for a line of the terminal: what would move the cursor becomes a question mark. */
static bool print_text(fmt_str text) {
    char piece[256];
    for (uint64_t at = 0; at < text.size;) {
        size_t n = 0;
        for (; n < sizeof piece && at < text.size; n++, at++) {
            const unsigned char byte = (unsigned char)text.data[at];
            piece[n] = byte < 0x20 || byte == 0x7F ? '?' : text.data[at];
        }
        if (!command_write(piece, n)) {
            return false;
        }
    }
    return true;
}

static bool print(const char *text) {
    return command_write(text, strlen(text));
}

/* ---------------------------------------------------------------- reading */

static qn_status add_fact(rules_work *w, const fmt_str terms[FACT_PLACES], uint64_t line, error_context *err) {
    const qn_status status = fact_table_add(&w->data, terms, line < UINT32_MAX ? (uint32_t)line : 0, NULL, err);
    return status < 0 ? error_put_path(err, status, w->path) : QN_OK;
}

static qn_status take_statement(void *ctx, const ntriples_statement *statement, error_context *err) {
    rules_work *w = ctx;
    fmt_str terms[FACT_PLACES];
    if (statement->n_terms > FACT_PLACES) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %" PRIu64 ": a statement in a named graph; rules and shapes know one graph", w->path,
                    statement->line);
    }
    for (int place = 0; place < FACT_PLACES; place++) {
        terms[place] = (fmt_str){statement->terms[place].text, statement->terms[place].size};
    }
    return add_fact(w, terms, statement->line, err);
}

static qn_status read_rdf(rules_work *w, const char *blank_prefix) {
    const rdf_options options = {.blank_prefix = blank_prefix};
    rdf_reader *reader;
    error_context *err = &w->c->err;
    QN_TRY(rdf_reader_open(w->path, &options, &reader, err), err, "reading statements");
    const qn_status status = rdf_reader_each(reader, take_statement, w, NULL, err);
    rdf_reader_close(reader);
    return status;
}

/* A rule in the data is a proposal: told, and not installed. */
static qn_status tell_proposal(rules_work *w, const n3_rule *rule) {
    w->n_proposals++;
    if (w->c->json) {
        json_array_append_new(w->proposals, json_pack("{s:s, s:i, s:o, s:s}", "file", w->path, "line", (int)rule->line, "id",
                                                      rule->id.size > 0 ? json_text(rule->id) : json_null(), "arrow",
                                                      n3_arrow_text(rule->arrow)));
        return QN_OK;
    }
    char words[64];
    snprintf(words, sizeof words, ": line %u: proposes the rule ", rule->line);
    return print("proposal: ") && print_text((fmt_str){w->path, strlen(w->path)}) && print(words) &&
                   print_text(rule->id.size > 0 ? rule->id : text_of("without a name")) && print(", which is not installed\n")
               ? QN_OK
               : FAIL(&w->c->err, QN_IO, "standard output cannot be written");
}

static qn_status take_document(rules_work *w, const n3_document *document) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < document->n_assertions; i++) {
        fmt_str terms[FACT_PLACES];
        n3_triple_texts(&document->assertions[i], terms);
        status = add_fact(w, terms, document->assertions[i].line, &w->c->err);
    }
    for (uint32_t i = 0; status >= 0 && i < document->n_rules; i++) {
        status = tell_proposal(w, &document->rules[i]);
    }
    return status;
}

static qn_status read_n3(rules_work *w, const char *blank_prefix) {
    const n3_options options = {.name = w->path, .blank_prefix = blank_prefix, .max_assertions = N3_MAX_STATEMENTS};
    error_context *err = &w->c->err;
    n3_document document = {0};
    mapped_file file = {.fd = -1};
    QN_TRY(mapped_file_open(w->path, &file, err), err, "reading statements");
    qn_status status = file.span.size <= MOST_N3_BYTES ? QN_OK : FAIL(err, QN_LIMIT, "%s: a file in Notation3 has at most 64 MiB", w->path);
    status = status < 0 ? status : n3_read((fmt_str){(const char *)file.span.data, file.span.size}, &options, &document, err);
    status = status < 0 ? status : mapped_file_check(&file, err);
    status = status < 0 ? status : take_document(w, &document);
    n3_free(&document);
    mapped_file_close(&file);
    return status;
}

static bool is_n3(const char *path) {
    const size_t size = strlen(path);
    return size > 3 && strcmp(path + size - 3, ".n3") == 0;
}

/* Labels of blank nodes are the file's own: with several files each gets a prefix. */
static qn_status read_data(rules_work *w) {
    const arguments *args = &w->c->args;
    qn_status status = fact_table_init(&w->data, FACT_TABLE_MOST, &w->c->err);
    for (uint32_t i = 1; status >= 0 && i < args->n_items; i++) {
        char prefix[16];
        snprintf(prefix, sizeof prefix, "s%u_", i);
        w->path = args->items[i];
        status = is_n3(w->path) ? read_n3(w, args->n_items > 2 ? prefix : NULL) : read_rdf(w, args->n_items > 2 ? prefix : NULL);
    }
    if (status < 0) {
        return status;
    }
    w->candidates = malloc(((size_t)w->data.n_facts + 1) * sizeof *w->candidates);
    if (w->candidates == NULL) {
        return FAIL(&w->c->err, QN_NO_HOST_MEM, "no memory for the statements");
    }
    for (uint32_t i = 0; i < w->data.n_facts; i++) {
        for (int place = 0; place < FACT_PLACES; place++) {
            w->candidates[i].terms[place] = term_pool_text(&w->data.pool, w->data.facts[i].terms[place]);
        }
    }
    return QN_OK;
}

/* ---------------------------------------------------------------- checking */

static qn_status check_all(rules_work *w) {
    error_context *err = &w->c->err;
    qn_status status = settings.shapes != NULL ? shapes_read(settings.shapes, &w->shapes, err) : QN_OK;
    status = status >= 0 && settings.rules != NULL ? rule_program_read(settings.rules, &w->program, err) : status;
    status = status < 0 ? status : read_data(w);
    if (status >= 0 && w->shapes != NULL) {
        const fact_source source = fact_table_source(&w->data);
        const shape_check check = {.facts = &source, .candidates = w->candidates, .n_candidates = w->data.n_facts, .is_whole = true,
                                   .policy = settings.is_closed ? SHAPE_POLICY_CLOSED : SHAPE_POLICY_OPEN};
        status = shapes_validate(w->shapes, &check, &w->report, err);
    }
    if (status >= 0 && w->program != NULL) {
        const rule_limits limits = {.max_depth = settings.depth, .max_facts = settings.max_facts};
        status = rules_check(w->program, NULL, w->candidates, w->data.n_facts, &limits, &w->derived, &w->verdict, err);
    }
    return status;
}

static bool conforms(const rules_work *w) {
    return shape_report_conforms(&w->report) && w->verdict.outcome == RULES_OK;
}

/* ---------------------------------------------------------------- as text */

static bool print_result(const shape_result *result) {
    const fmt_str parts[] = {result->focus, result->path, result->value};
    bool is_printed = print(shape_severity_name(result->severity)) && print(":");
    for (size_t i = 0; is_printed && i < sizeof parts / sizeof parts[0]; i++) {
        is_printed = parts[i].size == 0 || (print(" ") && print_text(parts[i]));
    }
    return is_printed && print(": ") && print(result->component) && print(": ") && print_text(result->message) && print("\n");
}

/* `s p o . # fact N, by rule R from A, B` */
static bool print_derived(const rules_work *w, uint32_t number) {
    const table_fact *one = &w->derived.facts[number];
    char words[64];
    bool is_printed = true;
    for (int place = 0; is_printed && place < FACT_PLACES; place++) {
        is_printed = print_text(term_pool_text(&w->derived.pool, one->terms[place])) && print(" ");
    }
    snprintf(words, sizeof words, ". # fact %u, ", number + 1);
    is_printed = is_printed && print(words) && print(one->origin.is_definite ? "by rule " : "plausible, by rule ") &&
                 print_text(w->program->rules[one->origin.rule].id);
    for (uint32_t i = 0; is_printed && i < one->origin.n_premises; i++) {
        snprintf(words, sizeof words, "%s %u", i == 0 ? " from" : ",", one->origin.premises[i] + 1);
        is_printed = print(words);
    }
    return is_printed && print("\n");
}

static bool print_rules(const rules_work *w) {
    char words[96];
    if (w->program == NULL) {
        return true;
    }
    for (uint32_t i = w->verdict.n_given; settings.shows_derived && i < w->derived.n_facts; i++) {
        if (!print_derived(w, i)) {
            return false;
        }
    }
    snprintf(words, sizeof words, "rules: %s: ", rule_outcome_name(w->verdict.outcome));
    if (w->verdict.outcome != RULES_OK) {
        return print(words) && print_text(text_of(w->verdict.reason)) && print("\n");
    }
    snprintf(words, sizeof words, "rules: OK: %u facts derived in %u runs of rules\n", w->verdict.n_derived, w->verdict.n_steps);
    return print(words);
}

static int report_text(rules_work *w) {
    const shape_report *r = &w->report;
    char words[256];
    for (uint32_t i = 0; i < r->n_results; i++) {
        if (!print_result(&r->results[i])) {
            return EXIT_IO;
        }
    }
    const uint64_t n_all = r->counts[SHAPE_VIOLATION] + r->counts[SHAPE_WARNING] + r->counts[SHAPE_INFO];
    if (n_all > r->n_results) {
        snprintf(words, sizeof words, "and %" PRIu64 " more\n", n_all - r->n_results);
        if (!print(words)) {
            return EXIT_IO;
        }
    }
    snprintf(words, sizeof words, "%s: %u statements, %" PRIu64 " checks, %" PRIu64 " violations, %" PRIu64 " warnings, %" PRIu64 " infos, %u "
             "rules proposed\n", conforms(w) ? "conforms" : "does not conform", w->data.n_facts, r->n_checked, r->counts[SHAPE_VIOLATION],
             r->counts[SHAPE_WARNING], r->counts[SHAPE_INFO], w->n_proposals);
    return print_rules(w) && print(words) ? EXIT_DONE : EXIT_IO;
}

/* ---------------------------------------------------------------- as JSON */

static json_t *json_or_null(fmt_str text) {
    return text.size > 0 ? json_text(text) : json_null();
}

static json_t *describe_results(const shape_report *r) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->n_results; i++) {
        const shape_result *one = &r->results[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "severity", shape_severity_name(one->severity), "component",
                                              one->component, "focus", json_or_null(one->focus), "path", json_or_null(one->path), "value",
                                              json_or_null(one->value), "shape", json_or_null(one->shape), "message", json_text(one->message)));
    }
    return list;
}

static json_t *describe_fact(const rules_work *w, uint32_t number) {
    const table_fact *one = &w->derived.facts[number];
    json_t *premises = json_array(), *terms = json_array();
    for (uint32_t i = 0; i < one->origin.n_premises; i++) {
        json_array_append_new(premises, json_integer((json_int_t)one->origin.premises[i] + 1));
    }
    for (int place = 0; place < FACT_PLACES; place++) {
        json_array_append_new(terms, json_text(term_pool_text(&w->derived.pool, one->terms[place])));
    }
    const bool is_given = one->origin.rule == FACT_GIVEN;
    return json_pack("{s:I, s:o, s:o, s:b, s:o}", "fact", (json_int_t)number + 1, "terms", terms, "rule",
                     is_given ? json_null() : json_text(w->program->rules[one->origin.rule].id), "definite", (int)one->origin.is_definite,
                     "premises", premises);
}

static json_t *describe_rules(const rules_work *w) {
    const rule_verdict *v = &w->verdict;
    json_t *bindings = json_array(), *facts = json_array();
    if (w->program == NULL) {
        json_decref(bindings);
        json_decref(facts);
        return json_null();
    }
    for (uint32_t i = 0; i < v->n_bindings; i++) {
        json_array_append_new(bindings, json_pack("{s:o, s:o}", "name", json_text(v->bindings[i].name), "value", json_text(v->bindings[i].value)));
    }
    for (uint32_t i = 0; settings.shows_derived && i < w->derived.n_facts; i++) {
        json_array_append_new(facts, describe_fact(w, i));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o}", "outcome", rule_outcome_name(v->outcome), "reason",
                     json_or_null(text_of(v->reason)), "rule", json_or_null(v->rule_id), "message", json_or_null(v->message), "bindings", bindings,
                     "given", (json_int_t)v->n_given, "derived", (json_int_t)v->n_derived, "steps", (json_int_t)v->n_steps, "work",
                     (json_int_t)v->n_work, "facts", facts);
}

static int report_json(rules_work *w) {
    const shape_report *r = &w->report;
    return command_print_json(
        w->c, json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:o, s:O, s:o}", "conforms", (int)conforms(w), "statements", (json_int_t)w->data.n_facts,
                        "checks", (json_int_t)r->n_checked, "violations", (json_int_t)r->counts[SHAPE_VIOLATION], "warnings",
                        (json_int_t)r->counts[SHAPE_WARNING], "infos", (json_int_t)r->counts[SHAPE_INFO], "results", describe_results(r),
                        "proposals", w->proposals, "rules", describe_rules(w)));
}

/* ---------------------------------------------------------------- the command */

static void end_work(rules_work *w) {
    shape_report_free(&w->report);
    shapes_free(w->shapes);
    rule_program_free(w->program);
    fact_table_deinit(&w->derived);
    fact_table_deinit(&w->data);
    free(w->candidates);
    json_decref(w->proposals);
}

static int run(command_context *c) {
    rules_work w = {.c = c};
    if (c->args.n_items == 0 || strcmp(c->args.items[0], "check") != 0) {
        return graph_refuse_usage(c, "rules needs the word check");
    }
    if (c->args.n_items < 2) {
        return graph_refuse_usage(c, "rules check needs at least one file with statements");
    }
    if (settings.is_closed && settings.shapes == NULL) {
        return graph_refuse_usage(c, "--closed is about shapes; give --shapes FILE");
    }
    if (settings.shows_derived && settings.rules == NULL) {
        return graph_refuse_usage(c, "--derived is about rules; give --rules FILE");
    }
    w.proposals = json_array();
    int status = EXIT_DONE;
    if (check_all(&w) < 0) {
        status = command_fail(c);
    } else {
        status = c->json ? report_json(&w) : report_text(&w);
        status = status == EXIT_DONE && !conforms(&w) ? EXIT_BAD_INPUT : status;
    }
    end_work(&w);
    return status;
}

const command command_rules = {.name = "rules",
                               .summary = "Check statements against shapes and rules",
                               .synopsis = "check [--shapes FILE] [--rules FILE] FILE...",
                               .example = "  quoin rules check --shapes clinic.ttl answer.n3\n"
                                          "  quoin rules check --shapes clinic.ttl --rules clinic.n3 --closed --derived answer.n3 known.ttl\n",
                               .options = rules_options,
                               .run = run,
                               .is_without_backend = true};
