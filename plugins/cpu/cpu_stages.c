/* cpu_stages.c — from the op list to stages: who does what, where a barrier is needed, and where each buffer lives.
 *
 * A barrier stands before a stage only when it reads what another worker wrote since the last one. Two stages that share
 * their work in the same way (the same rows, or the same columns) hand over without one. Barriers cut the plan into epochs;
 * two buffers share storage only when their epochs of life do not meet, since inside an epoch workers run at their own pace.
 */
#include <string.h>

#include <quoin/glue.h>

#include "cpu_internal.h"

#define FOREVER UINT32_MAX

typedef struct builder {
    qn_prog *prog;
    cpu_plan *plan;
    uint32_t *producer;     /* [n_slots] stage that writes the slot, or CPU_NONE */
    uint32_t *reader;       /* [n_slots] last stage that read it, or CPU_NONE: only states are written after a read */
    uint32_t *first_epoch;  /* [n_slots] */
    uint32_t *last_epoch;
    uint32_t last_barrier;  /* number of the first stage after the last barrier */
    uint32_t epoch;
    bool single;
} builder;

static const qn_buffer *get_buffer(const builder *b, uint32_t index) {
    return qn_program_buffer(b->prog->program, index);
}

static bool reads_weight(const builder *b, uint32_t index) {
    return index < b->prog->n_buffers && get_buffer(b, index)->role == QN_ROLE_WEIGHT;
}

static uint32_t symbol_of(const builder *b, uint32_t buffer) {
    const qn_buffer *const info = get_buffer(b, buffer);
    return info->rank > 1 ? info->symbols[1] : QN_DIM_FIXED;
}

/* Stage that wrote `slot`, or null for weights and inputs. */
static const cpu_stage *producer_of(const builder *b, uint32_t slot) {
    return b->producer[slot] == CPU_NONE ? NULL : &b->plan->stages[b->producer[slot]];
}

/* True when each worker reads only what it wrote itself. `aligned`: the stage reads the rows or columns that it writes. */
static bool hands_over(const cpu_stage *from, const cpu_stage *to, bool aligned) {
    if (from->part == CPU_PART_EACH) {
        return true;
    }
    if (!aligned || from->part != to->part || from->symbol != to->symbol) {
        return false;
    }
    return from->part == CPU_PART_ROWS ||
           (from->part == CPU_PART_COLUMNS && from->unit == to->unit && from->width == to->width);
}

/* True when `stage` reads only the rows or columns of its share of input `i`. */
static bool is_aligned_read(const builder *b, const cpu_stage *stage) {
    if (stage->kind == CPU_STAGE_QUANTIZE) {
        return stage->part == CPU_PART_ROWS;
    }
    if (stage->kind != CPU_STAGE_OP) {
        return false;
    }
    switch (b->prog->ops[stage->op].kind) {
    case QN_OP_ADD: case QN_OP_SCALE: case QN_OP_ROPE: case QN_OP_STATE_WRITE: case QN_OP_GATED: case QN_OP_SOFTCAP:
        return true;
    case QN_OP_RMS_NORM: return true; /* by columns only when a unit is a whole group */
    case QN_OP_EMBED: return true;
    default: return false;
    }
}

static bool needs_barrier(const builder *b, const cpu_stage *stage) {
    const bool aligned = is_aligned_read(b, stage) && stage->part != CPU_PART_EACH;
    for (uint32_t i = 0; i < 3; i++) {
        if (stage->in[i] == CPU_NONE || reads_weight(b, stage->in[i])) {
            continue;
        }
        const uint32_t at = b->producer[stage->in[i]];
        const bool table = stage->kind == CPU_STAGE_OP && stage->in[i] >= b->prog->rope_slots; /* read by rows, never by columns */
        if (at != CPU_NONE && at >= b->last_barrier &&
            !hands_over(&b->plan->stages[at], stage, aligned && (!table || stage->part == CPU_PART_ROWS))) {
            return true;
        }
    }
    if (stage->out != CPU_NONE && b->reader[stage->out] != CPU_NONE && b->reader[stage->out] >= b->last_barrier) {
        return true;
    }
    return false;
}

static void note_use(builder *b, uint32_t slot, uint32_t stage) {
    b->reader[slot] = stage;
    if (b->last_epoch[slot] != FOREVER) {
        b->last_epoch[slot] = b->epoch;
    }
}

