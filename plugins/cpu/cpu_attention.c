/* cpu_attention.c — how attention is dealt out.
 *
 * Few tokens: an item is one head of one token over one part of its cells, in the order of its spans. A worker goes through its heads of a
 * part chunk by chunk, so that the keys and values of all K/V heads are read in the order of memory. Workers get equal numbers of cells,
 * not of items. How many cells a part has depends on the number of cells alone, and parts are merged in order, so that the result does not
 * depend on the number of workers. Many tokens: an item is one K/V head and a tile of tokens, over all cells in chunks.
 */
#include <string.h>

#include <quoin/glue.h>

#include "cpu_internal.h"

enum { MOST_PARTS = 16 /* that the cells of a token are divided into */ };

/* Walks through the cells of a sequence whose positions lie in [low, high]. */
typedef struct cell_walk {
    const qn_span *span, *end;
    uint32_t taken;          /* cells of *span that were given out or passed over */
    int64_t low, high;
} cell_walk;

static uint32_t sequence_of(const cpu_run *run, uint32_t token) {
    return run->step->sequences == NULL ? 0 : run->step->sequences[token];
}

static cell_walk begin_walk(const cpu_run *run, uint32_t group, uint32_t token, int32_t low_position, int32_t high, uint32_t window) {
    const qn_placement *const placement = cpu_placement(run, group);
    const uint32_t sequence = sequence_of(run, token);
    cell_walk walk = {placement->spans + placement->span_at[sequence], placement->spans + placement->span_at[sequence + 1], 0,
                      window == 0 ? 0 : (int64_t)low_position - window + 1, high};
    return walk;
}

/* The next run of visible cells, at most `most` of them. False at the end. */
static bool next_cells(cell_walk *walk, uint32_t most, cpu_cells *out) {
    for (; walk->span < walk->end; walk->span++, walk->taken = 0) {
        const qn_span *const span = walk->span;
        int64_t first = span->first_position + (int64_t)walk->taken;
        int64_t last = span->first_position + (int64_t)span->n_cells - 1;
        first = first < walk->low ? walk->low : first;
        last = last > walk->high ? walk->high : last;
        if (first > last) {
            continue;
        }
        const int64_t n = last - first + 1 < most ? last - first + 1 : most;
        out->first = span->first_cell + (uint32_t)(first - span->first_position);
        out->n = (uint32_t)n;
        out->position = (int32_t)first;
        walk->taken = (uint32_t)(first - span->first_position + n);
        return true;
    }
    return false;
}

static void skip_cells(cell_walk *walk, uint64_t skip) {
    cpu_cells cells;
    while (skip > 0 && next_cells(walk, skip < UINT32_MAX ? (uint32_t)skip : UINT32_MAX, &cells)) {
        skip -= cells.n;
    }
}

/* Fills ranges with the next `room` cells; returns how many ranges. */
static uint32_t take_chunk(cell_walk *walk, uint32_t room, cpu_cells *ranges) {
    uint32_t n = 0;
    while (room > 0 && next_cells(walk, room, &ranges[n])) {
        room -= ranges[n++].n;
    }
    return n;
}

static uint64_t count_cells(cell_walk walk) {
    uint64_t n = 0;
    cpu_cells cells;
    while (next_cells(&walk, UINT32_MAX, &cells)) {
        n += cells.n;
    }
    return n;
}

static uint32_t group_of(const cpu_run *run, const cpu_op *op) {
    return qn_program_buffer(run->prog->program, op->in[1])->group;
}

static cell_walk walk_token(const cpu_run *run, const cpu_op *op, uint32_t token) {
    const int32_t position = run->step->positions[token];
    return begin_walk(run, group_of(run, op), token, position, position, op->attrs.attention.window);
}

/* Cells of a part of a token that sees `cells` of them: whole chunks, and so many that merging is little work. */
static uint64_t part_cells(uint64_t cells) {
    const uint64_t chunks = (cells + CPU_CHUNK_CELLS - 1) / CPU_CHUNK_CELLS;
    return (chunks + MOST_PARTS - 1) / MOST_PARTS * CPU_CHUNK_CELLS;
}

/* Parts of the token that has most of them. */
static uint32_t count_parts(const cpu_run *run, const cpu_op *op) {
    uint64_t most = 1;
    for (uint32_t t = 0; t < run->n_tokens; t++) {
        const uint64_t cells = count_cells(walk_token(run, op, t));
        const uint64_t parts = cells == 0 ? 1 : (cells + part_cells(cells) - 1) / part_cells(cells);
        most = parts > most ? parts : most;
    }
    return (uint32_t)most;
}

