/* cmd_inspect.c — quoin inspect: what a file holds, without using its weights. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "adapt/adapter.h"
#include "cli/adapter_output.h"
#include "cli/command.h"
#include "cli/inspect_graph.h"
#include "cli/verify_output.h"
#include "model/model.h"

#define SHORT_STRING 64u
#define SHOWN_ELEMENTS 4u

static struct {
    const char *companion;
    bool strict, all_keys, show_tensors, explain, check_all, is_flat;
} settings;

static const option *inspect_options(void) {
    static const option table[] = {
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standard", &settings.strict, 0, 0, NULL, NULL},
        {OPTION_FLAG, "tensors", 0, NULL, "also list the tensors", &settings.show_tensors, 0, 0, NULL, NULL},
        {OPTION_FLAG, "full", 0, NULL, "do not shorten long strings and lists", &settings.all_keys, 0, 0, NULL, NULL},
        {OPTION_STRING, "companion", 0, "FILE", "companion volume of a P64 (default: beside it, NAME.q42 for NAME.p64)",
         &settings.companion, 0, 0, NULL, NULL},
        {OPTION_FLAG, "explain", 0, NULL, "Q42 volumes: name the quin that keeps it from being published",
         &settings.explain, 0, 0, NULL, NULL},
        {OPTION_FLAG, "check-all", 0, NULL, "Q42: make all checks of verify first", &settings.check_all, 0, 0, NULL,
         NULL},
        {OPTION_FLAG, "flat", 0, NULL, "a file without any mark is bare quins of 48 bytes", &settings.is_flat, 0, 0,
         NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

static json_t *describe_array(const gguf_array *array) {
    json_t *object = json_pack("{s:s, s:I}", "array_of", gguf_type_name(array->type), "length",
                               (json_int_t)array->count);
    json_t *first = json_array();
    gguf_iter iter = gguf_iterate(array);
    for (uint64_t i = 0; i < array->count && i < SHOWN_ELEMENTS; i++) {
        uint64_t whole;
        double real;
        bool flag;
        fmt_str text;
        if (gguf_array_u64(array, i, &whole)) {
            json_array_append_new(first, json_integer((json_int_t)whole));
        } else if (gguf_array_f64(array, i, &real)) {
            json_array_append_new(first, json_real(real));
        } else if (gguf_array_bool(array, i, &flag)) {
            json_array_append_new(first, json_boolean(flag));
        } else if (gguf_next_string(&iter, &text)) {
            json_array_append_new(first, command_json_text(text.data, text.size));
        }
    }
    json_object_set_new(object, "first", first);
    return object;
}

static json_t *describe_value(const gguf_kv *kv) {
    uint64_t whole;
    int64_t negative;
    double real;
    bool flag;
    fmt_str text;
    gguf_array array;
    if (gguf_kv_u64(kv, &whole)) {
        return json_integer((json_int_t)whole);
    }
    if (gguf_kv_i64(kv, &negative)) {
        return json_integer((json_int_t)negative);
    }
    if (gguf_kv_f64(kv, &real)) {
        return json_real(real);
    }
    if (gguf_kv_bool(kv, &flag)) {
        return json_boolean(flag);
    }
    if (gguf_kv_string(kv, &text)) {
        const bool is_cut = text.size > SHORT_STRING && !settings.all_keys && gguf_type_class(kv->type) == GGUF_STRINGS;
        return command_json_text(text.data, is_cut ? SHORT_STRING : text.size);
    }
    return gguf_kv_array(kv, &array) ? describe_array(&array) : json_null();
}

static json_t *describe_keys(const gguf_file *file) {
    json_t *keys = json_object();
    for (uint64_t i = 0; i < file->n_kv; i++) {
        const gguf_kv *kv = &file->kvs[i];
        json_t *value = describe_value(kv);
        char name[256]; /* longer keys than this are nobody's; they are shown cut */
        snprintf(name, sizeof name, "%.*s", (int)(kv->key.size < sizeof name ? kv->key.size : sizeof name - 1),
                 kv->key.data);
        if (json_object_set_new(keys, name, value) != 0) {
            json_object_set_new(keys, "(a key that is no UTF-8)", json_null());
        }
    }
    return keys;
}

static json_t *describe_gguf(const model *m) {
    return json_pack("{s:i, s:i, s:I, s:o}", "version", (int)m->gguf.version, "alignment", (int)m->gguf.alignment,
                     "data_at", (json_int_t)m->gguf.data_at, "keys", describe_keys(&m->gguf));
}

