/* cmd_convert.c — quoin convert: a GGUF model, a folder of Safetensors, or a P64 container becomes a P64 container. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/progress.h"
#include "adapt/adapter.h"
#include "cli/adapter_output.h"
#include "cli/command.h"
#include "cli/layout_auto.h"
#include "convert/convert.h"
#include "convert/key_image.h"
#include "convert/p64_to_p64.h"
#include "convert/safetensors_to_p64.h"
#include "graph/volume_writer.h"
#include "keys/key_text.h"
#include "model/companion.h"
#include "model/model.h"

static struct {
    const char *output, *companion, *layout, *weights, *base;
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
         "the companion volume to write (default: the output's name with .q42 for .p64)", &settings.companion, 0, 0,
         NULL, NULL},
        {OPTION_FLAG, "no-companion", 0, NULL, "write the container alone, for readers of P64 only; says what it loses",
         &settings.no_companion, 0, 0, NULL, NULL},
        {OPTION_STRING, "layout", 0, "NAME",
         "packed (layer after layer, default), panel (packed, and matrices as the cpu reads them: nothing to rearrange at start), "
         "plain (source order, every blob on a page) or auto (measures packed and panel on the backend, and says so)",
         &settings.layout, 0, 0, "packed|panel|plain|auto", NULL},
        {OPTION_STRING, "weights", 0, "NAME", "keep (every byte, default), q4_k_soa, f16, ffn-q4_0 or ffn-ternary; with --layout auto also auto (q4_k_soa where that is faster)",
         &settings.weights, 0, 0, "keep|q4_k_soa|f16|ffn-q4_0|ffn-ternary|auto", NULL},
        {OPTION_UINT, "page-log2", 0, "N", "pages of 2^N bytes", &settings.page_log2, 8, 30, NULL, NULL},
        {OPTION_FLAG, "extended", 0, NULL,
         "also write what the reference's extended profile has (head size, window, stop ids, …)", &settings.is_extended,
         0, 0, NULL, NULL},
        {OPTION_FLAG, "force", 0, NULL, "replace an existing output and its companion", &settings.is_forced, 0, 0, NULL,
         NULL},
        {OPTION_FLAG, "check", 0, NULL, "read the result back and compare it with the source (on unless --no-check)",
         &settings.check, 0, 0, NULL, NULL},
        {OPTION_STRING, "base", 0, "MODEL", "INPUT is a LoRA adapter: write it as version 2, for this model alone (NAME.lora)",
         &settings.base, 0, 0, NULL, NULL},
        {OPTION_FLAG, "no-check", 0, NULL, "do not read the result back", &settings.no_check, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

typedef struct conversion {
    command_context *c;
    bool is_folder;    /* not a GGUF file */
    bool is_container; /* a P64 */
    command_progress progress;
    const char *output;
    const char *companion; /* null: none */
    char beside[COMPANION_PATH_SIZE];
    uint64_t timestamp_ms;
    layout_auto layouts; /* zero without --layout auto */
    json_t *lost, *notes;
} conversion;

static p64_layout find_layout(const char *name) {
    return strcmp(name, "plain") == 0 ? P64_LAYOUT_PLAIN : strcmp(name, "panel") == 0 ? P64_LAYOUT_PANEL : P64_LAYOUT_PACKED;
}

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

/* "auto" is keep until something is measured. */
static p64_form find_form(const char *name) {
    static const char *const names[] = {"keep", "q4_k_soa", "f16", "ffn-q4_0", "ffn-ternary"};
    p64_form form = 0;
    while (form < sizeof names / sizeof names[0] && strcmp(names[form], name) != 0) {
        form++;
    }
    return form < sizeof names / sizeof names[0] ? form : P64_FORM_KEEP;
}

static bool is_measuring(void) {
    return strcmp(settings.layout, "auto") == 0;
}

static fmt_status choose_layout(void *ctx, const p64_source *source, p64_write_options *options, fmt_diag *diag) {
    return layout_auto_choose(&((conversion *)ctx)->layouts, source, options, diag);
}

/* INPUT with its ending (of a folder: its last slashes) replaced by .p64, malloc'ed; a container gets the layout's name, so that
 * it does not become its own output. */
