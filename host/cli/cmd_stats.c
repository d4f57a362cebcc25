/* cmd_stats.c — quoin stats: how much of what a volume holds. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/volume_options.h"
#include "graph/term_text.h"
#include "graph/volume_stats.h"

static struct {
    const char *terms, *memory;
    uint32_t top;
    bool strict;
} settings = {.top = STATS_MAX_LISTED};

static const option *stats_options(void) {
    static const option table[] = {
        {OPTION_UINT, "top", 0, "N", "list only the N most frequent predicates and graphs", &settings.top, 0, STATS_MAX_LISTED,
         NULL, NULL},
        {OPTION_STRING, "memory", 0, "SIZE", "for counting, with K, M or G (default 256M)", &settings.memory, 0, 0, NULL, NULL},
        {OPTION_STRING, "terms", 0, "T", "the volume's terms are surface, bare or token (default: auto)", &settings.terms, 0, 0,
         "auto|surface|bare|token", NULL},
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standard", &settings.strict, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

/* [{"term", "count"}, ...]; null when a term cannot be read. */
static json_t *list_ids(command_context *c, term_printer *printer, const id_list *list, uint32_t place) {
    json_t *array = json_array();
    term_cell cell = {.is_filled = false};
    for (uint32_t i = 0; i < list->n_items && i < settings.top; i++) {
        if (term_printer_get(printer, list->items[i].id, place, &cell, &c->err) < 0) {
            json_decref(array);
            array = NULL;
            break;
        }
        json_array_append_new(array, json_pack("{s:o, s:I}", "term", command_json_text(cell.text.text, cell.text.size), "count",
                                               (json_int_t)list->items[i].n));
    }
    term_cell_free(&cell);
    return array;
}

static json_t *describe(command_context *c, graph_volume *volume, const volume_stats *s, term_printer *printer) {
    json_t *predicates = list_ids(c, printer, &s->predicates, NTRIPLES_PREDICATE);
    json_t *graphs = predicates != NULL ? list_ids(c, printer, &s->graphs, NTRIPLES_GRAPH) : NULL;
    if (graphs == NULL) {
        json_decref(predicates);
        return NULL;
    }
    return json_pack(
        "{s:o, s:s, s:I, s:i, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I}, s:o, s:b, s:o, s:b}", "file",
        command_json_text(graph_volume_path(volume), strlen(graph_volume_path(volume))), "terms_are",
        term_convention_name(graph_volume_terms(volume)), "bytes", (json_int_t)s->bytes, "files", (int)s->n_files, "blocks",
        (json_int_t)s->n_blocks, "terms", (json_int_t)s->n_terms, "statements", (json_int_t)s->n_quins, "triples",
        s->has_triples ? json_integer((json_int_t)s->n_triples) : json_null(), "subjects", (json_int_t)s->n_subjects, "predicates",
        (json_int_t)s->n_predicates, "objects", (json_int_t)s->n_objects, "graphs", (json_int_t)s->n_graphs, "in_default_graph",
        (json_int_t)s->n_default, "inline", "integer", (json_int_t)s->n_integers, "decimal", (json_int_t)s->n_decimals, "boolean",
        (json_int_t)s->n_booleans, "float", (json_int_t)s->n_floats, "by_predicate", predicates, "by_predicate_is_cut",
        s->predicates.is_cut || s->predicates.n_items > settings.top, "by_graph", graphs, "by_graph_is_cut",
        s->graphs.is_cut || s->graphs.n_items > settings.top);
}

static bool print_list(const char *title, const json_t *list, bool is_cut) {
    size_t i;
    json_t *item;
    bool is_written = json_array_size(list) == 0 || (command_write(title, strlen(title)) && command_write("\n", 1));
    json_array_foreach(list, i, item) {
        char number[32];
        const char *term = json_string_value(json_object_get(item, "term"));
        const int n = snprintf(number, sizeof number, "%14" JSON_INTEGER_FORMAT "  ", json_integer_value(json_object_get(item, "count")));
        is_written = is_written && command_write(number, (size_t)n) && command_write(term, strlen(term)) && command_write("\n", 1);
    }
    return is_written && (!is_cut || command_write("           ...\n", 15));
}

static bool print_text(const json_t *object) {
    static const char *const keys[] = {"statements", "triples", "subjects", "predicates", "objects", "graphs", "in_default_graph",
                                       "terms",      "blocks",  "files",    "bytes"};
    bool is_written = true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char line[64];
        const json_t *value = json_object_get(object, keys[i]);
        const int n = json_is_null(value) ? snprintf(line, sizeof line, "%-17s not counted: the order is not total\n", keys[i])
                                          : snprintf(line, sizeof line, "%-17s %" JSON_INTEGER_FORMAT "\n", keys[i], json_integer_value(value));
        is_written = is_written && command_write(line, (size_t)n);
    }
    return is_written && print_list("by predicate", json_object_get(object, "by_predicate"), json_is_true(json_object_get(object, "by_predicate_is_cut"))) &&
           print_list("by graph", json_object_get(object, "by_graph"), json_is_true(json_object_get(object, "by_graph_is_cut")));
}

static int print_stats(command_context *c, graph_volume *volume, const volume_stats *stats) {
    term_printer printer;
    char note[320];
    qn_status status = term_printer_init(&printer, volume, &c->err);
    json_t *object = status == QN_OK ? describe(c, volume, stats, &printer) : NULL;
    const bool has_note = term_counts_describe(&printer.counts, note, sizeof note);
    term_printer_deinit(&printer);
    if (object == NULL) {
        return command_fail(c);
    }
    if (has_note) {
        log_line(QN_LOG_INFO, "note: %s", note);
    }
    if (c->json) {
        return command_print_json(c, object);
    }
    const bool is_written = print_text(object);
    json_decref(object);
    return is_written ? EXIT_DONE : EXIT_IO;
}

static int run(command_context *c) {
    uint64_t memory;
    if (c->args.n_items != 1) {
        FAIL(&c->err, QN_BAD_INPUT, "stats needs one VOLUME; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    if (volume_options_memory(settings.memory, &memory, &c->err) < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    graph_volume *volume = NULL;
    volume_stats stats = {.n_quins = 0};
    command_progress progress;
    qn_status status = graph_volume_open(c->args.items[0], settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                         volume_options_terms(settings.terms), &volume, &c->err);
    if (status == QN_OK) {
        command_catch_signals(c);
        command_begin_progress(&progress, c, "counting");
        status = volume_stats_count(volume, memory, command_show_progress, &progress, &stats, &c->err);
        command_end_progress(&progress);
    }
    if (status == QN_OK) {
        status = graph_volume_check_files(volume, &c->err);
    }
    const int exit_status = status < 0 ? command_fail(c) : print_stats(c, volume, &stats);
    volume_stats_free(&stats);
    graph_volume_close(volume);
    return exit_status;
}

const command command_stats = {.name = "stats",
                               .summary = "Count the statements and terms of a Q42 volume",
                               .synopsis = "VOLUME [options]",
                               .example = "  quoin stats schema.q42\n  quoin stats schema.q42 --json --top 10\n",
                               .options = stats_options,
                               .run = run, .is_without_backend = true};
