/* adapter_options.c — the option's text, the set, the lines and the JSON about it. */
#include "cli/adapter_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "common/sha.h"

#define MOST_SCALE 1e6

/* Does it look like a number? A file name may hold =, and then most often no number behind it. */
static bool is_number(const char *text) {
    const size_t digits = strspn(text, "0123456789");
    const size_t sign = strspn(text, "+-");
    return digits > 0 || (sign > 0 && sign <= 1 && (text[sign] == '.' || strspn(text + sign, "0123456789") > 0)) ||
           (text[0] == '.' && strspn(text + 1, "0123456789") > 0);
}

qn_status adapter_option_parse(const char *text, char **out_path, float *out_scale, error_context *err) {
    const char *equals = strrchr(text, '=');
    double scale = 1.0;
    const option row = {OPTION_FLOAT, "adapter", 0, NULL, NULL, &scale, -MOST_SCALE, MOST_SCALE, NULL, NULL};
    const bool has_scale = equals != NULL && is_number(equals + 1) && strchr(equals, '/') == NULL;
    const size_t length = has_scale ? (size_t)(equals - text) : strlen(text);
    if (length == 0) {
        return FAIL(err, QN_BAD_INPUT, "--adapter %s: must be FILE or FILE=SCALE", text);
    }
    if (has_scale) {
        QN_TRY(option_set(&row, equals + 1, "--", err), err, "reading --adapter %s", text);
    }
    char *path = malloc(length + 1);
    if (path == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a path");
    }
    memcpy(path, text, length);
    path[length] = '\0';
    *out_path = path;
    *out_scale = (float)scale;
    return QN_OK;
}

static void print_use(const adapter_use *use) {
    const adapter *a = &use->from;
    if (!use->is_applied) {
        log_line(QN_LOG_WARN, "adapter left out: %s", use->reason);
        return;
    }
    log_line(QN_LOG_INFO, "adapter: %s, %s, %u matrices changed, %.1f MiB, scale %g", a->path, adapter_form_name(a->form),
             a->n_pairs, (double)a->bytes / 1048576.0, (double)use->strength);
    if (a->n_ignored > 0) {
        log_line(QN_LOG_WARN, "%s: %u tensors of norms are left out, the first is %s", a->path, a->n_ignored, a->first_ignored);
    }
}

qn_status adapter_options_open(const option_list *list, const model *m, bool is_strict, adapter_set *out_set,
                               error_context *err) {
    adapter_request requests[OPTION_LIST_MAX];
    char *paths[OPTION_LIST_MAX] = {NULL};
    qn_status status = QN_OK;
    memset(out_set, 0, sizeof *out_set);
    for (uint32_t i = 0; i < list->n_items && status == QN_OK; i++) {
        status = adapter_option_parse(list->items[i], &paths[i], &requests[i].strength, err);
        requests[i].path = paths[i];
    }
    if (status == QN_OK && list->n_items > 0) {
        status = adapter_set_open(m, requests, list->n_items, is_strict, out_set, err);
    }
    for (uint32_t i = 0; i < list->n_items; i++) {
        free(paths[i]);
    }
    for (uint32_t i = 0; i < out_set->n_uses; i++) {
        print_use(&out_set->uses[i]);
    }
    return status;
}

json_t *adapter_set_json(const adapter_set *set) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < set->n_uses; i++) {
        const adapter_use *use = &set->uses[i];
        char hex[SHA256_HEX_SIZE];
        sha256_to_hex(use->from.digest, hex);
        json_array_append_new(
            list, json_pack("{s:o, s:s, s:s, s:f, s:i, s:I, s:b, s:o}", "file",
                            command_json_text(use->from.path, strlen(use->from.path)), "form",
                            adapter_form_name(use->from.form), "sha256", hex, "scale", (double)use->strength, "matrices",
                            (int)use->from.n_pairs, "bytes", (json_int_t)use->from.bytes, "applied", use->is_applied, "reason",
                            use->is_applied ? json_null() : command_json_text(use->reason, strlen(use->reason))));
    }
    return list;
}
