/* choose.c — trying the alternatives of a request, opening one device. */
#include "backends/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "backends/refusal.h"
#include "base/log.h"
#include "base/words.h"

#define MAX_DEVICES 16
#define MAX_ALTERNATIVES 8

/* What plugins are told with: nothing of them may be read before they fill it. */
static qn_error make_plugin_error(void) {
    return (qn_error){.size = sizeof(qn_error), .op = QN_NO_OP};
}

static const qn_option_info *get_option(const qn_query_out *facts, uint32_t index) {
    return (const void *)((const char *)facts->options + (size_t)index * facts->option_stride);
}

static const qn_option_info *find_option(const qn_query_out *facts, const char *key) {
    for (uint32_t i = 0; i < facts->n_options; i++) {
        if (strcmp(get_option(facts, i)->key, key) == 0) {
            return get_option(facts, i);
        }
    }
    return NULL;
}

typedef struct key_walk {
    const qn_query_out *facts;
    uint32_t at;
} key_walk;

static const char *next_key(void *ctx) {
    key_walk *walk = ctx;
    return walk->at < walk->facts->n_options ? get_option(walk->facts, walk->at++)->key : NULL;
}

static qn_status refuse_key(const registry_entry *entry, const char *key, error_context *err) {
    key_walk walk = {&entry->facts, 0};
    const char *nearest = words_find_nearest(key, next_key, &walk);
    if (nearest != NULL) {
        return backend_refuse(err, entry->name, "options", QN_BAD_INPUT, "it has no option \"%s\"; did you mean %s?", key,
                              nearest);
    }
    return backend_refuse(err, entry->name, "options", QN_BAD_INPUT,
                          entry->facts.n_options > 0 ? "it has no option \"%s\"; quoin backends --json lists what it has"
                                                     : "it has no option \"%s\", nor any other",
                          key);
}

static bool is_number(const char *text) {
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* Is the value one that an option of this type can have? A string can be anything. */
static bool is_legal_value(const qn_option_info *info, const char *value) {
    switch (info->type) {
    case QN_OPTION_CHOICE: return words_has_choice(info->choices, value);
    case QN_OPTION_BOOL: return words_has_choice("true|false|yes|no|on|off|1|0", value);
    case QN_OPTION_UINT: return is_number(value);
    default: return true;
    }
}

static const char *describe_values(const qn_option_info *info) {
    return info->type == QN_OPTION_CHOICE ? info->choices : info->type == QN_OPTION_UINT ? "a whole number" : "on|off";
}

/* Unknown keys and impossible values are refused before any option is used. */
static qn_status check_options(const registry_entry *entry, const backend_spec *spec, error_context *err) {
    for (uint32_t i = 0; i < spec->n_options; i++) {
        const qn_option_info *info = find_option(&entry->facts, spec->keys[i]);
        if (info == NULL) {
            return refuse_key(entry, spec->keys[i], err);
        }
        if (!is_legal_value(info, spec->values[i])) {
            return backend_refuse(err, entry->name, "options", QN_BAD_INPUT, "%s=%s: must be %s%s", spec->keys[i],
                                  spec->values[i], info->type == QN_OPTION_CHOICE ? "one of " : "", describe_values(info));
        }
    }
    return QN_OK;
}

/* The checked options that apply at `when`; they point into the spec. Returns how many. */
static uint32_t collect_options(const registry_entry *entry, const backend_spec *spec, uint32_t when,
                                qn_option options[BACKEND_MAX_OPTIONS]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < spec->n_options; i++) {
        if ((find_option(&entry->facts, spec->keys[i])->applies & when) != 0) {
            options[n++] = (qn_option){spec->keys[i], spec->values[i]};
        }
    }
    return n;
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
    qn_error plugin_error = make_plugin_error();
    memset(infos, 0, sizeof infos);
    for (uint32_t i = 0; i < MAX_DEVICES; i++) {
        infos[i].size = sizeof infos[i];
    }
    const qn_status status = b->plugin->devices(b->state, infos, sizeof infos[0], MAX_DEVICES, &count, &plugin_error);
    if (status < 0) {
        return backend_refuse_plugin(err, b->spec.name, "devices", status, &plugin_error);
    }
    for (uint32_t i = 0; i < count && i < MAX_DEVICES; i++) {
        if (is_wanted_device(&infos[i], &b->spec)) {
            *out = infos[i];
            return QN_OK;
        }
    }
    if (b->spec.device[0] != '\0') {
        return backend_refuse(err, b->spec.name, "devices", QN_UNAVAILABLE, "it has no device %s among its %u; the first is %s",
                              b->spec.device, count, count > 0 ? infos[0].id : "none");
    }
    return backend_refuse(err, b->spec.name, "devices", QN_UNAVAILABLE, "%s",
                          count > 0 ? "it has only software devices; name one, such as NAME:software, to use it"
                                    : "it has no device");
}

