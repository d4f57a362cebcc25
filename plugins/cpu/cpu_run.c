/* cpu_run.c — one worker's way through the stages of a plan: its share of each, and a barrier where the plan says so. */
#include <math.h>
#include <string.h>

#include <quoin/blocks.h>
#include <quoin/glue.h>

#include "cpu_internal.h"

void *cpu_locate(const cpu_run *run, uint32_t index, uint32_t worker) {
    const qn_session *const session = run->session;
    const cpu_place *const place = &run->plan->places[index];
    if (place->bytes != 0) {
        return place->is_private ? session->private_arena + worker * session->private_stride + place->offset
                                 : session->arena + place->offset;
    }
    if (session->bindings[index] != NULL) {
        return session->bindings[index]->data;
    }
    return session->states[index];
}

/* A worker's share of a stage: rows [row, last_row), and in each of them columns [column, last_column). */
typedef struct share {
    uint32_t row, last_row;
    uint32_t column, last_column;
} share;

static share take_share(const cpu_run *run, const cpu_stage *stage, uint32_t worker, uint32_t n_workers) {
    share s = {0, cpu_rows_of(run, stage->symbol), 0, stage->width};
    uint64_t first;
    uint64_t last;
    if (stage->part == CPU_PART_ROWS) {
        cpu_share(s.last_row, worker, n_workers, &first, &last);
        s.row = (uint32_t)first;
        s.last_row = (uint32_t)last;
    } else if (stage->part == CPU_PART_COLUMNS) {
        cpu_share((stage->width + stage->unit - 1u) / stage->unit, worker, n_workers, &first, &last);
        s.column = (uint32_t)first * stage->unit;
        s.last_column = (uint32_t)(last * stage->unit < stage->width ? last * stage->unit : stage->width);
    }
    if (s.column >= s.last_column) {
        s.last_row = s.row;
    }
    return s;
}

void cpu_decode_columns(const cpu_rows *w, uint32_t row, uint32_t first_col, uint32_t count, float *values) {
    blk_decode(w->format, w->data, w->first_element + (uint64_t)row * w->n_cols + first_col, count, values);
}

static const float *weight_vector(const cpu_run *run, uint32_t buffer) {
    return run->prog->weights[buffer].as.vector;
}

/* --- Stages ----------------------------------------------------------------------------------------------------------- */

static void run_rope_table(const cpu_run *run, const cpu_stage *stage, const share *s, uint32_t worker) {
    const cpu_rope_spec *const spec = &run->prog->ropes[stage->out - run->prog->rope_slots];
    const uint32_t half = stage->width / 2;
    double magnitude = spec->attrs.attn_factor;
    if (spec->attrs.ext_factor != 0) {
        magnitude *= 1 + 0.1 * log(1 / (double)spec->attrs.freq_scale);
    }
    float *const table = cpu_locate(run, stage->out, worker);
    for (uint32_t t = s->row; t < s->last_row; t++) {
        float *const row = table + (size_t)t * stage->width;
        const double position = run->step->positions[t];
        for (uint32_t i = 0; i < half; i++) {
            const double angle = position * spec->frequency[i];
            row[i] = (float)(magnitude * cos(angle));
            row[half + i] = (float)(magnitude * sin(angle));
        }
    }
}

static void run_quantize(const cpu_run *run, const cpu_stage *stage, const share *s, uint32_t worker) {
    const float *const x = cpu_locate(run, stage->in[0], worker);
    uint8_t *const rows = cpu_locate(run, stage->out, worker);
    const uint64_t stride = cpu_act8_stride((stage->width + CPU_BLOCK - 1) / CPU_BLOCK);
    for (uint32_t t = s->row; t < s->last_row; t++) {
        run->kernels->quantize(x + (size_t)t * stage->width, stage->width, rows + t * stride);
    }
}

static void run_embed(const cpu_run *run, const cpu_stage *stage, const cpu_op *op, const share *s, uint32_t worker) {
    const cpu_weight *const weight = &run->prog->weights[op->in[0]];
    const int32_t *const ids = cpu_locate(run, op->in[1], worker);
    float *const y = cpu_locate(run, op->out, worker);
    for (uint32_t t = s->row; t < s->last_row; t++) {
        float *const row = y + (size_t)t * stage->width;
        if (weight->form == CPU_WEIGHT_PANELS) {
            blk_panels_decode_row(&weight->as.panels, (uint32_t)ids[t], row);
        } else {
            cpu_decode_columns(&weight->as.rows, (uint32_t)ids[t], 0, stage->width, row);
        }
    }
}