/* Appends a stage: decides on its barrier, and notes what it reads and writes. */
static void add_stage(builder *b, cpu_stage stage) {
    const uint32_t at = b->plan->n_stages;
    const bool is_attention = stage.kind == CPU_STAGE_OP && b->prog->ops[stage.op].kind == QN_OP_ATTENTION;
    if (stage.kind == CPU_STAGE_MERGE) {
        stage.barrier = true; /* left out with its stage when attention is not split: no epoch begins here */
    } else if (at > 0 && (is_attention || needs_barrier(b, &stage))) {
        stage.barrier = true;
        b->last_barrier = at;
        b->epoch++;
    }
    stage.epoch = b->epoch;
    for (uint32_t i = 0; i < 3; i++) {
        if (stage.in[i] != CPU_NONE) {
            note_use(b, stage.in[i], at);
        }
    }
    if (stage.out != CPU_NONE) {
        b->producer[stage.out] = at;
        if (b->first_epoch[stage.out] == FOREVER) {
            b->first_epoch[stage.out] = b->epoch;
            b->last_epoch[stage.out] = b->prog->materialize ? FOREVER : b->epoch;
        }
        b->plan->places[stage.out].is_private = stage.part == CPU_PART_EACH;
    }
    b->plan->stages[b->plan->n_stages++] = stage;
}

/* --- Shares ----------------------------------------------------------------------------------------------------------- */

static bool is_output(const builder *b, uint32_t slot) {
    return slot < b->prog->n_buffers && get_buffer(b, slot)->role == QN_ROLE_OUTPUT;
}

/* Whole rows: each worker for itself in single steps, otherwise shared out by rows. */
static void share_rows(const builder *b, cpu_stage *stage) {
    stage->part = b->single && stage->out != CPU_NONE && !is_output(b, stage->out) ? CPU_PART_EACH : CPU_PART_ROWS;
}

static void share_columns(cpu_stage *stage, uint32_t unit) {
    stage->part = CPU_PART_COLUMNS;
    stage->unit = unit;
}

/* Follows the stage that made the first (or second) input, so that no barrier is needed in between. */
static void share_like_inputs(const builder *b, cpu_stage *stage) {
    bool all_each = b->single && stage->out != CPU_NONE && !is_output(b, stage->out);
    for (uint32_t i = 0; i < 3; i++) {
        if (stage->in[i] == CPU_NONE || reads_weight(b, stage->in[i])) {
            continue;
        }
        const cpu_stage *const from = producer_of(b, stage->in[i]);
        if (from != NULL && from->part == CPU_PART_COLUMNS && from->width == stage->width && from->symbol == stage->symbol) {
            share_columns(stage, from->unit);
            return;
        }
        all_each = all_each && from != NULL && from->part == CPU_PART_EACH;
    }
    if (all_each) {
        stage->part = CPU_PART_EACH;
    } else if (b->single) {
        share_columns(stage, CPU_PANEL_ROWS);
    } else {
        stage->part = CPU_PART_ROWS;
    }
}

/* True when a Q8_0 state is written from `buffer`: whole blocks then stay with one worker, and the write needs no barrier. */
static bool feeds_blocks(const builder *b, uint32_t buffer) {
    for (uint32_t i = 0; i < b->prog->n_ops; i++) {
        const cpu_op *const op = &b->prog->ops[i];
        if (op->kind == QN_OP_STATE_WRITE && op->in[0] == buffer && get_buffer(b, op->in[1])->format == QN_FORMAT_Q8_0) {
            return true;
        }
    }
    return false;
}

static void share_op(const builder *b, const cpu_op *op, cpu_stage *stage) {
    switch (op->kind) {
    case QN_OP_MATMUL: share_columns(stage, feeds_blocks(b, op->out) ? CPU_BLOCK : CPU_PANEL_ROWS); break;
    case QN_OP_ATTENTION: stage->part = CPU_PART_ITEMS; break;
    case QN_OP_RMS_NORM:
        if (b->single && op->attrs.norm.group < stage->width) {
            share_columns(stage, op->attrs.norm.group);
        } else {
            share_rows(b, stage);
        }
        break;
    case QN_OP_ROPE:
        if (b->single) {
            share_columns(stage, op->attrs.rope.head_dim);
        } else {
            stage->part = CPU_PART_ROWS;
        }
        break;
    case QN_OP_STATE_WRITE:
        stage->part = CPU_PART_ROWS;
        if (b->single) {
            const cpu_stage *const from = producer_of(b, op->in[0]);
            const uint32_t unit = from != NULL && from->part == CPU_PART_COLUMNS ? from->unit : CPU_PANEL_ROWS;
            const bool is_blocks = get_buffer(b, op->in[1])->format == QN_FORMAT_Q8_0;
            share_columns(stage, is_blocks && unit % CPU_BLOCK != 0 ? CPU_BLOCK : unit);
        }
        break;
    case QN_OP_EMBED: case QN_OP_SELECT_ROWS: share_rows(b, stage); break;
    default: share_like_inputs(b, stage); break;
    }
}