static char *derive_output(const char *input) {
    static const char *const endings[] = {".gguf", ".safetensors", ".safetensors.index.json", ".p64"};
    size_t base = strlen(input);
    bool is_container = false;
    while (base > 1 && input[base - 1] == '/') {
        base--;
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t length = strlen(endings[i]);
        if (base > length && strcasecmp(input + base - length, endings[i]) == 0) {
            base -= length;
            is_container = strcmp(endings[i], ".p64") == 0;
            break;
        }
    }
    const size_t room = base + strlen(settings.layout) + sizeof "..p64";
    char *path = malloc(room);
    if (path != NULL) {
        snprintf(path, room, "%.*s%s%s.p64", (int)base, input, is_container ? "." : "", is_container ? settings.layout : "");
    }
    return path;
}

static const char *describe_alone(const convert_facts_report *facts) {
    return !facts->runs_alone ? "it cannot run alone: it needs the companion volume, or run the GGUF itself"
           : facts->needs_assumption ? "it runs alone with --assume llama" : "it runs alone";
}

static json_t *describe_companion(const conversion *v, const convert_report *report) {
    return report->companion_bytes == 0
               ? json_null()
               : json_pack("{s:o, s:I, s:I}", "file", command_json_text(v->companion, strlen(v->companion)), "bytes",
                           (json_int_t)report->companion_bytes, "statements", (json_int_t)report->companion_statements);
}

