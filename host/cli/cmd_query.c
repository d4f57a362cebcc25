/* cmd_query.c — quoin query: the statements of a volume that match patterns. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/text_output.h"
#include "cli/volume_options.h"
#include "graph/query_explain.h"
#include "graph/query_output.h"
#include "graph/query_run.h"

static struct {
    option_list prefixes, comparisons;
    const char *select, *format, *terms;
    uint64_t limit, offset;
    bool has_limit, count, exists, distinct, explain, strict;
} settings;

static const option *query_options(void) {
    static const option table[] = {
        {OPTION_LIST, "prefix", 'p', "NAME=IRI", "short form for IRIs in patterns", &settings.prefixes, 0, 0, NULL, NULL},
        {OPTION_LIST, "where", 'w', "TEXT", "compare numbers: '?name >= 10'; < <= = != >= >", &settings.comparisons, 0, 0,
         NULL, NULL},
        {OPTION_STRING, "select", 's', "?A,?B", "these variables, in this order (default: all)", &settings.select, 0, 0, NULL,
         NULL},
        {OPTION_FLAG, "distinct", 0, NULL, "each row once", &settings.distinct, 0, 0, NULL, NULL},
        {OPTION_UINT64, "limit", 'n', "N", "at most N rows", &settings.limit, 0, 0, NULL, &settings.has_limit},
        {OPTION_UINT64, "offset", 0, "N", "leave the first N rows out", &settings.offset, 0, 0, NULL, NULL},
        {OPTION_FLAG, "count", 'c', NULL, "only the number of rows", &settings.count, 0, 0, NULL, NULL},
        {OPTION_FLAG, "exists", 0, NULL, "only true or false", &settings.exists, 0, 0, NULL, NULL},
        {OPTION_STRING, "format", 'f', "F", "nquads, jsonl, tsv or table (default: see quoin-query(1))", &settings.format, 0, 0,
         "nquads|jsonl|tsv|table", NULL},
        {OPTION_FLAG, "explain", 0, NULL, "tell on standard error which indexes were used", &settings.explain, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "terms", 0, "T", "the volume's terms are surface, bare or token (default: auto)", &settings.terms, 0, 0,
         "auto|surface|bare|token", NULL},
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standard", &settings.strict, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

/* ---------------------------------------------------------------- what was asked */

static qn_status parse(command_context *c, query_text *query) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status == QN_OK && i < settings.prefixes.n_items; i++) {
        status = query_add_prefix(query, settings.prefixes.items[i], &c->err);
    }
    for (uint32_t i = 1; status == QN_OK && i < c->args.n_items; i++) {
        status = query_add_pattern(query, c->args.items[i], &c->err);
    }
    for (uint32_t i = 0; status == QN_OK && i < settings.comparisons.n_items; i++) {
        status = query_add_filter(query, settings.comparisons.items[i], &c->err);
    }
    return status;
}

/* All variables; the graphs of patterns with three places only where statements are written. */
static void select_all(const query_text *query, query_output_options *out) {
    for (uint32_t i = 0; i < query->n_variables; i++) {
        if (query->variables[i] != NULL || out->format == QUERY_NQUADS) {
            out->columns[out->n_columns++] = i;
        }
    }
}

static qn_status select_named(command_context *c, const query_text *query, query_output_options *out) {
    const char *at = settings.select;
    for (;;) {
        const size_t skipped = strspn(at, " ,");
        at += skipped;
        const size_t size = strcspn(at, " ,");
        if (size == 0) {
            break;
        }
        const uint32_t variable = query_find_variable(query, at, size);
        if (variable == UINT32_MAX || out->n_columns == QUERY_MAX_VARIABLES) {
            return FAIL(&c->err, QN_BAD_INPUT, "--select, column %u: %.*s is in no pattern", (unsigned)(at - settings.select) + 1,
                        (int)size, at);
        }
        out->columns[out->n_columns++] = variable;
        at += size;
    }
    return out->n_columns > 0 ? QN_OK : FAIL(&c->err, QN_BAD_INPUT, "--select names no variable");
}

static bool has_names(const query_text *query) {
    for (uint32_t i = 0; i < query->n_variables; i++) {
        if (query->variables[i] != NULL) {
            return true;
        }
    }
    return false;
}

static query_format choose_format(const command_context *c, const query_text *query) {
    static const struct {
        const char *name;
        query_format format;
    } names[] = {{"nquads", QUERY_NQUADS}, {"jsonl", QUERY_JSON_LINES}, {"tsv", QUERY_TSV}, {"table", QUERY_TABLE}};
    if (settings.count || settings.exists) {
        return QUERY_NOTHING;
    }
    if (c->json) {
        return QUERY_JSON;
    }
    for (size_t i = 0; settings.format != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(settings.format, names[i].name) == 0) {
            return names[i].format;
        }
    }
    if (isatty(STDOUT_FILENO) && has_names(query)) {
        return QUERY_TABLE;
    }
    return query->n_patterns == 1 && settings.select == NULL ? QUERY_NQUADS : QUERY_JSON_LINES;
}