bool cpu_attention_is_split(const cpu_run *run, const cpu_stage *stage) {
    return run->n_tokens <= CPU_FEW_TOKENS && count_parts(run, &run->prog->ops[stage->op]) > 1;
}

static cpu_kv make_kv(const cpu_run *run, const cpu_op *op, uint32_t kv_head) {
    const qn_attention_attrs *const a = &op->attrs.attention;
    const qn_buffer *const k = qn_program_buffer(run->prog->program, op->in[1]);
    const qn_buffer *const v = qn_program_buffer(run->prog->program, op->in[2]);
    cpu_kv kv = {.k_stride = qn_format_bytes(k->format, k->dims[0]), .v_stride = qn_format_bytes(v->format, v->dims[0]),
                 .k_format = k->format, .v_format = v->format,
                 .head_dim = a->head_dim, .value_dim = a->value_dim, .scale = a->scale, .softcap = a->softcap};
    kv.k = (const uint8_t *)run->session->states[op->in[1]] + qn_format_bytes(k->format, (uint64_t)kv_head * a->head_dim);
    kv.v = (const uint8_t *)run->session->states[op->in[2]] + qn_format_bytes(v->format, (uint64_t)kv_head * a->value_dim);
    return kv;
}

/* Storage of split attention: sums [token][part][head][value_dim], then stats [token][part][head][2]. */
typedef struct part_store {
    float *sums, *stats;
    uint32_t n_parts;
} part_store;

static part_store find_parts(const cpu_run *run, const cpu_op *op, uint32_t n_parts) {
    const qn_attention_attrs *const a = &op->attrs.attention;
    part_store store = {run->session->parts, NULL, n_parts};
    store.stats = store.sums + (size_t)run->n_tokens * n_parts * a->n_head * a->value_dim;
    return store;
}

static void merge_head(const cpu_run *run, const cpu_op *op, const part_store *store, uint32_t token, uint32_t head, float *y) {
    const qn_attention_attrs *const a = &op->attrs.attention;
    const size_t at = (size_t)token * store->n_parts * a->n_head + head;
    run->kernels->attend_merge(store->sums + at * a->value_dim, (uint64_t)a->n_head * a->value_dim, store->stats + 2 * at,
                               2 * (uint64_t)a->n_head, store->n_parts, a->value_dim,
                               y + ((size_t)token * a->n_head + head) * a->value_dim);
}

/* One part of one token's cells. */
typedef struct part {
    uint32_t token, number;
    uint64_t first, n_cells;
} part;

static part find_part(const cpu_run *run, const cpu_op *op, uint32_t token, uint32_t number) {
    const uint64_t all = count_cells(walk_token(run, op, token));
    const uint64_t most = part_cells(all);
    const uint64_t before = number * most;
    const part p = {token, number, before, all < before ? 0 : all - before < most ? all - before : most};
    return p;
}

/* What a head of a part costs, in cells: the last part of a sequence is often short, and none is free. */
static uint64_t part_cost(const part *p) {
    return p->n_cells + 16;
}

/* A worker's heads [head, last_head) of a part. */
typedef struct part_heads {
    const cpu_run *run;
    const cpu_op *op;
    const part_store *store;
    part p;
    uint32_t head, last_head, worker;
    bool goes_on; /* with the next part of the token */
    const uint8_t *acts; /* of `head` and those behind it, or null */
} part_heads;

/* Class ACT8 rounds queries for keys in Q8_0 to 8 bits, as the activations of a product: null where they are used as they are. */
static const uint8_t *quantize_heads(const cpu_run *run, const cpu_op *op, const float *q, uint32_t n_heads, uint8_t *rows) {
    const uint32_t dim = op->attrs.attention.head_dim;
    if (run->prog->numeric != QN_NUMERIC_ACT8 || qn_program_buffer(run->prog->program, op->in[1])->format != QN_FORMAT_Q8_0) {
        return NULL;
    }
    for (uint32_t h = 0; h < n_heads; h++) {
        run->kernels->quantize(q + (size_t)h * dim, dim, rows + h * cpu_act8_stride(dim / CPU_BLOCK));
    }
    return rows;
}

static const float *query_of(const part_heads *w, uint32_t head) {
    const qn_attention_attrs *const a = &w->op->attrs.attention;
    return (const float *)cpu_locate(w->run, w->op->in[0], w->worker) + ((size_t)w->p.token * a->n_head + head) * a->head_dim;
}

/* The share of K/V head `kv_head` in what is asked for during a chunk: the rows of its cells, one K/V head after the other. */
static const void *ask_from(const void *state, uint64_t stride, const cpu_cells *next, uint32_t kv_head, uint32_t n_kv_head) {
    return (const uint8_t *)state + next->first * stride + next->n * (stride / n_kv_head) * kv_head;
}

