/* lower_attention.c — ATTENTION: a work-group for each head of each token; where these are too few for the device, each shares its
 * cells out among several, and a second launch merges what they found.
 */
#include "lower_internal.h"

#define ITEM_COLUMNS 4u     /* of v, that an item of attention.kernel takes */
#define MAX_SPLITS 32u
#define GROUPS_PER_UNIT 4u  /* work-groups that keep a compute unit busy */
#define PROCESSOR_GROUPS 16u

static int is_readable(qn_format format) {
    return format == QN_FORMAT_F32 || format == QN_FORMAT_F16 || format == QN_FORMAT_BF16;
}

static uint32_t find_kernel(const gpu_caps *caps, qn_format k, qn_format v) {
    static const uint32_t kernels[2][4] = {
        {GPU_KERNEL_ATTENTION_F32, GPU_KERNEL_ATTENTION_F16, GPU_KERNEL_ATTENTION_BF16, GPU_KERNEL_ATTENTION_ANY},
        {GPU_KERNEL_ATTENTION_CPU_F32, GPU_KERNEL_ATTENTION_CPU_F16, GPU_KERNEL_ATTENTION_CPU_BF16, GPU_KERNEL_ATTENTION_CPU_ANY}};
    const uint32_t which = k != v ? 3 : k == QN_FORMAT_F32 ? 0 : k == QN_FORMAT_F16 ? 1 : 2;
    return kernels[(caps->flags & GPU_CAP_ON_CPU) != 0][which];
}

static int can_attend(const lower_question *ask, char text[LOWER_VERDICT_BYTES]) {
    for (uint32_t i = 1; i <= 2; i++) {
        const qn_format format = lower_operand(ask, i)->format;
        if (!is_readable(format)) {
            snprintf(text, LOWER_VERDICT_BYTES, "no kernel reads a state of format %s; F32, F16 and BF16 are possible", qn_format_name(format));
            return 0;
        }
    }
    return 1;
}

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    kernels[0] = find_kernel(ask->caps, lower_operand(ask, 1)->format, lower_operand(ask, 2)->format);
    kernels[1] = GPU_KERNEL_ATTENTION_MERGE;
    return 2;
}

static uint32_t count_launches(const lower_question *ask) {
    (void)ask;
    return 2;
}

/* On a processor the number of its cores that are used may be another one the next time, and must not change results. */
static uint64_t wanted_groups(const gpu_caps *caps) {
    return (caps->flags & GPU_CAP_ON_CPU) != 0 ? PROCESSOR_GROUPS : (uint64_t)caps->compute_units * GROUPS_PER_UNIT;
}

/* Shares of the cells, when `groups` work-groups do without: so many that fewer than twice the wanted groups come out. */
static uint32_t choose_splits(const gpu_caps *caps, uint64_t groups, uint64_t n_chunks) {
    uint64_t splits = groups < wanted_groups(caps) ? lower_ceil(wanted_groups(caps), groups) : 1;
    splits = splits < n_chunks ? splits : n_chunks;
    return splits == 0 ? 1 : splits < MAX_SPLITS ? (uint32_t)splits : MAX_SPLITS;
}

static uint64_t count_blocks(uint32_t kernel, const qn_attention_attrs *attrs) {
    return lower_ceil(attrs->value_dim, (uint64_t)gpu_kernels[kernel].group * ITEM_COLUMNS);
}

static uint64_t count_scratch(const lower_question *ask) {
    const qn_attention_attrs *attrs = ask->attrs;
    return 2 * wanted_groups(ask->caps) * (attrs->value_dim + UINT64_C(2)) * sizeof(float);
}

/* Items that are side by side on columns of v: a power of two. */
static uint32_t choose_lanes(uint32_t value_dim, uint32_t group) {
    uint32_t lanes = 1;
    while (lanes * ITEM_COLUMNS < value_dim && lanes < group) {
        lanes *= 2;
    }
    return lanes;
}

static struct attention_params describe(const gpu_lowering *to, const gpu_call *call, uint32_t kernel) {
    const qn_attention_attrs *attrs = call->attrs;
    const gpu_view *k = &call->in[1], *v = &call->in[2];
    const uint32_t group = gpu_kernels[kernel].group;
    const uint64_t n_blocks = count_blocks(kernel, attrs), n_chunks = lower_ceil(to->block->most_visible[k->buffer->group], group);
    return (struct attention_params){
        .n_tokens = to->n_tokens, .n_head = attrs->n_head, .share = attrs->n_head / attrs->n_kv_head, .head_dim = attrs->head_dim,
        .value_dim = attrs->value_dim, .window = attrs->window, .scale = attrs->scale, .softcap = attrs->softcap,
        .k_row = (uint32_t)(k->row_bytes / qn_format_bytes(k->buffer->format, 1)),
        .v_row = (uint32_t)(v->row_bytes / qn_format_bytes(v->buffer->format, 1)),
        .n_splits = choose_splits(to->caps, (uint64_t)to->n_tokens * attrs->n_head * n_blocks, n_chunks), .n_blocks = (uint32_t)n_blocks,
        .lanes = choose_lanes(attrs->value_dim, group), .k_is_f32 = k->buffer->format == QN_FORMAT_F32,
        .k_is_f16 = k->buffer->format == QN_FORMAT_F16, .v_is_f32 = v->buffer->format == QN_FORMAT_F32,
        .v_is_f16 = v->buffer->format == QN_FORMAT_F16};
}

static qn_status merge(gpu_lowering *to, const gpu_call *call, const struct attention_params *p, const gpu_binding *parts, qn_error *err) {
    const struct attention_merge_params params = {.n = p->n_tokens * p->n_head * p->value_dim, .value_dim = p->value_dim,
                                                  .n_splits = p->n_splits};
    const gpu_binding *buffers[] = {parts, &call->out.at};
    return lower_elements(to, GPU_KERNEL_ATTENTION_MERGE, params.n, 1, buffers, &params, call->index, err);
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    const gpu_view *q = &call->in[0], *k = &call->in[1], *v = &call->in[2];
    const uint32_t kernel = find_kernel(to->caps, k->buffer->format, v->buffer->format), group = k->buffer->group;
    const struct attention_params params = describe(to, call, kernel);
    const uint64_t groups = (uint64_t)params.n_tokens * params.n_head * params.n_splits;
    uint32_t n;
    qn_status status = lower_count(q, call->index, &n, err);
    if (status == QN_OK) {
        status = lower_count(&call->out, call->index, &n, err);
    }
    if (status != QN_OK) {
        return status;
    }
    gpu_binding parts = to->scratch;
    parts.bytes = groups * (params.value_dim + UINT64_C(2)) * sizeof(float);
    const gpu_binding *y = params.n_splits > 1 ? &parts : &call->out.at;
    const gpu_binding *buffers[] = {&q->at, &k->at, &v->at, &to->block->positions, &to->block->sequences, &to->block->spans[group],
                                    &to->block->span_at[group], y};
    status = lower_launch(to, kernel, groups * params.n_blocks, buffers, &params, call->index, err);
    return status != QN_OK || params.n_splits == 1 ? status : merge(to, call, &params, &parts, err);
}

const lower_row lower_attention = {.can = can_attend, .kernels = list_kernels, .most_launches = count_launches,
                                   .scratch_bytes = count_scratch, .lower = lower_it};