static void run_panels(const cpu_run *run, const cpu_stage *stage, const cpu_panels *w, const share *s, const cpu_out *out,
                       const void *x, void *scratch) {
    const cpu_ops *const k = run->kernels;
    const uint32_t first = s->column / CPU_PANEL_ROWS;
    const uint32_t last = (s->last_column + CPU_PANEL_ROWS - 1) / CPU_PANEL_ROWS;
    if (stage->in[1] < run->prog->n_buffers) {
        k->panel_gemm_f32(w, first, last, x, w->n_cols, s->last_row, out, scratch);
    } else if (s->last_row == 1) {
        k->panel_gemv[w->kind](w, first, last, x, out);
    } else {
        k->panel_gemm(w, first, last, x, cpu_act8_stride(w->n_blocks), s->last_row, out, scratch);
    }
}

static void run_matmul(const cpu_run *run, const cpu_stage *stage, const cpu_op *op, const share *s, uint32_t worker) {
    const cpu_ops *const k = run->kernels;
    const cpu_weight *const weight = &run->prog->weights[op->in[0]];
    const void *const x = cpu_locate(run, stage->in[1], worker);
    void *const scratch = run->session->scratch + worker * run->prog->scratch_bytes;
    const cpu_out out = {cpu_locate(run, op->out, worker), stage->width,
                         op->in[2] == CPU_NONE ? NULL : weight_vector(run, op->in[2])};
    if (s->last_row == 0) {
        return;
    }
    if (weight->form == CPU_WEIGHT_PANELS) {
        run_panels(run, stage, &weight->as.panels, s, &out, x, scratch);
    } else if (s->last_row == 1) {
        k->rows_gemv(&weight->as.rows, s->column, s->last_column, x, &out, cpu_decode_columns, scratch);
    } else {
        k->rows_gemm(&weight->as.rows, s->column / CPU_PANEL_ROWS, (s->last_column + CPU_PANEL_ROWS - 1) / CPU_PANEL_ROWS, x,
                     weight->as.rows.n_cols, s->last_row, &out, cpu_decode_columns, scratch);
    }
}

static void run_norm(const cpu_run *run, const cpu_stage *stage, const cpu_op *op, const share *s, uint32_t worker) {
    const float *const x = cpu_locate(run, op->in[0], worker);
    float *const y = cpu_locate(run, op->out, worker);
    const float *const weight = weight_vector(run, op->in[1]);
    const uint32_t group = op->attrs.norm.group;
    for (uint32_t t = s->row; t < s->last_row; t++) {
        for (uint32_t i = s->column; i < s->last_column; i += group) {
            const size_t at = (size_t)t * stage->width + i;
            run->kernels->rms_norm(x + at, weight, y + at, group, op->attrs.norm.epsilon);
        }
    }
}

static void run_rope(const cpu_run *run, const cpu_stage *stage, const cpu_op *op, const share *s, uint32_t worker) {
    const qn_rope_attrs *const a = &op->attrs.rope;
    const float *const x = cpu_locate(run, op->in[0], worker);
    const float *const table = cpu_locate(run, stage->in[1], worker);
    float *const y = cpu_locate(run, op->out, worker);
    for (uint32_t t = s->row; t < s->last_row; t++) {
        for (uint32_t i = s->column; i < s->last_column; i += a->head_dim) {
            const size_t at = (size_t)t * stage->width + i;
            run->kernels->rope[a->pairing](x + at, table + (size_t)t * a->n_rot, y + at, a->head_dim, a->n_rot);
        }
    }
}

static void run_state_write(const cpu_run *run, const cpu_stage *stage, const cpu_op *op, const share *s, uint32_t worker) {
    const qn_buffer *const info = qn_program_buffer(run->prog->program, op->in[1]);
    const qn_placement *const placement = cpu_placement(run, info->group);
    const float *const x = cpu_locate(run, op->in[0], worker);
    uint8_t *const state = run->session->states[op->in[1]];
    const uint64_t row_bytes = qn_format_bytes(info->format, stage->width);
    const uint64_t n = s->last_column - s->column;
    for (uint32_t t = s->row; t < s->last_row; t++) {
        const float *const from = x + (size_t)t * stage->width + s->column;
        uint8_t *const to = state + placement->cells[t] * row_bytes + qn_format_bytes(info->format, s->column);
        switch (info->format) {
        case QN_FORMAT_F32: memcpy(to, from, 4 * n); break;
        case QN_FORMAT_F16: run->kernels->to_f16(from, (uint16_t *)(void *)to, n); break;
        case QN_FORMAT_BF16: run->kernels->to_bf16(from, (uint16_t *)(void *)to, n); break;
        default: run->kernels->to_q8_0(from, to, n); break;
        }
    }
}