static json_t *describe_p64(const model *m) {
    const p64_header *h = &m->p64.header;
    const p64_hparams *p = &m->p64.hparams;
    const p64_tokenizer *t = &m->p64.tokenizer;
    char crc[16];
    snprintf(crc, sizeof crc, "%08x", m->p64.metadata_crc);
    json_t *object = json_pack("{s:i, s:i, s:i, s:s}", "version", (int)h->version, "flags", (int)h->flags, "page_size",
                               (int)h->page_size, "metadata_crc32c", crc);
    json_object_set_new(object, "hparams",
                        json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:i, s:i, s:i, s:f, s:i}", "n_layer",
                                  (int)p->n_layer, "n_embd", (int)p->n_embd, "n_head", (int)p->n_head, "n_kv_head",
                                  (int)p->n_kv_head, "vocab_size", (int)p->vocab_size, "rope_freq_base",
                                  (double)p->rope_freq_base, "rope_scale", (double)p->rope_scale, "head_dim",
                                  (int)p->head_dim, "sliding_window", (int)p->sliding_window, "shared_kv_layers",
                                  (int)p->shared_kv_layers, "logit_softcap", (double)p->logit_softcap, "architecture",
                                  (int)p->architecture));
    json_object_set_new(object, "tokenizer",
                        !t->is_present ? json_null()
                                       : json_pack("{s:i, s:i, s:i, s:i, s:i, s:b, s:o}", "version", (int)t->version,
                                                   "tokens", (int)t->n_tokens, "merges", (int)t->n_merges, "bos",
                                                   (int)t->bos, "eos", (int)t->eos, "add_bos", t->add_bos, "pre",
                                                   command_json_text(t->pre.data, t->pre.size)));
    return object;
}

static void on_note(void *ctx, const fmt_diag *note) {
    (void)ctx;
    log_line(QN_LOG_INFO, "note: byte %" PRIu64 ": %s (rule %s)", note->offset, note->text, note->rule);
}

/* What stands beside the container, and whether it is its own: a companion that is refused is shown with the reason. */
static void describe_companion(const model *m, json_t *head) {
    const companion_options options = {.path = settings.companion,
                                       .mode = settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                       .note = on_note};
    error_context err = {0};
    companion c;
    json_t *object = json_object();
    const qn_status status = companion_open(m->file.path, &m->p64, &options, &c, &err);
    json_object_set_new(object, "state", json_string(status < 0 ? "refused" : companion_state_name(c.state)));
    if (status < 0) {
        json_object_set_new(object, "reason", command_json_text(error_text(&err), strlen(error_text(&err))));
    }
    if (c.file.path != NULL) {
        json_object_set_new(object, "file", command_json_text(c.file.path, strlen(c.file.path)));
        json_object_set_new(object, "bytes", json_integer((json_int_t)c.file.span.size));
        json_object_set_new(object, "statements", json_integer((json_int_t)c.n_statements));
    }
    json_object_set_new(head, "companion", object);
    if (c.state == COMPANION_BOUND) {
        json_object_set_new(object, "source_format", json_string(c.source_format));
        json_object_set_new(object, "source_sha256", json_string(c.source_sha256));
        json_object_set_new(object, "container_sha256", json_string(c.p64_sha256));
        json_object_set_new(object, "rope_type", json_string(c.rope_type));
        json_object_set_new(object, "dims_order", json_string(c.dims_order));
        json_object_set_new(head, "keys", describe_keys(&c.image.file));
    }
    companion_close(&c);
}

static json_t *describe_tensor(const model_tensor *t) {
    const uint32_t dtype = t->is_in_panels ? BLK_PANEL_DTYPE + t->type : t->type;
    json_t *dims = json_array();
    for (uint32_t i = 0; i < t->rank; i++) {
        json_array_append_new(dims, json_integer((json_int_t)t->dims[i]));
    }
    return json_pack("{s:o, s:s, s:i, s:o, s:I, s:I}", "name", command_json_text(t->name.data, t->name.size), "type",
                     p64_dtype_name(dtype), "type_number", (int)dtype, "dims", dims, "offset",
                     (json_int_t)t->at, "bytes", (json_int_t)t->bytes);
}

static int compare_places(const void *a, const void *b) {
    const model_tensor *left = a, *right = b;
    return left->at < right->at ? -1 : left->at > right->at;
}

static json_t *describe_tensors(model *m) {
    json_t *list = json_array();
    qsort(m->tensors, m->n_tensors, sizeof *m->tensors, compare_places);
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        json_array_append_new(list, describe_tensor(&m->tensors[i]));
    }
    return list;
}

static bool print_line(const char *key, const json_t *value) {
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    bool is_written = text != NULL && command_write(key, strlen(key)) && command_write(": ", 2) &&
                      command_write(text, strlen(text)) && command_write("\n", 1);
    free(text);
    return is_written;
}

