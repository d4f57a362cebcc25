/* cmd_convert.c — quoin convert: a GGUF model becomes a P64 container. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "convert/convert.h"
#include "model/model.h"

static struct {
    const char *output, *companion, *layout, *weights;
    uint32_t page_log2;
    bool is_extended, is_forced, no_check, check, no_companion;
} settings;

static const option *convert_options(void) {
    settings.layout = "packed";
    settings.weights = "keep";
    settings.page_log2 = 14;
    static const option table[] = {
        {OPTION_STRING, "output", 'o', "FILE", "the container to write (default: the input's name with .p64)",
         &settings.output, 0, 0, NULL, NULL},
        {OPTION_STRING, "companion", 0, "FILE",
         "the companion volume to write (default: the output's name with .q42 for .p64)", &settings.companion, 0, 0, NULL,
         NULL},
        {OPTION_FLAG, "no-companion", 0, NULL,
         "write the container alone, for readers of P64 only; says what it loses", &settings.no_companion, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "layout", 0, "NAME",
         "packed (layer after layer, default), plain (source order, every blob on a page) or auto", &settings.layout, 0,
         0, "packed|plain|auto", NULL},
        {OPTION_STRING, "weights", 0, "NAME", "keep (every byte, default), q4_k_soa, f16, ffn-q4_0 or ffn-ternary",
         &settings.weights, 0, 0, "keep|q4_k_soa|f16|ffn-q4_0|ffn-ternary", NULL},
        {OPTION_UINT, "page-log2", 0, "N", "pages of 2^N bytes", &settings.page_log2, 8, 30, NULL, NULL},
        {OPTION_FLAG, "extended", 0, NULL,
         "also write what the reference's extended profile has (head size, window, stop ids, …)", &settings.is_extended,
         0, 0, NULL, NULL},
        {OPTION_FLAG, "force", 0, NULL, "replace an existing output and its companion", &settings.is_forced, 0, 0, NULL, NULL},
        {OPTION_FLAG, "check", 0, NULL, "read the result back and compare it with the source (on unless --no-check)",
         &settings.check, 0, 0, NULL, NULL},
        {OPTION_FLAG, "no-check", 0, NULL, "do not read the result back", &settings.no_check, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

typedef struct conversion {
    command_context *c;
    command_progress progress;
    json_t *lost, *notes;
} conversion;

static void on_note(void *ctx, const fmt_diag *note) {
    conversion *v = ctx;
    log_line(QN_LOG_INFO, "note: %s (rule %s)", note->text, note->rule);
    json_array_append_new(v->notes, json_string(note->text));
}

static bool on_progress(void *ctx, uint64_t done, uint64_t total) {
    return command_show_progress(&((conversion *)ctx)->progress, done, total);
}

static void on_fact(void *ctx, const convert_fact *fact) {
    conversion *v = ctx;
    log_line(fact->blocks ? QN_LOG_INFO : QN_LOG_DEBUG, "the P64 alone loses %.*s: %s", (int)fact->name.size,
             fact->name.data, fact->text);
    json_array_append_new(v->lost,
                          json_pack("{s:o, s:s, s:b}", "key", command_json_text(fact->name.data, fact->name.size),
                                    "meaning", fact->text, "needed_to_run", fact->blocks));
}

static p64_form find_form(const char *name) {
    static const char *const names[] = {"keep", "q4_k_soa", "f16", "ffn-q4_0", "ffn-ternary"};
    p64_form form = 0;
    while (strcmp(names[form], name) != 0) {
        form++;
    }
    return form;
}

/* INPUT with .gguf replaced by .p64, malloc'ed. */
static char *derive_output(const char *input) {
    const size_t length = strlen(input),
                 base = length > 5 && strcasecmp(input + length - 5, ".gguf") == 0 ? length - 5 : length;
    char *path = malloc(base + 5);
    if (path != NULL) {
        snprintf(path, base + 5, "%.*s.p64", (int)base, input);
    }
    return path;
}

static const char *describe_alone(const convert_facts_report *facts) {
    return !facts->runs_alone ? "it cannot run alone: it needs the companion volume, or run the GGUF itself"
           : facts->needs_assumption ? "it runs alone with --assume llama" : "it runs alone";
}

