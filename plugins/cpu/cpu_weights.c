/* cpu_weights.c — binding: which form a weight takes, packing it in parallel, and the facts that only seal can make. */
#include <math.h>
#include <string.h>

#include <quoin/glue.h>

#include "cpu_internal.h"

uint32_t cpu_weight_form(const qn_prog *prog, uint32_t buffer) {
    const qn_buffer *const info = qn_program_buffer(prog->program, buffer);
    bool gathered = false;
    if ((info->flags & QN_BUFFER_PANELS) != 0) {
        return CPU_WEIGHT_PANELS;
    }
    for (uint32_t i = 0; i < prog->n_ops; i++) {
        const cpu_op *const op = &prog->ops[i];
        if (op->kind == QN_OP_MATMUL && op->in[0] == buffer) {
            return blk_panel_find(info->format) != BLK_NO_PANELS ? CPU_WEIGHT_PANELS : CPU_WEIGHT_ROWS;
        }
        gathered = gathered || (op->kind == QN_OP_EMBED && op->in[0] == buffer);
    }
    return gathered ? CPU_WEIGHT_ROWS : CPU_WEIGHT_VECTOR;
}

static uint64_t n_rows_of(const qn_buffer *info) {
    return qn_buffer_rows(info, 1, 1, 1);
}

/* Bytes of the file's form from the first element on. */
static uint64_t file_bytes(const qn_buffer *info, uint64_t first_element) {
    const uint64_t count = n_rows_of(info) * info->dims[0];
    if (info->format == QN_FORMAT_TERNARY) {
        return 4 + (first_element + count + 4) / 5;
    }
    const qn_format_info *const format = qn_format_find(info->format);
    return first_element / format->block_elems * format->block_bytes + qn_format_bytes(info->format, count);
}

static void lay_out(const qn_buffer *info, cpu_panels *out) {
    blk_panels_init(out, blk_panel_find(info->format), n_rows_of(info), info->dims[0]);
}

static bool is_in_panels(const qn_buffer *info) {
    return (info->flags & QN_BUFFER_PANELS) != 0;
}

uint64_t cpu_weight_bytes(const qn_prog *prog, uint32_t buffer) {
    const qn_buffer *const info = qn_program_buffer(prog->program, buffer);
    if (cpu_weight_form(prog, buffer) != CPU_WEIGHT_PANELS || is_in_panels(info)) {
        return 0;
    }
    cpu_panels panels;
    lay_out(info, &panels);
    return panels.n_panels * panels.panel_bytes;
}

uint64_t cpu_weight_borrowed(const qn_prog *prog, uint32_t buffer) {
    const qn_buffer *const info = qn_program_buffer(prog->program, buffer);
    if (is_in_panels(info)) {
        cpu_panels panels;
        lay_out(info, &panels);
        return blk_panels_bytes(&panels);
    }
    return qn_format_bytes(info->format, info->dims[0]) * n_rows_of(info);
}

/* --- Binding ---------------------------------------------------------------------------------------------------------- */

typedef struct pack_job {
    const cpu_panels *panels;
    uint8_t *data;
    const uint8_t *tensor;
    uint64_t first_element;
} pack_job;

static void pack_share(void *arg, uint32_t worker, uint32_t n_workers) {
    const pack_job *const job = arg;
    uint64_t first;
    uint64_t last;
    cpu_share(job->panels->n_panels, worker, n_workers, &first, &last);
    blk_panels_pack(job->panels, job->data, (uint32_t)first, (uint32_t)last, job->tensor, job->first_element);
}

static qn_status bind_panels(qn_prog *prog, const qn_buffer *info, const qn_weight *weight, cpu_weight *out, qn_error *err) {
    const qn_host *const host = prog->host;
    cpu_panels *const panels = &out->as.panels;
    lay_out(info, panels);
    const uint64_t bytes = panels->n_panels * panels->panel_bytes;
    uint8_t *const data = host->mem_alloc(host->ctx, QN_MEM_WEIGHTS, bytes, 4096);
    if (data == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for %llu bytes of packed weight '%s'", (unsigned long long)bytes,
                       qn_program_name(prog->program, info));
    }
    if (info->format == QN_FORMAT_TERNARY) {
        memcpy(&panels->scale, weight->data, sizeof panels->scale);
    }
    panels->data = data;
    out->owned = data;
    pack_job job = {panels, data, weight->data, weight->first_element};
    host->team_run(host->ctx, pack_share, &job);
    if ((weight->flags & QN_WEIGHT_BORROW) != 0 && host->weight_done != NULL) {
        host->weight_done(host->ctx, weight->data, file_bytes(info, weight->first_element));
    }
    return QN_OK;
}

