/* split_choice.c — --layers-on: one device for the first layers, another backend for the rest; what that will take, said before. */
#include <stdio.h>
#include <string.h>

#include "backends/choice.h"
#include "backends/refusal.h"
#include "backends/split_backend.h"
#include "base/decimal.h"
#include "base/log.h"

static qn_status parse_layers_on(const char *text, backend_spec *out, uint32_t *out_layers, error_context *err) {
    const char *equals = strrchr(text, '=');
    uint64_t n = 0;
    if (equals == NULL || !decimal_read_whole(equals + 1, 100000, &n) || n == 0) {
        return FAIL(err, QN_BAD_INPUT, "--layers-on %s: must be BACKEND[:DEVICE]=N, N layers of at least 1", text);
    }
    *out_layers = (uint32_t)n;
    return backend_spec_parse(text, (size_t)(equals - text), out, err);
}

/* The timings of one half, when they are known or may be taken; false otherwise. */
static bool predict_half(choice *c, const backend *on, const workload *model, double *out_ms) {
    survey_result result;
    const survey_need need = {.level = 3, .model = model};
    const int index = registry_find(c->reg, on->spec.name);
    qn_format format;
    if (index < 0 || c->request->is_unmeasured || c->reg->entries[index].origin == REGISTRY_BUILT_IN) {
        return false;
    }
    survey_ask(choice_asker(c), &c->reg->entries[index], &on->spec, &need, &result);
    for (uint32_t i = 0; i < result.probe.answer.n_devices; i++) {
        candidate one = {.name = on->spec.name, .device = result.probe.answer.devices[i]};
        if (strcmp(one.device.info.id, on->info.id) == 0 && score_predict(&one, model, &format) && one.is_measured) {
            *out_ms = one.ms;
            return true;
        }
    }
    return false;
}

/* Layers are taken as equally heavy, and what is not in a layer as the second half's share of nothing: good enough for one line. */
static void print_split(choice *c, const backend *first, const backend *second, uint32_t n_layers) {
    char speed[96] = "unmeasured";
    double first_ms, second_ms;
    const workload *model = NULL;
    const uint32_t n = choice_model(c, &model, NULL) >= 0 ? model->n_layers : 0;
    if (n > n_layers && predict_half(c, first, model, &first_ms) && predict_half(c, second, model, &second_ms)) {
        snprintf(speed, sizeof speed, "predicted %.3g ms/token, %.3g on %.16s alone",
                 (first_ms * n_layers + second_ms * (n - n_layers)) / n, second_ms, second->spec.name);
    }
    log_line(QN_LOG_INFO, "layers 0 to %u on backend %s device %s, the rest on %s: %s", n_layers - 1, first->spec.name,
             first->info.id, second->spec.name, speed);
}

/* The backend for the rest: what --backend says when that is one name, otherwise cpu or the reference. */
static qn_status parse_rest(const choice *c, backend_spec *out, error_context *err) {
    const char *text = c->request->text;
    if (text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0) {
        text = registry_find(c->reg, "cpu") >= 0 ? "cpu" : "reference";
    }
    if (strchr(text, ';') != NULL) {
        return FAIL(err, QN_BAD_INPUT, "--layers-on: --backend must be one name, for the layers that are left; not \"%s\"", text);
    }
    return backend_spec_parse(text, strlen(text), out, err);
}

qn_status choose_split(choice *c, backend *out, error_context *err) {
    backend_spec first_spec, second_spec;
    backend first, second;
    uint32_t n_layers = 0;
    QN_TRY(parse_layers_on(c->request->layers_on, &first_spec, &n_layers, err), err, "reading --layers-on");
    QN_TRY(parse_rest(c, &second_spec, err), err, "reading --layers-on");
    QN_TRY(choice_open_named(c, &first_spec, &first, err), err, "opening the device of --layers-on");
    qn_status status = choice_open_named(c, &second_spec, &second, err);
    if (status < 0) {
        backend_close(&first);
        return status;
    }
    print_split(c, &first, &second, n_layers);
    QN_TRY(split_backend_open(&first, &second, n_layers, out, err), err, "dividing the model");
    return choice_accept(c, out, err);
}