static int print_report(conversion *v, const char *output, const convert_report *report,
                        const convert_facts_report *facts) {
    const bool is_checked = !settings.no_check;
    if (v->c->json) {
        json_t *object = json_object();
        json_object_set_new(object, "output", json_string(output));
        json_object_set_new(object, "bytes", json_integer((json_int_t)report->size));
        json_object_set_new(object, "tensors", json_integer(report->n_tensors));
        json_object_set_new(object, "converted", json_integer(report->n_converted));
        json_object_set_new(object, "kept", json_integer(report->n_kept));
        json_object_set_new(object, "checked", json_boolean(is_checked));
        json_object_set_new(object, "bytes_equal", json_integer((json_int_t)report->parity.bytes_equal));
        json_object_set_new(object, "runs_alone", json_boolean(facts->runs_alone));
        json_object_set_new(object, "needs_assumption", json_boolean(facts->needs_assumption));
        json_object_set(object, "lost", v->lost);
        json_object_set(object, "notes", v->notes);
        return command_print_json(v->c, object);
    }
    char line[700];
    int n = snprintf(line, sizeof line, "%.400s: %u tensors, %" PRIu64 " bytes", output, report->n_tensors,
                     report->size);
    if (is_checked) {
        n += snprintf(line + n, sizeof line - (size_t)n,
                      "; read back: %u tensors equal to the source byte for byte, %u converted", report->parity.n_equal,
                      report->parity.n_converted);
    }
    n += snprintf(line + n, sizeof line - (size_t)n, "\n");
    if (!command_write(line, (size_t)n)) {
        return EXIT_IO;
    }
    log_line(QN_LOG_INFO, "%u facts of the source are not in a P64 alone (-v lists them all); %s", facts->n_lost,
             describe_alone(facts));
    return EXIT_DONE;
}

static int convert_model(command_context *c, const model *m, const char *output) {
    conversion v = {.c = c, .lost = json_array(), .notes = json_array()};
    gguf_source source;
    fmt_diag diag;
    convert_report report = {0};
    convert_facts_report facts = {0};
    fmt_status status = gguf_source_init(&source, &m->gguf, &diag);
    if (status == FMT_OK) {
        const convert_request request = {
            .gguf = &m->gguf,
            .mapping = &m->file,
            .output_path = output,
            .is_forced = settings.is_forced,
            .is_checked = !settings.no_check,
            .note = on_note,
            .progress = on_progress,
            .ctx = &v,
            .options = {.layout = strcmp(settings.layout, "plain") == 0 ? P64_LAYOUT_PLAIN : P64_LAYOUT_PACKED,
                        .form = find_form(settings.weights),
                        .page_log2 = settings.page_log2,
                        .is_extended = settings.is_extended}};
        command_begin_progress(&v.progress, c, "converting");
        status = convert_gguf(&request, &report, &diag);
        command_end_progress(&v.progress);
    }
    int exit_status;
    if (status == FMT_CANCELLED) {
        FAIL(&c->err, QN_CANCELLED, "interrupted; nothing was written");
        exit_status = command_fail(c);
    } else if (status != FMT_OK) {
        error_from_diag(&c->err, status, &diag,
                        diag.rule != NULL && strcmp(diag.rule, "file") == 0 ? output : m->file.path);
        exit_status = command_fail(c);
    } else {
        facts = convert_facts(&source, settings.is_extended, on_fact, &v);
        exit_status = print_report(&v, output, &report, &facts);
    }
    json_decref(v.lost);
    json_decref(v.notes);
    return exit_status;
}

static int run(command_context *c) {
    const model_options options = {.container_only = true};
    model *m = NULL;
    if (c->args.n_items != 1) {
        FAIL(&c->err, QN_BAD_INPUT, "convert needs one GGUF file; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    command_catch_signals(c);
    char *derived = settings.output == NULL ? derive_output(c->args.items[0]) : NULL;
    const char *output = settings.output != NULL ? settings.output : derived;
    int status;
    if (model_open(c->args.items[0], &options, NULL, &m, &c->err) < 0) {
        status = command_fail(c);
    } else if (m->format != MODEL_GGUF) {
        FAIL(&c->err, QN_BAD_INPUT, "%s: is a %s already; convert reads GGUF", m->file.path,
             model_format_name(m->format));
        status = command_fail(c);
    } else {
        status = convert_model(c, m, output);
    }
    model_close(m);
    free(derived);
    return status;
}

const command command_convert = {
    .name = "convert", .summary = "Write a GGUF model as a P64 container", .synopsis = "MODEL.gguf [-o FILE] [options]",
    .example = "  quoin convert smollm2.gguf -o smollm2.p64\n  quoin convert model.gguf --weights q4_k_soa --json\n",
    .options = convert_options, .run = run};