/* --- Stages ----------------------------------------------------------------------------------------------------------- */

static cpu_stage make_stage(const builder *b, uint32_t kind, uint32_t op, uint32_t row_buffer) {
    cpu_stage stage = {.kind = kind, .op = op, .unit = 1, .width = 1};
    for (uint32_t i = 0; i < 3; i++) {
        stage.in[i] = CPU_NONE;
    }
    stage.out = CPU_NONE;
    stage.width = (uint32_t)get_buffer(b, row_buffer)->dims[0];
    stage.symbol = symbol_of(b, row_buffer);
    return stage;
}

static void add_rope_table(builder *b, uint32_t rope) {
    const uint32_t slot = b->prog->rope_slots + rope;
    if (b->producer[slot] != CPU_NONE) {
        return;
    }
    cpu_stage stage = {.kind = CPU_STAGE_ROPE_TABLE, .op = CPU_NONE, .unit = 1};
    stage.width = b->prog->ropes[rope].attrs.n_rot;
    stage.symbol = b->prog->ropes[rope].symbol;
    stage.in[0] = stage.in[1] = stage.in[2] = CPU_NONE;
    stage.out = slot;
    share_rows(b, &stage);
    add_stage(b, stage);
}

static void add_quantize(builder *b, uint32_t op, uint32_t x) {
    const uint32_t slot = b->prog->quantized[x];
    if (b->producer[slot] != CPU_NONE) {
        return;
    }
    cpu_stage stage = make_stage(b, CPU_STAGE_QUANTIZE, op, x);
    stage.in[0] = x;
    stage.out = slot;
    share_rows(b, &stage);
    add_stage(b, stage);
}

static void add_op(builder *b, uint32_t index) {
    const cpu_op *const op = &b->prog->ops[index];
    const bool writes_state = op->kind == QN_OP_STATE_WRITE;
    cpu_stage stage = make_stage(b, CPU_STAGE_OP, index, writes_state ? op->in[0] : op->out);
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        stage.in[i] = op->in[i];
    }
    stage.out = writes_state ? op->in[1] : op->out;
    if (writes_state) {
        stage.in[1] = CPU_NONE;
    }
    if (op->kind == QN_OP_ROPE) {
        add_rope_table(b, op->rope);
        stage.in[1] = b->prog->rope_slots + op->rope;
    }
    if (op->kind == QN_OP_MATMUL && b->prog->quantized[op->in[1]] != CPU_NONE &&
        b->prog->weights[op->in[0]].form == CPU_WEIGHT_PANELS) {
        add_quantize(b, index, op->in[1]);
        stage.in[1] = b->prog->quantized[op->in[1]];
    }
    share_op(b, op, &stage);
    stage.layer_end = index + 1 == b->prog->n_ops || b->prog->ops[index + 1].layer != op->layer;
    add_stage(b, stage);
    if (op->kind == QN_OP_ATTENTION) {
        cpu_stage merge = make_stage(b, CPU_STAGE_MERGE, index, op->out);
        merge.part = CPU_PART_ITEMS;
        merge.out = op->out;
        merge.layer_end = stage.layer_end;
        add_stage(b, merge);
    }
}

/* --- Storage ---------------------------------------------------------------------------------------------------------- */

static uint64_t max_rows(const builder *b, uint32_t symbol) {
    const qn_limits *const limits = &b->prog->limits;
    if (b->single || symbol == QN_DIM_FIXED) {
        return 1;
    }
    return symbol == QN_DIM_TOKENS ? limits->max_tokens : limits->max_outputs;
}

static uint64_t slot_bytes(const builder *b, uint32_t slot) {
    const cpu_stage *const stage = producer_of(b, slot);
    if (stage == NULL) {
        return 0;
    }
    const uint64_t rows = max_rows(b, stage->symbol);
    if (slot >= b->prog->n_buffers) {
        const bool is_table = slot >= b->prog->rope_slots;
        return rows * (is_table ? 4u * (uint64_t)stage->width : cpu_act8_stride((stage->width + CPU_BLOCK - 1) / CPU_BLOCK));
    }
    return get_buffer(b, slot)->role == QN_ROLE_ACT ? rows * stage->width * 4u : 0;
}