/* One chunk for all heads; next: the first cells of the one after it, or null. */
static void run_chunk(const part_heads *w, const cpu_cells *cells, uint32_t n_ranges, const cpu_cells *next, bool is_first) {
    const qn_attention_attrs *const a = &w->op->attrs.attention;
    const uint32_t heads_per_kv = a->n_head / a->n_kv_head;
    uint8_t *const scratch = w->run->session->scratch + w->worker * w->run->prog->scratch_bytes;
    void **const states = w->run->session->states;
    for (uint32_t head = w->head; head < w->last_head;) {
        const uint32_t kv_head = head / heads_per_kv;
        const uint32_t end = (kv_head + 1) * heads_per_kv < w->last_head ? (kv_head + 1) * heads_per_kv : w->last_head;
        const cpu_kv kv = make_kv(w->run, w->op, kv_head);
        const size_t item = ((size_t)w->p.token * w->store->n_parts + w->p.number) * a->n_head + head;
        cpu_few few = {.q = query_of(w, head), .sums = w->store->sums + item * a->value_dim, .stats = w->store->stats + 2 * item,
                       .n_heads = end - head, .is_first = is_first};
        if (w->acts != NULL) {
            few.acts = w->acts + (head - w->head) * cpu_act8_stride(a->head_dim / CPU_BLOCK);
        }
        if (next != NULL) {
            few.k_next = ask_from(states[w->op->in[1]], kv.k_stride, next, kv_head, a->n_kv_head);
            few.v_next = ask_from(states[w->op->in[2]], kv.v_stride, next, kv_head, a->n_kv_head);
        }
        w->run->kernels->attend_few(&kv, &few, cells, n_ranges, scratch);
        head = end;
    }
}

static void run_part(part_heads *w) {
    cpu_cells *const ranges[2] = {w->run->session->ranges + (size_t)w->worker * CPU_CHUNK_CELLS,
                                  w->run->session->ranges + (size_t)w->worker * CPU_CHUNK_CELLS + CPU_FEW_CELLS};
    uint8_t *const scratch = w->run->session->scratch + w->worker * w->run->prog->scratch_bytes;
    w->acts = quantize_heads(w->run, w->op, query_of(w, w->head), w->last_head - w->head, scratch + CPU_SCORES_BYTES);
    cell_walk walk = walk_token(w->run, w->op, w->p.token);
    skip_cells(&walk, w->p.first);
    uint64_t left = w->p.n_cells;
    uint32_t n_ranges = take_chunk(&walk, left < CPU_FEW_CELLS ? (uint32_t)left : CPU_FEW_CELLS, ranges[0]);
    for (uint32_t turn = 0; turn == 0 || left > 0; turn++) {
        left -= left < CPU_FEW_CELLS ? left : CPU_FEW_CELLS;
        const uint64_t room = left > 0 ? left : w->goes_on ? CPU_FEW_CELLS : 0;
        const uint32_t n_next = take_chunk(&walk, room < CPU_FEW_CELLS ? (uint32_t)room : CPU_FEW_CELLS, ranges[(turn + 1) % 2]);
        run_chunk(w, ranges[turn % 2], n_ranges, n_next > 0 ? ranges[(turn + 1) % 2] : NULL, turn == 0);
        n_ranges = n_next;
    }
    for (uint32_t h = w->head; w->store->n_parts == 1 && h < w->last_head; h++) {
        merge_head(w->run, w->op, w->store, w->p.token, h, cpu_locate(w->run, w->op->out, w->worker));
    }
}

/* Items stand in the order of tokens, parts and heads; a worker takes those whose middle lies in its share of all cost. */
static void run_few(const cpu_run *run, const cpu_op *op, uint32_t worker, uint32_t n_workers) {
    const uint32_t n_head = op->attrs.attention.n_head;
    const part_store store = find_parts(run, op, count_parts(run, op));
    uint64_t total = 0;
    uint64_t first;
    uint64_t last;
    for (uint32_t i = 0; i < run->n_tokens * store.n_parts; i++) {
        const part p = find_part(run, op, i / store.n_parts, i % store.n_parts);
        total += part_cost(&p) * n_head;
    }
    cpu_share(total, worker, n_workers, &first, &last);
    uint64_t at = 0; /* of the first head of the part */
    for (uint32_t i = 0; i < run->n_tokens * store.n_parts && at < last; i++) {
        const part p = find_part(run, op, i / store.n_parts, i % store.n_parts);
        const uint64_t cost = part_cost(&p);
        part_heads w = {.run = run, .op = op, .store = &store, .p = p, .worker = worker, .head = n_head};
        for (uint32_t h = 0; h < n_head; h++) {
            const uint64_t middle = at + h * cost + cost / 2;
            if (middle >= first && middle < last) {
                w.head = h < w.head ? h : w.head;
                w.last_head = h + 1;
            }
        }
        at += cost * n_head;
        w.goes_on = at < last && p.number + 1 < store.n_parts;
        if (w.head < w.last_head) {
            run_part(&w);
        }
    }
}

