/* kv_cells.c — placement of one sequence. */
#include "decode/kv_cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/scrub.h"

qn_status kv_cells_init(kv_cells *kv, const qn_limits *limits, const uint32_t *windows, error_context *err) {
    memset(kv, 0, sizeof *kv);
    kv->n_groups = limits->n_groups;
    for (uint32_t g = 0; g < kv->n_groups; g++) {
        kv_group *group = &kv->groups[g];
        group->cells = limits->cells[g];
        group->window = windows[g];
        group->cell_of_token = calloc(limits->max_tokens, sizeof *group->cell_of_token);
        if (group->cell_of_token == NULL) {
            kv_cells_deinit(kv);
            return FAIL(err, QN_NO_HOST_MEM, "out of memory for the placement of %u tokens", limits->max_tokens);
        }
    }
    return QN_OK;
}

void kv_cells_deinit(kv_cells *kv) {
    for (uint32_t g = 0; g < kv->n_groups; g++) {
        free(kv->groups[g].cell_of_token);
    }
    memset(kv, 0, sizeof *kv);
}

/* Positions [first, first + count) as one or two spans of a ring. */
static uint32_t make_spans(kv_group *group, uint32_t first, uint32_t count) {
    const uint32_t cell = first % group->cells;
    const uint32_t head = group->cells - cell < count ? group->cells - cell : count;
    group->spans[0] = (qn_span){.first_cell = cell, .n_cells = head, .first_position = (int32_t)first};
    group->spans[1] = (qn_span){.first_cell = 0, .n_cells = count - head, .first_position = (int32_t)(first + head)};
    return head < count ? 2 : 1;
}

static void note_written(kv_cells *kv, uint32_t end) {
    kv->written = end > kv->written ? end : kv->written;
    kv->touched = end > kv->touched ? end : kv->touched;
}

void kv_cells_place(kv_cells *kv, uint32_t n_tokens) {
    note_written(kv, kv->length + n_tokens); /* a step that fails half-way has overwritten cells all the same */
    for (uint32_t g = 0; g < kv->n_groups; g++) {
        kv_group *group = &kv->groups[g];
        for (uint32_t t = 0; t < n_tokens; t++) {
            group->cell_of_token[t] = (kv->length + t) % group->cells;
        }
        const uint32_t seen_by_first = group->window > 0 && kv->length + 1 > group->window
                                           ? kv->length + 1 - group->window
                                           : 0;
        const uint32_t n_spans = make_spans(group, seen_by_first, kv->length + n_tokens - seen_by_first);
        kv->span_at[g][0] = 0;
        kv->span_at[g][1] = n_spans;
        kv->placements[g] = (qn_placement){.size = sizeof(qn_placement),
                                           .n_spans = n_spans,
                                           .cells = group->cell_of_token,
                                           .spans = group->spans,
                                           .span_at = kv->span_at[g]};
    }
}

void kv_cells_commit(kv_cells *kv, uint32_t n_tokens) {
    kv->length += n_tokens;
    note_written(kv, kv->length);
}

uint32_t kv_cells_truncate(kv_cells *kv, uint32_t length) {
    for (uint32_t g = 0; g < kv->n_groups && length < kv->length; g++) {
        const kv_group *group = &kv->groups[g];
        const uint32_t oldest_kept = kv->written > group->cells ? kv->written - group->cells : 0;
        const uint32_t oldest_needed = group->window > 0 && length + 1 > group->window ? length + 1 - group->window : 0;
        if (oldest_needed < oldest_kept) {
            length = 0;
        }
    }
    if (length < kv->length) {
        kv->length = length;
    }
    if (kv->length == 0) {
        kv->written = 0; /* nothing is kept that could have been overwritten */
    }
    return kv->length;
}

void kv_cells_forget(kv_cells *kv, uint32_t max_tokens) {
    for (uint32_t g = 0; g < kv->n_groups; g++) {
        scrub_memory(NULL, SCRUB_TOKENS, kv->groups[g].cell_of_token, (size_t)max_tokens * sizeof *kv->groups[g].cell_of_token);
        memset(kv->groups[g].spans, 0, sizeof kv->groups[g].spans);
    }
    kv->length = 0;
    kv->written = 0;
    kv->touched = 0;
}
