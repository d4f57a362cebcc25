/* choose.c — trying the alternatives of a request, opening one device. */
#include "backends/choose.h"

#include <stdio.h>
#include <string.h>

#include "backends/refusal.h"
#include "base/log.h"

#define MAX_ALTERNATIVES 8

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