static qn_status choose_output(command_context *c, const query_text *query, text_output *written, query_output_options *out) {
    *out = (query_output_options){.format = choose_format(c, query),
                                  .is_distinct = settings.distinct,
                                  .has_limit = settings.has_limit || settings.exists,
                                  .limit = settings.exists ? 1 : settings.limit,
                                  .offset = settings.offset,
                                  .write = text_output_write,
                                  .write_ctx = written};
    if (settings.count && settings.exists) {
        return FAIL(&c->err, QN_BAD_INPUT, "--count and --exists are two questions; ask one");
    }
    if (settings.select == NULL) {
        select_all(query, out);
        return QN_OK;
    }
    if (out->format == QUERY_NQUADS) {
        return FAIL(&c->err, QN_BAD_INPUT, "--select chooses columns; --format nquads writes whole statements");
    }
    return select_named(c, query, out);
}

/* ---------------------------------------------------------------- answering */

typedef struct query_state {
    query_text query;
    query_output_options options;
    query_plan plan;
    graph_volume *volume;
    block_cache *cache;
    query_output *output;
    text_output written;
} query_state;

static qn_status prepare(command_context *c, query_state *q) {
    qn_status status = graph_volume_open(c->args.items[0], settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                         volume_options_terms(settings.terms), &q->volume, &c->err);
    if (status < 0) {
        return status;
    }
    q->cache = block_cache_create(q->volume);
    if (q->cache == NULL) {
        return FAIL(&c->err, QN_NO_HOST_MEM, "out of memory");
    }
    status = query_plan_make(q->volume, &q->query, q->cache, &q->plan, &c->err);
    return status < 0 ? status : query_output_create(q->volume, &q->query, &q->options, &q->output, &c->err);
}

static qn_status answer(command_context *c, query_state *q) {
    qn_status status = prepare(c, q);
    if (status == QN_OK && !(settings.has_limit && settings.limit == 0)) {
        status = query_run(&q->plan, q->cache, query_output_receive, q->output, &c->err);
    }
    if (status == QN_OK) {
        status = graph_volume_check_files(q->volume, &c->err);
    }
    return status == QN_OK ? query_output_end(q->output, &c->err) : status;
}

/* What stands behind the rows: a number, a truth, the end of the JSON object. */
static int print_end(command_context *c, query_state *q) {
    const uint64_t n = query_output_n_rows(q->output);
    char line[64];
    if (c->json) {
        json_t *plan = settings.explain ? query_explain_json(&q->plan) : NULL;
        if (q->options.format != QUERY_JSON) {
            json_t *object = settings.count ? json_pack("{s:I}", "count", (json_int_t)n) : json_pack("{s:b}", "exists", n > 0);
            if (plan != NULL) {
                json_object_set_new(object, "explain", plan);
            }
            return command_print_json(c, object);
        }
        char *text = plan != NULL ? json_dumps(plan, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
        json_decref(plan);
        bool is_written = text == NULL || (command_write(", \"explain\": ", 13) && command_write(text, strlen(text)));
        free(text);
        is_written = is_written && command_write("}\n", 2);
        return is_written ? EXIT_DONE : EXIT_IO;
    }
    int size = 0;
    if (settings.count) {
        size = snprintf(line, sizeof line, "%" PRIu64 "\n", n);
    } else if (settings.exists) {
        size = snprintf(line, sizeof line, "%s\n", n > 0 ? "true" : "false");
    }
    return size == 0 || command_write(line, (size_t)size) ? EXIT_DONE : EXIT_IO;
}

static void tell_plan(void *ctx, const char *line) {
    (void)ctx;
    log_line(QN_LOG_INFO, "%s", line);
}

static int finish(command_context *c, query_state *q, qn_status status) {
    char note[320];
    if (status < 0) {
        return q->written.is_broken ? EXIT_IO : command_fail(c);
    }
    const int exit_status = print_end(c, q);
    if (settings.explain && !c->json) {
        query_explain_text(&q->plan, tell_plan, NULL);
    }
    if (term_counts_describe(query_output_counts(q->output), note, sizeof note)) {
        log_line(QN_LOG_INFO, "note: %s", note);
    }
    return exit_status;
}

static int run(command_context *c) {
    if (c->args.n_items < 2) {
        FAIL(&c->err, QN_BAD_INPUT, "query needs one VOLUME and at least one PATTERN; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    query_state *q = calloc(1, sizeof *q);
    if (q == NULL) {
        FAIL(&c->err, QN_NO_HOST_MEM, "out of memory");
        return command_fail(c);
    }
    int exit_status = EXIT_USAGE;
    if (parse(c, &q->query) < 0 || choose_output(c, &q->query, &q->written, &q->options) < 0) {
        command_fail(c);
    } else {
        exit_status = finish(c, q, answer(c, q));
    }
    query_output_destroy(q->output);
    block_cache_destroy(q->cache);
    graph_volume_close(q->volume);
    query_text_free(&q->query);
    free(q);
    return exit_status;
}

const command command_query = {
    .name = "query",
    .summary = "Find statements in a Q42 volume by patterns",
    .synopsis = "VOLUME PATTERN... [options]",
    .example = "  quoin query schema.q42 '?class a rdfs:Class' --prefix rdfs=http://www.w3.org/2000/01/rdf-schema# --count\n"
               "  quoin query data.q42 '?s <http://e.example/height> ?h' '?s <http://e.example/name> ?n' --where '?h >= 10'\n",
    .options = query_options,
    .run = run, .is_without_backend = true};
