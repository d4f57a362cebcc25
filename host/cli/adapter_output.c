/* adapter_output.c — what adapter files hold, whether they are sound, and binding one to a model. */
#include "cli/adapter_output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapt/adapter.h"
#include "base/clock.h"
#include "base/log.h"
#include "common/sha.h"

static json_t *describe_pair(const lora_pair *pair) {
    const blk_info *info = blk_get_info(pair->type);
    return json_pack("{s:s, s:o, s:i, s:f, s:I, s:I, s:s}", "role", lora_role_name(pair->role), "layer",
                     pair->layer == LORA_NO_LAYER ? json_null() : json_integer(pair->layer), "rank", (int)pair->rank, "alpha",
                     (double)pair->alpha, "n_in", (json_int_t)pair->n_in, "n_out", (json_int_t)pair->n_out, "type",
                     info != NULL ? info->name : "unknown");
}

json_t *adapter_inspect(command_context *c, const char *path, bool is_listing) {
    adapter a;
    char digest[SHA256_HEX_SIZE], base[SHA256_HEX_SIZE];
    if (adapter_open(path, &a, &c->err) < 0) {
        return NULL;
    }
    sha256_to_hex(a.digest, digest);
    sha256_to_hex(a.base, base);
    json_t *object = json_pack("{s:o, s:s, s:I, s:s, s:o, s:i, s:I}", "file", command_json_text(path, strlen(path)), "format",
                               adapter_form_name(a.form), "bytes", (json_int_t)a.file_bytes, "sha256", digest, "base_sha256",
                               a.form == ADAPTER_LORA_V2 ? json_string(base) : json_null(), "matrices", (int)a.n_pairs,
                               "matrix_bytes", (json_int_t)a.bytes);
    if (is_listing) {
        json_t *list = json_array();
        for (uint32_t i = 0; i < a.n_pairs; i++) {
            json_array_append_new(list, describe_pair(&a.pairs[i]));
        }
        json_object_set_new(object, "matrix_list", list);
    }
    adapter_close(&a);
    return object;
}

/* The keys of every other file's verdict. */
static int print_verdict(command_context *c, const char *path, const adapter *a, double seconds, qn_status status) {
    if (c->json) {
        const char *message = status < 0 ? error_text(&c->err) : "";
        json_t *object = json_pack("{s:b, s:s, s:o, s:o, s:o, s:[], s:i, s:I, s:f}", "valid", status == QN_OK, "format",
                                   status == QN_OK ? adapter_form_name(a->form) : "adapter", "rule",
                                   c->err.rule != NULL ? json_string(c->err.rule) : json_null(), "offset",
                                   c->err.rule != NULL ? json_integer((json_int_t)c->err.offset) : json_null(), "message",
                                   command_json_text(message, strlen(message)), "notes", "matrices", (int)a->n_pairs, "bytes",
                                   (json_int_t)a->file_bytes, "seconds", seconds);
        const int printed = command_print_json(c, object);
        return printed != EXIT_DONE ? printed : command_exit_status(c, status);
    }
    if (status < 0) {
        return command_fail(c);
    }
    char line[512];
    const int n = snprintf(line, sizeof line, "%.300s: ok: %s, %u matrices, %" PRIu64 " bytes\n", path,
                           adapter_form_name(a->form), a->n_pairs, a->file_bytes);
    return command_write(line, (size_t)n) ? EXIT_DONE : EXIT_IO;
}

int adapter_verify(command_context *c, const char *path) {
    adapter a;
    const double begin = clock_seconds();
    const qn_status status = adapter_open(path, &a, &c->err);
    const int exit_status = print_verdict(c, path, &a, clock_seconds() - begin, status);
    adapter_close(&a);
    return exit_status;
}

/* ---------------------------------------------------------------- binding to a model */

/* malloc'ed; null without memory. */
static char *derive_output(const char *path) {
    const char *dot = strrchr(path, '.');
    const size_t base = dot != NULL && strchr(dot, '/') == NULL && strcasecmp(dot, ".lora") != 0 ? (size_t)(dot - path)
                                                                                                   : strlen(path);
    char *output = malloc(base + sizeof ".lora");
    if (output != NULL) {
        snprintf(output, base + sizeof ".lora", "%.*s.lora", (int)base, path);
    }
    return output;
}

static int print_bound(command_context *c, const adapter *a, const model *m, const char *output) {
    char digest[SHA256_HEX_SIZE];
    adapter made;
    if (adapter_open(output, &made, &c->err) < 0) { /* what was written is read back */
        return command_fail(c);
    }
    sha256_to_hex(made.base, digest);
    int status;
    if (c->json) {
        status = command_print_json(c, json_pack("{s:o, s:I, s:i, s:s, s:i}", "output", command_json_text(output, strlen(output)),
                                                 "bytes", (json_int_t)made.file_bytes, "matrices", (int)made.n_pairs,
                                                 "base_sha256", digest, "left_out", (int)a->n_ignored));
    } else {
        char line[700];
        const int n = snprintf(line, sizeof line, "%.300s: %u matrices, %" PRIu64 " bytes, for %.300s alone\n", output,
                               made.n_pairs, made.file_bytes, m->file.path);
        status = command_write(line, (size_t)n) ? EXIT_DONE : EXIT_IO;
    }
    if (a->n_ignored > 0) {
        log_line(QN_LOG_WARN, "%u tensors of norms are not in it, the first is %s", a->n_ignored, a->first_ignored);
    }
    adapter_close(&made);
    return status;
}

static qn_status bind_to(command_context *c, adapter *a, const char *base, const char *output, bool is_forced, model **out_m) {
    const model_options options = {.skip_integrity = true, .skip_weight_check = true};
    if (a->form == ADAPTER_LORA_V2) {
        return FAIL(&c->err, QN_BAD_INPUT, "%s: is %s already, and belongs to the model that it names", a->path,
                    adapter_form_name(a->form));
    }
    QN_TRY(model_open(base, &options, NULL, out_m, &c->err), &c->err, "opening the model");
    return adapter_bind(a, *out_m, output, is_forced, &c->err);
}

int adapter_convert(command_context *c, const char *path, const char *base, const char *output, bool is_forced) {
    adapter a;
    model *m = NULL;
    char *derived = output == NULL ? derive_output(path) : NULL;
    const char *target = output != NULL ? output : derived;
    int exit_status;
    if (target == NULL || adapter_open(path, &a, &c->err) < 0) {
        free(derived);
        return target != NULL ? command_fail(c) : EXIT_NO_MEMORY;
    }
    exit_status = bind_to(c, &a, base, target, is_forced, &m) < 0 ? command_fail(c) : print_bound(c, &a, m, target);
    model_close(m);
    adapter_close(&a);
    free(derived);
    return exit_status;
}