static void run_elements(const cpu_run *run, const cpu_stage *stage, const cpu_op *op, const share *s, uint32_t worker) {
    const cpu_ops *const k = run->kernels;
    const float *const a = cpu_locate(run, op->in[0], worker);
    float *const y = cpu_locate(run, op->out, worker);
    const bool weighted = op->kind == QN_OP_ADD && qn_program_buffer(run->prog->program, op->in[1])->role == QN_ROLE_WEIGHT;
    const float *b = NULL;
    if (op->n_inputs > 1) {
        b = weighted ? weight_vector(run, op->in[1]) : cpu_locate(run, op->in[1], worker);
    }
    const uint64_t n = s->last_column - s->column;
    for (uint32_t t = s->row; t < s->last_row; t++) {
        const size_t at = (size_t)t * stage->width + s->column;
        const size_t b_at = weighted ? s->column : at;
        switch (op->kind) {
        case QN_OP_ADD: k->add(a + at, b + b_at, y + at, n); break;
        case QN_OP_SCALE: k->scale(a + at, op->attrs.scale.factor, y + at, n); break;
        case QN_OP_GATED: k->gated[op->attrs.gated.kind](a + at, b + at, y + at, n); break;
        default: k->softcap(a + at, op->attrs.softcap.cap, y + at, n); break;
        }
    }
}

static void run_select(const cpu_run *run, const cpu_stage *stage, const cpu_op *op, const share *s, uint32_t worker) {
    const float *const x = cpu_locate(run, op->in[0], worker);
    const int32_t *const rows = cpu_locate(run, op->in[1], worker);
    float *const y = cpu_locate(run, op->out, worker);
    for (uint32_t t = s->row; t < s->last_row; t++) {
        memcpy(y + (size_t)t * stage->width, x + (size_t)rows[t] * stage->width, stage->width * sizeof *y);
    }
}

static void run_op(const cpu_run *run, const cpu_stage *stage, const share *s, uint32_t worker) {
    const cpu_op *const op = &run->prog->ops[stage->op];
    switch (op->kind) {
    case QN_OP_EMBED: run_embed(run, stage, op, s, worker); break;
    case QN_OP_MATMUL: run_matmul(run, stage, op, s, worker); break;
    case QN_OP_RMS_NORM: run_norm(run, stage, op, s, worker); break;
    case QN_OP_ROPE: run_rope(run, stage, op, s, worker); break;
    case QN_OP_STATE_WRITE: run_state_write(run, stage, op, s, worker); break;
    case QN_OP_SELECT_ROWS: run_select(run, stage, op, s, worker); break;
    default: run_elements(run, stage, op, s, worker); break;
    }
}

static void run_stage(const cpu_run *run, const cpu_stage *stage, uint32_t worker, uint32_t n_workers) {
    if (stage->kind == CPU_STAGE_MERGE) {
        cpu_run_merge(run, stage, worker, n_workers);
        return;
    }
    if (stage->part == CPU_PART_ITEMS) {
        cpu_run_attention(run, stage, worker, n_workers);
        return;
    }
    const share s = take_share(run, stage, worker, n_workers);
    switch (stage->kind) {
    case CPU_STAGE_ROPE_TABLE: run_rope_table(run, stage, &s, worker); break;
    case CPU_STAGE_QUANTIZE: run_quantize(run, stage, &s, worker); break;
    default: run_op(run, stage, &s, worker); break;
    }
}

/* --- The walk --------------------------------------------------------------------------------------------------------- */

/* Asks everyone to leave at the next barrier after stage `at`: they all see the request, since it is made before it. */
static void request_stop(cpu_run *run, uint32_t at) {
    for (uint32_t next = at + 1; next < run->plan->n_stages; next++) {
        if (run->plan->stages[next].barrier && run->plan->stages[next].kind != CPU_STAGE_MERGE) {
            atomic_store_explicit(&run->stop_stage, next, memory_order_relaxed);
            return;
        }
    }
}

void cpu_run_worker(void *arg, uint32_t worker, uint32_t n_workers) {
    cpu_run *const run = arg;
    const qn_host *const host = run->prog->host;
    const uint32_t sharers = n_workers < run->prog->n_workers ? n_workers : run->prog->n_workers;
    const bool is_timed = worker == 0 && run->session->op_ns != NULL;
    for (uint32_t i = 0; i < run->plan->n_stages; i++) {
        const cpu_stage *const stage = &run->plan->stages[i];
        if (stage->kind == CPU_STAGE_MERGE && !cpu_attention_is_split(run, stage)) {
            continue;
        }
        const uint64_t begin = is_timed ? host->time_ns(host->ctx) : 0;
        if (stage->barrier) {
            host->team_barrier(host->ctx);
            if (atomic_load_explicit(&run->stop_stage, memory_order_relaxed) == i) {
                return;
            }
        }
        if (worker < sharers) { /* storage is there for as many as the machine record tells */
            run_stage(run, stage, worker, sharers);
        }
        if (is_timed) {
            cpu_profile_add(run->session, stage->op, host->time_ns(host->ctx) - begin);
        }
        if (stage->layer_end && worker == 0 && qn_flag_is_up(host->cancel)) {
            request_stop(run, i);
        }
    }
}