/* Panels that are there already: in place, or a copy of them. */
static qn_status take_panels(qn_prog *prog, const qn_buffer *info, const qn_weight *weight, cpu_weight *out, qn_error *err) {
    const qn_host *const host = prog->host;
    cpu_panels *const panels = &out->as.panels;
    lay_out(info, panels);
    blk_panels_attach(panels, weight->data);
    panels->data += weight->first_element / info->dims[0] / CPU_PANEL_ROWS * panels->panel_bytes;
    if ((weight->flags & QN_WEIGHT_COPY) != 0) {
        const uint64_t bytes = panels->n_panels * panels->panel_bytes;
        out->owned = host->mem_alloc(host->ctx, QN_MEM_WEIGHTS, bytes, 4096);
        if (out->owned == NULL) {
            return qn_fail(err, QN_NO_HOST_MEM, "no host memory for %llu bytes of weight '%s'", (unsigned long long)bytes,
                           qn_program_name(prog->program, info));
        }
        memcpy(out->owned, panels->data, bytes);
        panels->data = out->owned;
    }
    return QN_OK;
}

/* The weight in the file's form: in place, or a copy of its bytes. */
static qn_status bind_in_place(qn_prog *prog, const qn_buffer *info, const qn_weight *weight, cpu_weight *out, qn_error *err) {
    const qn_host *const host = prog->host;
    const uint8_t *data = weight->data;
    if ((weight->flags & QN_WEIGHT_COPY) != 0) {
        const uint64_t bytes = file_bytes(info, weight->first_element);
        out->owned = host->mem_alloc(host->ctx, QN_MEM_WEIGHTS, bytes, 64);
        if (out->owned == NULL) {
            return qn_fail(err, QN_NO_HOST_MEM, "no host memory for %llu bytes of weight '%s'", (unsigned long long)bytes,
                           qn_program_name(prog->program, info));
        }
        memcpy(out->owned, data, bytes);
        data = out->owned;
    }
    if (out->form == CPU_WEIGHT_VECTOR) {
        out->as.vector = (const float *)(const void *)data + weight->first_element;
        return QN_OK;
    }
    cpu_rows *const rows = &out->as.rows;
    rows->format = info->format;
    rows->n_rows = (uint32_t)n_rows_of(info);
    rows->n_cols = (uint32_t)info->dims[0];
    rows->row_bytes = info->format == QN_FORMAT_TERNARY ? 0 : qn_format_bytes(info->format, info->dims[0]);
    rows->first_element = weight->first_element;
    rows->data = data;
    return QN_OK;
}

/* Bytes that must be readable from the start of the tensor on. */
static uint64_t needed_bytes(const qn_buffer *info, uint64_t first_element) {
    if (!is_in_panels(info)) {
        return file_bytes(info, first_element);
    }
    cpu_panels panels;
    lay_out(info, &panels);
    return blk_panels_bytes(&panels) + first_element / info->dims[0] / CPU_PANEL_ROWS * panels.panel_bytes;
}

/* Can the weight begin at this element of its tensor? */
static bool is_border(const qn_buffer *info, uint64_t element) {
    if (is_in_panels(info)) {
        return element % (info->dims[0] * CPU_PANEL_ROWS) == 0;
    }
    return info->format == QN_FORMAT_TERNARY || element % qn_format_find(info->format)->block_elems == 0;
}

static qn_status check_weight(const qn_buffer *info, const char *name, const qn_weight *weight, qn_error *err) {
    const uintptr_t alignment = is_in_panels(info) ? BLK_PANEL_ALIGN : 4;
    if ((weight->flags != QN_WEIGHT_COPY && weight->flags != QN_WEIGHT_BORROW) || weight->data == NULL ||
        (uintptr_t)weight->data % alignment != 0) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: '%s' needs data aligned to %u and one of COPY and BORROW", name,
                       (unsigned)alignment);
    }
    if (!is_border(info, weight->first_element)) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: '%s' begins at element %llu, inside a block of %s%s", name,
                       (unsigned long long)weight->first_element, qn_format_name(info->format),
                       is_in_panels(info) ? " panels" : "");
    }
    if (weight->first_element > UINT64_MAX / 16 || weight->bytes < needed_bytes(info, weight->first_element)) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: '%s' needs %llu bytes, %llu given", name,
                       (unsigned long long)needed_bytes(info, weight->first_element), (unsigned long long)weight->bytes);
    }
    return QN_OK;
}