static int print_report(conversion *v, const convert_report *report, const convert_facts_report *facts) {
    const bool is_checked = !settings.no_check;
    const char *output = v->output;
    if (v->c->json) {
        json_t *object = json_object();
        json_object_set_new(object, "output", json_string(output));
        json_object_set_new(object, "bytes", json_integer((json_int_t)report->size));
        json_object_set_new(object, "tensors", json_integer(report->n_tensors));
        json_object_set_new(object, "converted", json_integer(report->n_converted));
        json_object_set_new(object, "panels", json_integer(report->n_panels));
        json_object_set_new(object, "kept", json_integer(report->n_kept));
        json_object_set_new(object, "checked", json_boolean(is_checked));
        json_object_set_new(object, "bytes_equal", json_integer((json_int_t)report->parity.bytes_equal));
        json_object_set_new(object, "runs_alone", json_boolean(facts->runs_alone));
        json_object_set_new(object, "needs_assumption", json_boolean(facts->needs_assumption));
        json_object_set_new(object, "companion", describe_companion(v, report));
        json_object_set_new(object, "layouts", layout_auto_json(&v->layouts));
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
    if (report->n_panels > 0) {
        n += snprintf(line + n, sizeof line - (size_t)n, "; %u in panels%s", report->n_panels,
                      is_checked ? ", compared after turning them back" : "");
    }
    n += snprintf(line + n, sizeof line - (size_t)n, "\n");
    if (!layout_auto_print(&v->layouts) || !command_write(line, (size_t)n)) {
        return EXIT_IO;
    }
    if (report->companion_bytes == 0 && v->is_folder) {
        log_line(QN_LOG_INFO, "a container of Safetensors holds weights and nothing else: it cannot run without a "
                              "companion volume");
        return EXIT_DONE;
    }
    if (report->companion_bytes == 0 && v->is_container) {
        log_line(QN_LOG_INFO, "the container has no companion, as the one that it was made of");
        return EXIT_DONE;
    }
    if (report->companion_bytes == 0) {
        log_line(QN_LOG_INFO, "%u facts of the source are not in a P64 alone (-v lists them all); %s", facts->n_lost,
                 describe_alone(facts));
        return EXIT_DONE;
    }
    n = snprintf(line, sizeof line, "%.400s: its companion, %" PRIu64 " statements, %" PRIu64 " bytes\n", v->companion,
                 report->companion_statements, report->companion_bytes);
    return command_write(line, (size_t)n) ? EXIT_DONE : EXIT_IO;
}

static convert_request make_request(conversion *v) {
    return (convert_request){
        .output_path = v->output,
        .companion_path = v->companion,
        .timestamp_ms = v->timestamp_ms,
        .is_forced = settings.is_forced,
        .is_checked = !settings.no_check,
        .note = on_note,
        .progress = on_progress,
        .choose = is_measuring() ? choose_layout : NULL,
        .ctx = v,
        .options = {.layout = find_layout(settings.layout),
                    .form = find_form(settings.weights),
                    .page_log2 = settings.page_log2,
                    .is_extended = settings.is_extended}};
}

static int fail_conversion(command_context *c, fmt_status status, const fmt_diag *diag, const char *input,
                           const char *output) {
    if (status == FMT_CANCELLED) {
        FAIL(&c->err, QN_CANCELLED, "interrupted; nothing was written");
    } else {
        companion_fail(&c->err, status, diag, diag->rule != NULL && strcmp(diag->rule, "file") == 0 ? output : input);
    }
    return command_fail(c);
}

static int convert_model(conversion *v, const model *m) {
    gguf_source source;
    fmt_diag diag;
    convert_report report = {0};
    fmt_status status = gguf_source_init(&source, &m->gguf, &diag);
    if (status == FMT_OK) {
        convert_request request = make_request(v);
        request.gguf = &m->gguf;
        request.input_path = m->file.path;
        request.mapping = &m->file;
        command_begin_progress(&v->progress, v->c, "converting");
        status = convert_gguf(&request, &report, &diag);
        command_end_progress(&v->progress);
    }
    if (status != FMT_OK) {
        return fail_conversion(v->c, status, &diag, m->file.path, v->output);
    }
    const bool loses = v->companion == NULL;
    const convert_facts_report facts = convert_facts(&source, settings.is_extended, loses ? on_fact : NULL, v);
    return print_report(v, &report, &facts);
}

/* Weights without a config.json become a container that nothing says how to run. */
static int convert_weights_of(conversion *v, const hf_folder *folder, const key_image *keys) {
    fmt_diag diag;
    convert_report report = {0};
    convert_request request = make_request(v);
    const convert_facts_report facts = {0};
    request.keys = keys;
    request.companion_path = keys != NULL ? v->companion : NULL;
    if (keys == NULL) {
        log_line(QN_LOG_INFO, "%s: no config.json: the weights are converted alone, and the container cannot be run",
                 folder->path);
    } else if (folder->tokenizer.root == NULL) {
        log_line(QN_LOG_INFO, "%s: no tokenizer.json: the container cannot be run", folder->path);
    }
    command_begin_progress(&v->progress, v->c, "converting");
    const fmt_status status = convert_safetensors(&request, folder, &report, &diag);
    command_end_progress(&v->progress);
    return status == FMT_OK ? print_report(v, &report, &facts)
                            : fail_conversion(v->c, status, &diag, folder->shards[0].file.path, v->output);
}

static int convert_folder(conversion *v, const char *input) {
    command_context *c = v->c;
    hf_folder *folder = NULL;
    key_image keys = {.bytes = NULL};
    int status;
    if (strcmp(settings.weights, "keep") != 0 && strcmp(settings.weights, "auto") != 0) {
        FAIL(&c->err, QN_BAD_INPUT, "--weights %s: only weights of a GGUF are converted; Safetensors are kept",
             settings.weights);
        return command_fail(c);
    }
    if (hf_folder_open(input, &folder, &c->err) < 0) {
        return command_fail(c);
    }
    const bool has_keys = folder->config.root != NULL;
    if (has_keys && key_image_from_folder(folder, &keys, &c->err) < 0) {
        status = command_fail(c);
    } else {
        status = convert_weights_of(v, folder, has_keys ? &keys : NULL);
    }
    key_image_free(&keys);
    hf_folder_close(folder);
    return status;
}

/* The companion of the source says what its own will say, but for the container that it names. */
static qn_status find_keys(const model *m, const companion *from, key_image *out, error_context *err) {
    const char *slash = strrchr(m->file.path, '/');
    *out = (key_image){.file = from->image.file,
                       .rope_type = from->rope_type[0] != '\0' ? from->rope_type : NULL,
                       .dims_order = from->dims_order,
                       .source_format = from->source_format,
                       .source_name = slash != NULL ? slash + 1 : m->file.path,
                       .holds_tokenizer = !m->p64.tokenizer.is_present};
    if (strlen(from->source_sha256) != 2 * SHA256_BYTES || !key_parse_hex(from->source_sha256, SHA256_BYTES, out->source_sha256)) {
        return FAIL(err, QN_BAD_FILE, "%s: its companion does not say the SHA-256 of what it was made of", m->file.path);
    }
    return QN_OK;
}

static int write_p64(conversion *v, const model *m, const key_image *keys) {
    fmt_diag diag;
    convert_report report = {0};
    const convert_facts_report facts = {0};
    convert_request request = make_request(v);
    request.keys = keys;
    request.companion_path = keys != NULL ? v->companion : NULL;
    command_begin_progress(&v->progress, v->c, "converting");
    const fmt_status status = convert_p64(&request, &m->p64, &m->file, &report, &diag);
    command_end_progress(&v->progress);
    return status == FMT_OK ? print_report(v, &report, &facts) : fail_conversion(v->c, status, &diag, m->file.path, v->output);
}

static int convert_container(conversion *v, const model *m) {
    const companion_options options = {.mode = FMT_MODE_DEFAULT, .note = on_note, .note_ctx = v};
    companion from;
    key_image keys;
    v->is_container = true;
    int status;
    if (companion_open(m->file.path, &m->p64, &options, &from, &v->c->err) < 0) {
        status = command_fail(v->c);
    } else if (from.state != COMPANION_BOUND) {
        status = write_p64(v, m, NULL);
    } else {
        status = find_keys(m, &from, &keys, &v->c->err) < 0 ? command_fail(v->c) : write_p64(v, m, &keys);
    }
    companion_close(&from);
    return status;
}

static int convert_gguf_file(conversion *v, const char *input) {
    const model_options options = {.container_only = true};
    command_context *c = v->c;
    model *m = NULL;
    int status;
    if (model_open(input, &options, NULL, &m, &c->err) < 0) {
        status = command_fail(c);
    } else {
        status = m->format == MODEL_P64 ? convert_container(v, m) : convert_model(v, m);
    }
    model_close(m);
    return status;
}

/* Where the companion goes, and the time that it is stamped with. */
static qn_status choose_companion(conversion *v, error_context *err) {
    if (settings.no_companion) {
        return settings.companion == NULL
                   ? QN_OK
                   : FAIL(err, QN_BAD_INPUT, "--companion and --no-companion do not go together");
    }
    if (settings.companion == NULL && !companion_path_of(v->output, v->beside)) {
        return FAIL(err, QN_BAD_INPUT, "%.200s: the path is too long for a companion beside it", v->output);
    }
    v->companion = settings.companion != NULL ? settings.companion : v->beside;
    return volume_timestamp(&v->timestamp_ms, err);
}

static int convert_input(conversion *v, const char *input) {
    v->layouts = (layout_auto){.c = v->c, .output = v->output, .is_forced = settings.is_forced,
                               .may_convert = strcmp(settings.weights, "auto") == 0};
    if (is_measuring() && layout_auto_begin(&v->layouts) < 0) {
        return command_fail(v->c);
    }
    v->lost = json_array();
    v->notes = json_array();
    v->is_folder = hf_is_source(input);
    const int status = v->is_folder ? convert_folder(v, input) : convert_gguf_file(v, input);
    json_decref(v->lost);
    json_decref(v->notes);
    layout_auto_end(&v->layouts);
    return status;
}

static int run(command_context *c) {
    conversion v = {.c = c};
    if (c->args.n_items != 1) {
        FAIL(&c->err, QN_BAD_INPUT, "convert needs one GGUF file, P64 container or folder of Safetensors; %u arguments were given",
             c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    if (strcmp(settings.weights, "auto") == 0 && !is_measuring()) {
        FAIL(&c->err, QN_BAD_INPUT, "--weights auto goes with --layout auto, which measures what it would choose by");
        command_fail(c);
        return EXIT_USAGE;
    }
    command_catch_signals(c);
    const char *input = c->args.items[0];
    if (settings.base != NULL) {
        return adapter_convert(c, input, settings.base, settings.output, settings.is_forced);
    }
    if (adapter_is_file(input)) {
        FAIL(&c->err, QN_BAD_INPUT, "%s: is an adapter; --base MODEL says which model it is for", input);
        command_fail(c);
        return EXIT_USAGE;
    }
    char *derived = settings.output == NULL ? derive_output(input) : NULL;
    int status = EXIT_USAGE;
    v.output = settings.output != NULL ? settings.output : derived;
    if (v.output == NULL) {
        FAIL(&c->err, QN_NO_HOST_MEM, "out of memory for a path");
        status = command_fail(c);
    } else if (choose_companion(&v, &c->err) < 0) {
        command_fail(c);
    } else {
        status = convert_input(&v, input);
    }
    free(derived);
    return status;
}

const command command_convert = {
    .name = "convert", .summary = "Write a GGUF model, a P64 container or a folder of Safetensors as a P64 container",
    .synopsis = "MODEL.gguf|MODEL.p64|FOLDER [-o FILE] [options]",
    .example = "  quoin convert smollm2.gguf -o smollm2.p64\n  quoin convert model.gguf --weights q4_k_soa --json\n"
               "  quoin convert model.p64 --layout panel -o model.panel.p64\n"
               "  quoin convert model.gguf --layout auto --weights auto\n",
    .options = convert_options, .run = run};
