/* plan_bind.c — weights where they lie; panels as such, or as standard blocks. */
#include "decode/plan_bind.h"

#include <inttypes.h>
#include <stdlib.h>

#include <quoin/glue.h>

static qn_status bind_some(plan *p, const qn_weight *weights, uint32_t n_weights, error_context *err) {
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    const qn_status status = p->on->plugin->bind_weights(p->prog, weights, sizeof *weights, n_weights, &plugin_error);
    return status >= 0 ? QN_OK : plan_plugin_error(p, "bind", status, &plugin_error, err);
}

/* Panels of a tensor whose buffer wants standard blocks. */
static bool has_to_be_unpacked(const plan *p, const weight_binding *w) {
    return w->tensor->is_in_panels && w->values == NULL &&
           (qn_program_buffer(p->dec->program, w->buffer)->flags & QN_BUFFER_PANELS) == 0;
}

static qn_weight describe_weight(const weight_binding *w) {
    qn_weight weight = {.size = sizeof weight,
                        .buffer = w->buffer,
                        .flags = QN_WEIGHT_BORROW,
                        .fd = w->tensor->file != NULL ? w->tensor->file->fd : -1,
                        .data = w->tensor->data,
                        .bytes = w->tensor->bytes,
                        .fd_offset = w->tensor->at,
                        .first_element = w->first_element};
    if (w->values != NULL) {
        weight.fd = -1;
        weight.data = w->values;
        weight.bytes = w->tensor->dims[0] * sizeof *w->values;
        weight.fd_offset = 0;
    }
    return weight;
}

static qn_weight describe_delta(const delta_binding *w) {
    return (qn_weight){.size = sizeof(qn_weight),
                       .buffer = w->buffer,
                       .flags = QN_WEIGHT_BORROW,
                       .fd = -1,
                       .data = w->data,
                       .bytes = w->bytes};
}

/* Everything that is bound where it lies, in one call. */
static qn_status bind_in_place(plan *p, error_context *err) {
    const decoder *d = p->dec;
    qn_weight *weights = calloc((size_t)d->n_weights + d->n_delta_weights + 1, sizeof *weights);
    uint32_t n = 0;
    if (weights == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for %u weight descriptions", d->n_weights + d->n_delta_weights);
    }
    for (uint32_t i = 0; i < d->n_weights; i++) {
        if (!has_to_be_unpacked(p, &d->weights[i])) {
            weights[n++] = describe_weight(&d->weights[i]);
        }
    }
    for (uint32_t i = 0; i < d->n_delta_weights; i++) {
        weights[n++] = describe_delta(&d->delta_weights[i]);
    }
    const qn_status status = bind_some(p, weights, n, err);
    free(weights);
    return status;
}

static qn_status bind_unpacked(plan *p, const weight_binding *w, error_context *err) {
    blk_panels panels;
    uint64_t bytes = 0;
    if (!model_tensor_panels(w->tensor, &panels) ||
        blk_tensor_bytes(w->tensor->type, w->tensor->rank, w->tensor->dims, &bytes) != FMT_OK) {
        return FAIL(err, QN_INTERNAL, "tensor %.*s has no panels", (int)w->tensor->name.size, w->tensor->name.data);
    }
    uint8_t *standard = malloc((size_t)bytes);
    if (standard == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for %" PRIu64 " bytes of tensor %.*s in standard blocks", bytes,
                    (int)w->tensor->name.size, w->tensor->name.data);
    }
    blk_panels_unpack(&panels, 0, panels.n_panels, standard);
    qn_weight weight = describe_weight(w);
    weight.flags = QN_WEIGHT_COPY;
    weight.fd = -1;
    weight.fd_offset = 0;
    weight.data = standard;
    weight.bytes = bytes;
    const qn_status status = bind_some(p, &weight, 1, err);
    free(standard);
    return status;
}

qn_status plan_bind(plan *p, error_context *err) {
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    QN_TRY(bind_in_place(p, err), err, "giving the weights to backend %s", p->on->spec.name);
    for (uint32_t i = 0; i < p->dec->n_weights; i++) {
        if (has_to_be_unpacked(p, &p->dec->weights[i])) {
            QN_TRY(bind_unpacked(p, &p->dec->weights[i], err), err, "giving the weights to backend %s", p->on->spec.name);
        }
    }
    const qn_status status = p->on->plugin->seal(p->prog, &plugin_error);
    return status >= 0 ? QN_OK : plan_plugin_error(p, "bind", status, &plugin_error, err);
}
