/* choose.c — parsing a backend request, trying its alternatives, opening one device. */
#include "backends/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "base/log.h"

#define MAX_DEVICES 16

static qn_status add_option(backend_spec *spec, const char *text, size_t length, size_t column, error_context *err) {
    const char *equals = memchr(text, '=', length);
    if (equals == NULL || equals == text) {
        return FAIL(err, QN_BAD_INPUT, "backend option at column %zu: \"%.*s\" is not key=value", column, (int)length,
                    text);
    }
    const size_t key_length = (size_t)(equals - text), value_length = length - key_length - 1;
    if (spec->n_options == BACKEND_MAX_OPTIONS || key_length >= sizeof spec->keys[0] ||
        value_length >= sizeof spec->values[0]) {
        return FAIL(err, QN_BAD_INPUT, "backend option at column %zu: too many or too long", column);
    }
    snprintf(spec->keys[spec->n_options], sizeof spec->keys[0], "%.*s", (int)key_length, text);
    snprintf(spec->values[spec->n_options], sizeof spec->values[0], "%.*s", (int)value_length, equals + 1);
    spec->n_options++;
    return QN_OK;
}

static size_t span_until(const char *text, size_t length, const char *stops) {
    size_t n = 0;
    while (n < length && strchr(stops, text[n]) == NULL) {
        n++;
    }
    return n;
}

qn_status backend_parse_spec(const char *text, size_t length, backend_spec *out, error_context *err) {
    memset(out, 0, sizeof *out);
    size_t at = span_until(text, length, ":,/");
    if (at == 0 || at >= sizeof out->name) {
        return FAIL(err, QN_BAD_INPUT, "backend request \"%.*s\": a name is expected at column 1", (int)length, text);
    }
    snprintf(out->name, sizeof out->name, "%.*s", (int)at, text);
    if (at < length && text[at] == '/') {
        const size_t n = span_until(text + at + 1, length - at - 1, ":,");
        char option[BACKEND_TEXT_SIZE];
        const int n_option = snprintf(option, sizeof option, "isa=%.*s", (int)n, text + at + 1);
        QN_TRY(add_option(out, option, (size_t)n_option < sizeof option ? (size_t)n_option : sizeof option - 1, at + 2,
                          err),
               err, "reading the backend request");
        at += n + 1;
    }
    if (at < length && text[at] == ':') {
        const size_t n = span_until(text + at + 1, length - at - 1, ",");
        if (n >= sizeof out->device) {
            return FAIL(err, QN_BAD_INPUT, "backend request: the device at column %zu is too long", at + 2);
        }
        snprintf(out->device, sizeof out->device, "%.*s", (int)n, text + at + 1);
        at += n + 1;
    }
    while (at < length) { /* text[at] is ',' */
        const size_t n = span_until(text + at + 1, length - at - 1, ",");
        QN_TRY(add_option(out, text + at + 1, n, at + 2, err), err, "reading the backend request");
        at += n + 1;
    }
    return QN_OK;
}

/* Number of single-letter edits is overkill here: the nearest key is the one that shares the longest beginning. */
static const char *nearest_key(const qn_query_out *facts, const char *key) {
    const char *best = "";
    size_t best_length = 0;
    for (uint32_t i = 0; i < facts->n_options; i++) {
        const qn_option_info *info = (const qn_option_info *)(const void *)((const char *)facts->options +
                                                                            (size_t)i * facts->option_stride);
        size_t n = 0;
        while (key[n] != '\0' && key[n] == info->key[n]) {
            n++;
        }
        if (n >= best_length) {
            best_length = n;
            best = info->key;
        }
    }
    return best;
}

static const qn_option_info *find_option(const qn_query_out *facts, const char *key) {
    for (uint32_t i = 0; i < facts->n_options; i++) {
        const qn_option_info *info = (const qn_option_info *)(const void *)((const char *)facts->options +
                                                                            (size_t)i * facts->option_stride);
        if (strcmp(info->key, key) == 0) {
            return info;
        }
    }
    return NULL;
}

/* Is `value` one of "a|b|c"? */
static bool is_choice(const char *choices, const char *value) {
    const size_t length = strlen(value);
    while (*choices != '\0') {
        const size_t n = strcspn(choices, "|");
        if (n == length && memcmp(choices, value, n) == 0) {
            return true;
        }
        choices += n + (choices[n] == '|');
    }
    return false;
}

/* Options of the spec that apply at `when`; unknown keys and impossible values are refused before any
 * of them is used. */
static qn_status collect_options(const registry_entry *entry, const backend_spec *spec, uint32_t when,
                                 qn_option options[BACKEND_MAX_OPTIONS], uint32_t *out_count, error_context *err) {
    *out_count = 0;
    for (uint32_t i = 0; i < spec->n_options; i++) {
        const qn_option_info *info = find_option(&entry->facts, spec->keys[i]);
        if (info == NULL) {
            return FAIL(err, QN_BAD_INPUT, "backend %s has no option \"%s\"%s%s", entry->name, spec->keys[i],
                        entry->facts.n_options > 0 ? "; the nearest is " : "",
                        nearest_key(&entry->facts, spec->keys[i]));
        }
        if (info->type == QN_OPTION_CHOICE && !is_choice(info->choices, spec->values[i])) {
            return FAIL(err, QN_BAD_INPUT, "backend %s: %s=%s: choose one of %s", entry->name, spec->keys[i],
                        spec->values[i], info->choices);
        }
        if ((info->applies & when) != 0) {
            options[(*out_count)++] = (qn_option){spec->keys[i], spec->values[i]};
        }
    }
    return QN_OK;
}