/* Objects one level deep are printed key by key: it stays readable, and it is the same content as --json. */
static bool print_object(const json_t *object, const char *prefix) {
    const char *key;
    json_t *value;
    bool is_written = true;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        char name[256];
        snprintf(name, sizeof name, "%s%.200s", prefix, key);
        if (json_is_object(value) && prefix[0] == '\0' && json_object_get(value, "array_of") == NULL) {
            is_written = is_written && print_object(value, "  ");
        } else if (json_is_array(value)) {
            size_t i;
            json_t *item;
            json_array_foreach(value, i, item) {
                is_written = is_written && print_line(name, item);
            }
        } else {
            is_written = is_written && print_line(name, value);
        }
    }
    return is_written;
}

static int print_model(command_context *c, model *m) {
    json_t *object = m->format == MODEL_P64 ? describe_p64(m) : describe_gguf(m);
    json_t *head = json_pack("{s:o, s:s, s:I, s:I, s:I}", "file", command_json_text(m->file.path, strlen(m->file.path)),
                             "format", model_format_name(m->format), "bytes", (json_int_t)m->file.span.size, "tensors",
                             (json_int_t)m->n_tensors, "weight_bytes", (json_int_t)m->weight_bytes);
    json_object_update(head, object);
    json_decref(object);
    if (m->format == MODEL_P64) {
        describe_companion(m, head);
    }
    if (c->json || settings.show_tensors) {
        json_object_set_new(head, "tensor_list", describe_tensors(m));
    }
    if (c->json) {
        return command_print_json(c, head);
    }
    const bool is_written = print_object(head, "");
    json_decref(head);
    return is_written ? EXIT_DONE : EXIT_IO;
}

static int inspect_model_file(command_context *c) {
    const model_options options = {
        .mode = settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT, .container_only = true, .note = on_note};
    model *m = NULL;
    if (model_open(c->args.items[0], &options, NULL, &m, &c->err) < 0) {
        return command_fail(c);
    }
    const int status = print_model(c, m);
    model_close(m);
    return status;
}

/* Takes over the reference; null: the error is in c->err. */
static int print_found(command_context *c, json_t *object) {
    if (object == NULL) {
        return command_fail(c);
    }
    if (c->json) {
        return command_print_json(c, object);
    }
    const bool is_written = print_object(object, "");
    json_decref(object);
    return is_written ? EXIT_DONE : EXIT_IO;
}

/* EXIT_DONE when every check passed or something is only missing. */
static int check_everything(command_context *c, const file_kind *kind) {
    const verify_volume_options options = {.mode = settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                           .level = Q42_LEVEL_FULL};
    volume_report_list list;
    const verify_file_report *file;
    if (command_start_team(c) < 0) {
        return command_fail(c);
    }
    const qn_status status = file_kind_verify(kind, c->args.items[0], &options, c->workers, &list, &c->err);
    const verify_check *first = status < 0 || list.verdict != Q42_FAIL ? NULL : verify_report_first(&list, &file);
    if (first != NULL) {
        error_from_diag(&c->err, FMT_BAD_FILE, &first->diag, file->path);
    }
    verify_report_free(&list);
    return status < 0 || first != NULL ? command_fail(c) : EXIT_DONE;
}

static int inspect_graph_file(command_context *c, const file_kind *kind) {
    const inspect_options_set options = {.mode = settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                         .explain = settings.explain,
                                         .shows_all = settings.all_keys};
    const int checked = settings.check_all ? check_everything(c, kind) : EXIT_DONE;
    if (checked != EXIT_DONE) {
        return checked;
    }
    return print_found(c, inspect_graph(c, kind, c->args.items[0], &options));
}

static int run(command_context *c) {
    const file_kind *kind;
    if (c->args.n_items != 1) {
        FAIL(&c->err, QN_BAD_INPUT, "inspect needs one FILE; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    command_catch_signals(c);
    if (adapter_is_lora(c->args.items[0])) {
        return print_found(c, adapter_inspect(c, c->args.items[0], c->json || settings.show_tensors));
    }
    if (file_kind_detect(c->args.items[0], settings.is_flat, &kind, &c->err) < 0) {
        return command_fail(c);
    }
    return kind != NULL ? inspect_graph_file(c, kind) : inspect_model_file(c);
}

const command command_inspect = {
    .name = "inspect",
    .summary = "Show what a file holds",
    .synopsis = "FILE [options]",
    .example =
        "  quoin inspect model.p64 --tensors\n  quoin inspect model.gguf --json\n  quoin inspect graph.q42 --explain\n",
    .options = inspect_options,
    .run = run, .is_without_backend = true};
