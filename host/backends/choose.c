/* choose.c — trying the alternatives of a request in their order. */
#include "backends/choose.h"

#include <stdio.h>
#include <string.h>

#include "backends/choice.h"
#include "backends/refusal.h"
#include "base/log.h"

#define MAX_ALTERNATIVES 8

surveyor *choice_asker(choice *c) {
    if (!c->is_asking) {
        survey_begin(&c->asker, c->services, c->request->probe_timeout, c->request->is_renewing);
        c->is_asking = true;
    }
    return &c->asker;
}

qn_status choice_model(choice *c, const workload **out_model, error_context *err) {
    if (!c->has_model) {
        c->model = workload_usual();
        if (c->request->measure != NULL) {
            QN_TRY(c->request->measure(c->request->ctx, &c->model, err), err, "counting what the model needs");
        }
        c->has_model = true;
    }
    *out_model = &c->model;
    return QN_OK;
}

qn_status choice_fill(const choice *c, const backend_spec *spec, backend_spec *out, error_context *err) {
    *out = *spec;
    for (uint32_t i = 0; i < c->request->n_defaults; i++) {
        const backend_default *wanted = &c->request->defaults[i];
        if (strcmp(wanted->backend, spec->name) == 0) {
            QN_TRY(backend_spec_add(out, wanted->key, wanted->value, err), err, "adding options from the configuration");
        }
    }
    return QN_OK;
}

bool choice_may_go_on(qn_status status) {
    switch (status) {
    case QN_BAD_FILE:
    case QN_CHECKSUM:
    case QN_CANCELLED:
    case QN_LIMIT:
    case QN_NO_HOST_MEM: return false;
    default: return true;
    }
}

qn_status choice_accept(const choice *c, backend *on, error_context *err) {
    const qn_status status = c->request->accept != NULL ? c->request->accept(c->request->ctx, on, err) : QN_OK;
    if (status < 0) {
        backend_close(on);
    }
    return status;
}

qn_status choice_open(const choice *c, const backend_spec *full, backend *out, error_context *err) {
    const qn_status status = backend_open(c->reg, c->services, full, out, err);
    return status >= 0 ? choice_accept(c, out, err) : status;
}

/* Asks about a backend that the user named, and about the one device that was meant. */
static qn_status ask_named(choice *c, const registry_entry *entry, const backend_spec *full, error_context *err) {
    survey_result result;
    survey_need need = {.level = 2, .is_named = true};
    QN_TRY(choice_model(c, &need.model, err), err, "probing backend %s", full->name);
    survey_ask(choice_asker(c), entry, full, &need, &result);
    const probe_answer *answer = &result.probe.answer;
    if (answer->end.status < 0) {
        return survey_refuse(full->name, NULL, &answer->end, true, err);
    }
    const probe_device *failed = NULL;
    for (uint32_t i = 0; i < answer->n_devices; i++) {
        const probe_device *device = &answer->devices[i];
        if (device->is_tried && device->end.status >= 0) {
            return QN_OK;
        }
        failed = failed == NULL && device->is_tried ? device : failed;
    }
    /* When none was tried, opening says why. */
    return failed == NULL ? QN_OK : survey_refuse(full->name, &failed->info, &failed->end, true, err);
}

qn_status choice_open_named(choice *c, const backend_spec *spec, backend *out, error_context *err) {
    backend_spec full;
    char program[REGISTRY_PATH_SIZE];
    const int index = registry_find(c->reg, spec->name);
    QN_TRY(choice_fill(c, spec, &full, err), err, "preparing backend %s", spec->name);
    if (index >= 0 && !registry_is_own(&c->reg->entries[index]) && probe_find_program(program, sizeof program)) {
        QN_TRY(ask_named(c, &c->reg->entries[index], &full, err), err, "probing backend %s", spec->name);
    }
    return backend_open(c->reg, c->services, &full, out, err);
}