static qn_status from_plugin(const char *backend_name, const char *stage, qn_status code, const qn_error *plugin_error,
                             error_context *err) {
    return FAIL(err, code, "backend %s refused at %s: %s: %s", backend_name, stage, status_name(code),
                plugin_error->text[0] != '\0' ? plugin_error->text : "no reason given");
}

static bool is_wanted_device(const qn_device_info *info, const backend_spec *spec) {
    if (spec->device[0] == '\0') {
        return (info->flags & QN_DEVICE_SOFTWARE) == 0;
    }
    return strcmp(info->id, spec->device) == 0 ||
           (strcmp(spec->device, "software") == 0 && (info->flags & QN_DEVICE_SOFTWARE) != 0);
}

static qn_status pick_device(const backend *b, qn_device_info *out, error_context *err) {
    qn_device_info infos[MAX_DEVICES];
    uint32_t count = 0;
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    for (uint32_t i = 0; i < MAX_DEVICES; i++) {
        infos[i].size = sizeof infos[i];
    }
    const qn_status status = b->plugin->devices(b->state, infos, sizeof infos[0], MAX_DEVICES, &count, &plugin_error);
    if (status < 0) {
        return from_plugin(b->spec.name, "devices", status, &plugin_error, err);
    }
    for (uint32_t i = 0; i < count && i < MAX_DEVICES; i++) {
        if (is_wanted_device(&infos[i], &b->spec)) {
            *out = infos[i];
            return QN_OK;
        }
    }
    return FAIL(err, QN_UNAVAILABLE, "backend %s refused at devices: %s%s", b->spec.name,
                b->spec.device[0] != '\0' ? "it has no device "
                : count > 0               ? "it has only software devices; name one to use it"
                                          : "it has none",
                b->spec.device);
}

static qn_status start_and_open(const registry_entry *entry, host_services *services, backend *b, error_context *err) {
    qn_option options[BACKEND_MAX_OPTIONS];
    uint32_t n_options = 0;
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    QN_TRY(collect_options(entry, &b->spec, QN_OPTION_AT_START, options, &n_options, err), err, "starting backend %s",
           entry->name);
    qn_status status = b->plugin->start(&services->table, options, n_options, &b->state, &plugin_error);
    if (status < 0) {
        return from_plugin(entry->name, "start", status, &plugin_error, err);
    }
    QN_TRY(pick_device(b, &b->info, err), err, "listing devices of %s", entry->name);
    QN_TRY(collect_options(entry, &b->spec, QN_OPTION_AT_OPEN, options, &n_options, err), err, "opening backend %s",
           entry->name);
    status = b->plugin->open(b->state, b->info.id, options, n_options, &b->device, &plugin_error);
    if (status < 0) {
        return from_plugin(entry->name, "open", status, &plugin_error, err);
    }
    return QN_OK;
}

qn_status backend_open(registry *reg, host_services *services, const backend_spec *spec, backend *out,
                       error_context *err) {
    memset(out, 0, sizeof *out);
    out->spec = *spec;
    const int index = registry_find(reg, spec->name);
    if (index < 0) {
        return FAIL(err, QN_NOT_FOUND,
                    "backend %s refused at discovery: NOT_FOUND: no %s.quoin.so in the plugin folders; quoin backends "
                    "lists them",
                    spec->name, spec->name);
    }
    registry_entry *entry = &reg->entries[index];
    QN_TRY(registry_load(entry, &services->machine, err), err, "loading backend %s", spec->name);
    out->plugin = entry->facts.plugin;
    out->version = entry->facts.version;
    const qn_status status = start_and_open(entry, services, out, err);
    if (status < 0) {
        backend_close(out);
    }
    return status;
}

void backend_close(backend *b) {
    if (b->plugin != NULL) {
        if (b->device != NULL) {
            b->plugin->close(b->device);
        }
        if (b->state != NULL) {
            b->plugin->stop(b->state);
        }
    }
    memset(b, 0, sizeof *b);
}

static qn_status choose_automatically(registry *reg, host_services *services, backend *out, error_context *err) {
    backend_spec spec;
    error_context cpu_error = {0};
    backend_parse_spec("cpu", 3, &spec, NULL);
    qn_status status = backend_open(reg, services, &spec, out, &cpu_error);
    if (status == QN_OK) {
        status = backend_known_answer(out, &cpu_error);
        if (status == QN_OK) {
            return QN_OK;
        }
        backend_close(out);
    }
    log_line(QN_LOG_WARN, "%s; using the slow reference backend instead", error_text(&cpu_error));
    backend_parse_spec("reference", 9, &spec, NULL);
    return backend_open(reg, services, &spec, out, err);
}

qn_status backend_choose(registry *reg, host_services *services, const char *request, backend *out, bool *out_was_named,
                         error_context *err) {
    *out_was_named = false;
    if (request == NULL || request[0] == '\0' || strcmp(request, "auto") == 0) {
        return choose_automatically(reg, services, out, err);
    }
    *out_was_named = strchr(request, ';') == NULL;
    qn_status status = QN_BAD_INPUT;
    for (const char *at = request; *at != '\0';) {
        const size_t length = strcspn(at, ";");
        backend_spec spec;
        status = backend_parse_spec(at, length, &spec, err);
        if (status < 0) {
            return status;
        }
        status = strcmp(spec.name, "auto") == 0 ? choose_automatically(reg, services, out, err)
                                                : backend_open(reg, services, &spec, out, err);
        if (status == QN_OK) {
            return QN_OK;
        }
        at += length + (at[length] == ';');
        if (*at != '\0') {
            log_line(QN_LOG_INFO, "%s", error_text(err));
        }
    }
    return status;
}