static qn_status start_and_open(const registry_entry *entry, host_services *services, backend *b, error_context *err) {
    qn_option options[BACKEND_MAX_OPTIONS];
    qn_error plugin_error = make_plugin_error();
    QN_TRY(check_options(entry, &b->spec, err), err, "starting backend %s", entry->name);
    uint32_t n_options = collect_options(entry, &b->spec, QN_OPTION_AT_START, options);
    qn_status status = b->plugin->start(&services->table, options, n_options, &b->state, &plugin_error);
    if (status < 0) {
        return backend_refuse_plugin(err, entry->name, "start", status, &plugin_error);
    }
    QN_TRY(pick_device(b, &b->info, err), err, "listing devices of %s", entry->name);
    n_options = collect_options(entry, &b->spec, QN_OPTION_AT_OPEN, options);
    status = b->plugin->open(b->state, b->info.id, options, n_options, &b->device, &plugin_error);
    return status < 0 ? backend_refuse_plugin(err, entry->name, "open", status, &plugin_error) : QN_OK;
}

qn_status backend_open(registry *reg, host_services *services, const backend_spec *spec, backend *out,
                       error_context *err) {
    memset(out, 0, sizeof *out);
    out->spec = *spec;
    const int index = registry_find(reg, spec->name);
    if (index < 0) {
        return backend_refuse(err, spec->name, "discovery", QN_NOT_FOUND,
                              "no %s.quoin.so in the plugin folders; quoin backends lists what there is", spec->name);
    }
    registry_entry *entry = &reg->entries[index];
    QN_TRY(registry_load(entry, &services->machine, err), err, "loading backend %s", spec->name);
    out->plugin = entry->facts.plugin;
    out->version = entry->facts.version != NULL ? entry->facts.version : "?";
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

/* A request that was read: what to try in which order, with the configuration's options filled in. */
typedef struct choice {
    registry *reg;
    host_services *services;
    const backend_request *request;
} choice;

static qn_status add_defaults(const backend_request *request, backend_spec *spec, error_context *err) {
    for (uint32_t i = 0; i < request->n_defaults; i++) {
        const backend_default *wanted = &request->defaults[i];
        if (strcmp(wanted->backend, spec->name) == 0) {
            QN_TRY(backend_spec_add(spec, wanted->key, wanted->value, err), err, "adding options from the configuration");
        }
    }
    return QN_OK;
}

static qn_status open_spec(const choice *c, const backend_spec *spec, backend *out, error_context *err) {
    backend_spec full = *spec;
    QN_TRY(add_defaults(c->request, &full, err), err, "preparing backend %s", spec->name);
    return backend_open(c->reg, c->services, &full, out, err);
}

static qn_status choose_automatically(const choice *c, backend *out, error_context *err) {
    static const backend_spec cpu = {.name = "cpu"}, reference = {.name = "reference"};
    error_context cpu_error = {0};
    qn_status status = open_spec(c, &cpu, out, &cpu_error);
    if (status == QN_OK) {
        status = backend_known_answer(out, &cpu_error);
        if (status == QN_OK) {
            return QN_OK;
        }
        backend_close(out);
    }
    log_line(QN_LOG_WARN, "%s; using the slow reference backend instead", error_text(&cpu_error));
    return open_spec(c, &reference, out, err);
}

/* The whole request is read before anything is tried: a typing error at its end is no refusal. */
static qn_status parse_request(const char *text, backend_spec specs[MAX_ALTERNATIVES], uint32_t *out_count,
                               error_context *err) {
    uint32_t n = 0;
    for (const char *at = text; *at != '\0' || n == 0;) {
        const size_t length = strcspn(at, ";");
        if (n == MAX_ALTERNATIVES) {
            return FAIL(err, QN_BAD_INPUT, "backend request: more than %d alternatives", MAX_ALTERNATIVES);
        }
        QN_TRY(backend_spec_parse(at, length, &specs[n], err), err, "reading alternative %u of the backend request", n + 1);
        n++;
        at += length;
        if (*at == ';' && *++at == '\0') {
            return FAIL(err, QN_BAD_INPUT, "backend request \"%s\": a name is expected behind the last ;", text);
        }
    }
    *out_count = n;
    return QN_OK;
}

qn_status backend_choose(registry *reg, host_services *services, const backend_request *request, backend *out,
                         bool *out_was_named, error_context *err) {
    const char *text = request->text != NULL && request->text[0] != '\0' ? request->text : "auto";
    const choice c = {reg, services, request};
    backend_spec specs[MAX_ALTERNATIVES];
    uint32_t n = 0;
    *out_was_named = false;
    QN_TRY(parse_request(text, specs, &n, err), err, "choosing a backend");
    *out_was_named = n == 1 && strcmp(specs[0].name, "auto") != 0;
    error_context refusal = {0}; /* of our own, because the caller's may be null and the words are printed */
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) {
            log_line(QN_LOG_INFO, "%s", error_text(&refusal)); /* the last refusal is the caller's error */
        }
        status = strcmp(specs[i].name, "auto") == 0 ? choose_automatically(&c, out, &refusal)
                                                    : open_spec(&c, &specs[i], out, &refusal);
        if (status == QN_OK) {
            return QN_OK;
        }
    }
    if (err != NULL) {
        *err = refusal;
    }
    return status;
}