/* Tokens [first, last) of one sequence, against one K/V head. */
static void run_tile(const cpu_run *run, const cpu_op *op, uint32_t kv_head, uint32_t first, uint32_t last, uint32_t worker) {
    const qn_attention_attrs *const a = &op->attrs.attention;
    const cpu_kv kv = make_kv(run, op, kv_head);
    cpu_query_tile tile = {.n_tokens = last - first, .n_heads = a->n_head / a->n_kv_head, .window = a->window,
                           .positions = run->step->positions + first};
    tile.q_stride = (uint64_t)a->n_head * a->head_dim;
    tile.y_stride = (uint64_t)a->n_head * a->value_dim;
    tile.q = (const float *)cpu_locate(run, op->in[0], worker) + first * tile.q_stride + (size_t)kv_head * tile.n_heads * a->head_dim;
    tile.y = (float *)cpu_locate(run, op->out, worker) + first * tile.y_stride + (size_t)kv_head * tile.n_heads * a->value_dim;
    int32_t low = tile.positions[0];
    int32_t high = low;
    for (uint32_t t = 1; t < tile.n_tokens; t++) {
        low = tile.positions[t] < low ? tile.positions[t] : low;
        high = tile.positions[t] > high ? tile.positions[t] : high;
    }
    cell_walk walk = begin_walk(run, group_of(run, op), first, low, high, a->window);
    cpu_cells *const ranges = run->session->ranges + (size_t)worker * CPU_CHUNK_CELLS;
    uint64_t left = count_cells(walk);
    tile.is_first = true;
    do {
        const uint32_t n_ranges = take_chunk(&walk, CPU_CHUNK_CELLS, ranges);
        left -= left < CPU_CHUNK_CELLS ? left : CPU_CHUNK_CELLS;
        tile.is_last = left == 0;
        run->kernels->attend_tile(&kv, &tile, ranges, n_ranges, run->session->scratch + worker * run->prog->scratch_bytes);
        tile.is_first = false;
    } while (!tile.is_last);
}

/* Smaller tiles where there would be too few of them to share out well. */
static uint32_t tile_tokens(const cpu_run *run) {
    return run->n_tokens >= 8 * CPU_TILE_TOKENS ? CPU_TILE_TOKENS : CPU_TILE_TOKENS / 2;
}

static void run_tiles(const cpu_run *run, const cpu_op *op, uint32_t worker, uint32_t n_workers) {
    const uint32_t n_kv_head = op->attrs.attention.n_kv_head;
    const uint32_t most = tile_tokens(run);
    const uint32_t n_tiles = (run->n_tokens + most - 1) / most;
    for (uint32_t item = 0; item < n_tiles * n_kv_head; item++) {
        const uint32_t turn = item % (2 * n_workers); /* there and back: later tiles see more cells */
        if ((turn < n_workers ? turn : 2 * n_workers - 1 - turn) != worker) {
            continue;
        }
        uint32_t first = item / n_kv_head * most;
        const uint32_t end = first + most < run->n_tokens ? first + most : run->n_tokens;
        while (first < end) {
            uint32_t last = first + 1;
            while (last < end && sequence_of(run, last) == sequence_of(run, first)) {
                last++;
            }
            run_tile(run, op, item % n_kv_head, first, last, worker);
            first = last;
        }
    }
}

void cpu_run_attention(const cpu_run *run, const cpu_stage *stage, uint32_t worker, uint32_t n_workers) {
    const cpu_op *const op = &run->prog->ops[stage->op];
    if (run->n_tokens <= CPU_FEW_TOKENS) {
        run_few(run, op, worker, n_workers);
    } else {
        run_tiles(run, op, worker, n_workers);
    }
}

void cpu_run_merge(const cpu_run *run, const cpu_stage *stage, uint32_t worker, uint32_t n_workers) {
    const cpu_op *const op = &run->prog->ops[stage->op];
    const part_store store = find_parts(run, op, count_parts(run, op));
    float *const y = cpu_locate(run, op->out, worker);
    uint64_t item;
    uint64_t last;
    cpu_share((uint64_t)run->n_tokens * op->attrs.attention.n_head, worker, n_workers, &item, &last);
    for (; item < last; item++) {
        merge_head(run, op, &store, (uint32_t)(item / op->attrs.attention.n_head),
                   (uint32_t)(item % op->attrs.attention.n_head), y);
    }
}