/* Lowest offset where `bytes` fit beside the live places in `live` (ordered by offset). */
static uint64_t find_gap(const cpu_plan *plan, const uint32_t *live, uint32_t n_live, bool is_private, uint64_t bytes) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < n_live; i++) {
        const cpu_place *const place = &plan->places[live[i]];
        if (place->is_private != is_private) {
            continue;
        }
        if (at + bytes <= place->offset) {
            break;
        }
        if (place->offset + place->bytes > at) {
            at = place->offset + place->bytes;
        }
    }
    return at;
}

static void insert_live(const cpu_plan *plan, uint32_t *live, uint32_t n_live, uint32_t slot) {
    uint32_t at = n_live;
    while (at > 0 && plan->places[live[at - 1]].offset > plan->places[slot].offset) {
        live[at] = live[at - 1];
        at--;
    }
    live[at] = slot;
}

/* Places every slot in the order of the stages that write them. `live` is scratch of [n_slots]. */
static void place_slots(builder *b, uint32_t *live) {
    cpu_plan *const plan = b->plan;
    uint32_t n_live = 0;
    for (uint32_t s = 0; s < plan->n_stages; s++) {
        const uint32_t slot = plan->stages[s].out;
        if (slot == CPU_NONE || plan->places[slot].bytes != 0 || slot_bytes(b, slot) == 0) {
            continue;
        }
        uint32_t kept = 0;
        for (uint32_t i = 0; i < n_live; i++) {
            if (b->last_epoch[live[i]] >= b->first_epoch[slot]) {
                live[kept++] = live[i];
            }
        }
        n_live = kept;
        cpu_place *const place = &plan->places[slot];
        place->bytes = cpu_align(slot_bytes(b, slot), 128);
        place->offset = find_gap(plan, live, n_live, place->is_private, place->bytes);
        uint64_t *const total = place->is_private ? &plan->private_bytes : &plan->shared_bytes;
        if (place->offset + place->bytes > *total) {
            *total = place->offset + place->bytes;
        }
        insert_live(plan, live, n_live++, slot);
    }
}

void cpu_plan_slots(qn_prog *prog) {
    uint32_t next = prog->n_buffers;
    for (uint32_t i = 0; i < prog->n_buffers; i++) {
        prog->quantized[i] = CPU_NONE;
    }
    for (uint32_t i = 0; i < prog->n_ops && prog->numeric == QN_NUMERIC_ACT8; i++) {
        const cpu_op *const op = &prog->ops[i];
        if (op->kind == QN_OP_MATMUL && prog->weights[op->in[0]].form == CPU_WEIGHT_PANELS &&
            prog->quantized[op->in[1]] == CPU_NONE) {
            prog->quantized[op->in[1]] = next++;
        }
    }
    prog->rope_slots = next;
    prog->n_slots = next + prog->n_ropes;
}

static uint32_t count_stages(const qn_prog *prog) {
    uint32_t n = prog->n_slots - prog->n_buffers;
    for (uint32_t i = 0; i < prog->n_ops; i++) {
        n += prog->ops[i].kind == QN_OP_ATTENTION ? 2 : 1;
    }
    return n;
}

bool cpu_plan_build(qn_prog *prog, bool single, cpu_plan *plan) {
    const qn_host *const host = prog->host;
    const uint64_t slots = prog->n_slots;
    memset(plan, 0, sizeof *plan);
    plan->stages = host->mem_alloc(host->ctx, QN_MEM_OTHER, count_stages(prog) * sizeof *plan->stages + 64, 64);
    plan->places = host->mem_alloc(host->ctx, QN_MEM_OTHER, slots * sizeof *plan->places + 64, 64);
    uint32_t *const lists = host->mem_alloc(host->ctx, QN_MEM_OTHER, slots * 5 * sizeof(uint32_t) + 64, 64);
    if (plan->stages == NULL || plan->places == NULL || lists == NULL) {
        host->mem_free(host->ctx, lists);
        cpu_plan_free(host, plan);
        return false;
    }
    memset(lists, 0xff, slots * 5 * sizeof(uint32_t));
    builder b = {.prog = prog, .plan = plan, .single = single, .producer = lists, .reader = lists + slots,
                 .first_epoch = lists + 2 * slots, .last_epoch = lists + 3 * slots};
    for (uint32_t i = 0; i < prog->n_ops; i++) {
        add_op(&b, i);
    }
    place_slots(&b, lists + 4 * slots);
    host->mem_free(host->ctx, lists);
    return true;
}

void cpu_plan_free(const qn_host *host, cpu_plan *plan) {
    host->mem_free(host->ctx, plan->stages);
    host->mem_free(host->ctx, plan->places);
    memset(plan, 0, sizeof *plan);
}