static qn_status bind_one(qn_prog *prog, const void *theirs, qn_error *err) {
    qn_weight weight;
    const qn_status copied = qn_copy_in(&weight, sizeof weight, QN_LEAST_qn_weight, theirs);
    if (copied != QN_OK) {
        return qn_fail(err, copied, "bind_weights: a qn_weight of a size that this plugin does not know");
    }
    if (weight.buffer >= prog->n_buffers || qn_program_buffer(prog->program, weight.buffer)->role != QN_ROLE_WEIGHT) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: buffer %u is not a weight of this program", weight.buffer);
    }
    const qn_buffer *const info = qn_program_buffer(prog->program, weight.buffer);
    const char *const name = qn_program_name(prog->program, info);
    cpu_weight *const out = &prog->weights[weight.buffer];
    if (out->bound) {
        return qn_fail(err, QN_BAD_STATE, "bind_weights: '%s' is bound already", name);
    }
    qn_status status = check_weight(info, name, &weight, err);
    if (status == QN_OK) {
        status = is_in_panels(info)              ? take_panels(prog, info, &weight, out, err)
                 : out->form == CPU_WEIGHT_PANELS ? bind_panels(prog, info, &weight, out, err)
                                                  : bind_in_place(prog, info, &weight, out, err);
    }
    out->bound = status == QN_OK;
    return status;
}

qn_status cpu_bind_weights(qn_prog *prog, const qn_weight *weights, uint64_t stride, uint32_t n_weights, qn_error *err) {
    if (prog == NULL || (weights == NULL && n_weights > 0)) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: program or weights are null");
    }
    if (prog->sealed) {
        return qn_fail(err, QN_BAD_STATE, "bind_weights after seal");
    }
    for (uint32_t i = 0; i < n_weights; i++) {
        if (qn_flag_is_up(prog->host->cancel)) {
            return qn_fail(err, QN_CANCELLED, "cancelled while weights were bound");
        }
        const qn_status status = bind_one(prog, (const uint8_t *)weights + i * stride, err);
        if (status != QN_OK) {
            return status;
        }
    }
    return QN_OK;
}

/* --- Seal ------------------------------------------------------------------------------------------------------------- */

static double clamp_unit(double x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Angle per position of each pair, with linear scaling, YaRN and factors applied. */
static void make_frequencies(const qn_prog *prog, cpu_rope_spec *spec) {
    const qn_rope_attrs *const a = &spec->attrs;
    const float *const factors = spec->factors == CPU_NONE ? NULL : prog->weights[spec->factors].as.vector;
    const double n_rot = a->n_rot;
    double start = 0;
    double end = 0;
    if (a->ext_factor != 0) {
        const double turn = 2 * 3.14159265358979323846;
        const double per_base = n_rot / (2 * log(a->base));
        start = fmax(0, floor(per_base * log(a->n_ctx_orig / (turn * a->beta_fast))));
        end = fmin(n_rot - 1, ceil(per_base * log(a->n_ctx_orig / (turn * a->beta_slow))));
    }
    for (uint32_t i = 0; i < a->n_rot / 2; i++) {
        const double theta = pow(a->base, -2.0 * i / n_rot) / (factors == NULL ? 1.0 : (double)factors[i]);
        double mix = 0;
        if (a->ext_factor != 0) {
            mix = (1 - clamp_unit((i - start) / fmax(0.001, end - start))) * a->ext_factor;
        }
        spec->frequency[i] = theta * a->freq_scale * (1 - mix) + theta * mix;
    }
}

qn_status cpu_seal(qn_prog *prog, qn_error *err) {
    if (prog == NULL) {
        return qn_fail(err, QN_BAD_ARG, "seal: program is null");
    }
    if (prog->sealed) {
        return qn_fail(err, QN_BAD_STATE, "seal was called before");
    }
    for (uint32_t i = 0; i < prog->n_buffers; i++) {
        const qn_buffer *const info = qn_program_buffer(prog->program, i);
        if (info->role == QN_ROLE_WEIGHT && !prog->weights[i].bound) {
            return qn_fail(err, QN_BAD_ARG, "seal: weight '%s' (buffer %u) is not bound", qn_program_name(prog->program, info), i);
        }
    }
    for (uint32_t i = 0; i < prog->n_ropes; i++) {
        make_frequencies(prog, &prog->ropes[i]);
    }
    prog->sealed = true;
    return QN_OK;
}