static qn_status try_named(choice *c, const backend_spec *spec, backend *out, error_context *err) {
    const qn_status status = choice_open_named(c, spec, out, err);
    return status >= 0 ? choice_accept(c, out, err) : status;
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

/* `gpu`: every plugin whose note says so, in place of the alternative; the list is printed. */
static qn_status expand_alias(const registry *reg, backend_spec specs[MAX_ALTERNATIVES], uint32_t *n, uint32_t at,
                              error_context *err) {
    const backend_spec alias = specs[at];
    char list[512] = "";
    uint32_t n_found = 0;
    for (uint32_t i = 0; i < reg->n_entries && *n + n_found <= MAX_ALTERNATIVES; i++) {
        const registry_entry *entry = &reg->entries[i];
        const bool is_gpu = entry->elf.has_note && (entry->elf.note.device_class == QN_DEVICE_GPU ||
                                                    entry->elf.note.device_class == QN_DEVICE_IGPU);
        if (is_gpu) {
            const uint32_t room_at = at + n_found;
            if (n_found > 0) {
                memmove(&specs[room_at + 1], &specs[room_at], (*n - room_at) * sizeof *specs);
                ++*n;
            }
            specs[room_at] = alias;
            snprintf(specs[room_at].name, sizeof specs[room_at].name, "%s", entry->name);
            const size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", n_found > 0 ? ";" : "", entry->name);
            n_found++;
        }
    }
    if (n_found == 0) {
        return backend_refuse(err, alias.name, "discovery", QN_NOT_FOUND, "there is no plugin for GPUs; quoin backends lists what there is");
    }
    log_line(QN_LOG_INFO, "backend %s means %s", alias.name, list);
    return QN_OK;
}

static qn_status expand_aliases(const registry *reg, backend_spec specs[MAX_ALTERNATIVES], uint32_t *n, error_context *err) {
    for (uint32_t i = 0; i < *n; i++) {
        if (strcmp(specs[i].name, "gpu") == 0 && registry_find(reg, "gpu") < 0) {
            return expand_alias(reg, specs, n, i, err); /* once: what it stands for is never an alias */
        }
    }
    return QN_OK;
}

static qn_status try_alternatives(choice *c, const backend_spec *specs, uint32_t n, backend *out, error_context *err) {
    error_context refusal = {0}; /* of our own, because the caller's may be null and the words are printed */
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) {
            log_line(QN_LOG_INFO, "%s", error_text(&refusal)); /* the last refusal is the caller's error */
        }
        error_clear(&refusal);
        status = strcmp(specs[i].name, "auto") == 0 ? choose_automatically(c, out, &refusal)
                                                    : try_named(c, &specs[i], out, &refusal);
        if (status == QN_OK) {
            return QN_OK;
        }
        if (!choice_may_go_on(status)) {
            break;
        }
    }
    if (err != NULL) {
        *err = refusal;
    }
    return status;
}

qn_status backend_choose(registry *reg, host_services *services, const backend_request *request, backend *out,
                         bool *out_was_named, error_context *err) {
    const char *text = request->text != NULL && request->text[0] != '\0' ? request->text : "auto";
    choice c = {.reg = reg, .services = services, .request = request};
    backend_spec specs[MAX_ALTERNATIVES + 1];
    uint32_t n = 0;
    const bool is_split = request->layers_on != NULL && request->layers_on[0] != '\0';
    *out_was_named = is_split;
    memset(out, 0, sizeof *out);
    QN_TRY(parse_request(text, specs, &n, err), err, "choosing a backend");
    *out_was_named = is_split || (n == 1 && strcmp(specs[0].name, "auto") != 0);
    QN_TRY(expand_aliases(reg, specs, &n, err), err, "choosing a backend");
    *out_was_named = *out_was_named && n == 1;
    const qn_status status = is_split ? choose_split(&c, out, err) : try_alternatives(&c, specs, n, out, err);
    if (c.is_asking) {
        survey_end(&c.asker);
    }
    return status;
}

/* Does it load? What it answers when it is started is no matter here. */
static qn_status load_for_help(choice *c, registry_entry *entry, const backend_spec *spec, error_context *err) {
    survey_result result;
    const survey_need need = {.level = 1, .is_named = true};
    char program[REGISTRY_PATH_SIZE];
    if (!registry_is_own(entry) && probe_find_program(program, sizeof program)) {
        survey_ask(choice_asker(c), entry, spec, &need, &result);
        const probe_end *end = &result.probe.answer.end;
        if (end->status < 0 && strcmp(end->stage, "start") != 0 && strcmp(end->stage, "devices") != 0) {
            return survey_refuse(spec->name, NULL, end, true, err);
        }
    }
    return registry_load(entry, &c->services->machine, err);
}

qn_status backend_find_help(registry *reg, host_services *services, const backend_request *request,
                            const registry_entry **out_entry, error_context *err) {
    choice c = {.reg = reg, .services = services, .request = request};
    backend_spec specs[MAX_ALTERNATIVES + 1];
    uint32_t n = 0;
    *out_entry = NULL;
    QN_TRY(parse_request(request->text, specs, &n, err), err, "reading the backend request");
    for (uint32_t i = 0; i < n; i++) {
        if (specs[i].wants_help) {
            backend_spec spec = {.wants_help = false}; /* the name alone */
            snprintf(spec.name, sizeof spec.name, "%s", specs[i].name);
            const int index = registry_find(reg, spec.name);
            if (index < 0) {
                return backend_refuse(err, spec.name, "discovery", QN_NOT_FOUND,
                                      "no %s.quoin.so in the plugin folders; quoin backends lists what there is", spec.name);
            }
            const qn_status status = load_for_help(&c, &reg->entries[index], &spec, err);
            if (c.is_asking) {
                survey_end(&c.asker);
            }
            *out_entry = status < 0 ? NULL : &reg->entries[index];
            return status;
        }
    }
    return QN_OK;
}
