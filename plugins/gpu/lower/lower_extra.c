/* lower_extra.c — launches for what is not an op: fill, and the k greatest of rows of logits. */
#include "lower_internal.h"

#define CHUNK 2048u /* columns that one work-group of top_k looks through at first */

qn_status gpu_lower_fill(gpu_lowering *to, const gpu_binding *where, uint32_t word, qn_error *err) {
    const struct fill_params params = {.n = (uint32_t)(where->bytes / 4), .word = word};
    const gpu_binding *buffers[] = {where};
    return lower_elements(to, GPU_KERNEL_FILL, params.n, LOWER_ITEM_ELEMENTS, buffers, &params, QN_NO_OP, err);
}

static uint64_t count_chunks(uint64_t n_columns) {
    return lower_ceil(n_columns, CHUNK);
}

uint64_t gpu_top_k_bytes(const gpu_caps *caps, uint64_t n_columns, uint32_t n_rows, uint32_t k) {
    (void)caps;
    const uint64_t n_chunks = count_chunks(n_columns);
    return n_chunks == 1 ? 0 : n_chunks * n_rows * k * 2 * sizeof(uint32_t);
}

static qn_status find_best(gpu_lowering *to, const struct top_k_params *params, const gpu_binding *const buffers[4], qn_error *err) {
    return lower_launch(to, GPU_KERNEL_TOP_K, (uint64_t)params->n_rows * params->n_chunks, buffers, params, QN_NO_OP, err);
}

qn_status gpu_lower_top_k(gpu_lowering *to, const gpu_view *logits, uint32_t k, const gpu_binding *ids, const gpu_binding *values,
                          qn_error *err) {
    const uint32_t n_chunks = (uint32_t)count_chunks(logits->n_columns);
    const struct top_k_params first = {.n_rows = (uint32_t)logits->n_rows, .n_columns = (uint32_t)logits->n_columns,
                                       .row_words = (uint32_t)(logits->row_bytes / 4), .k = k, .n_chunks = n_chunks, .chunk = CHUNK};
    if (n_chunks == 1) {
        const gpu_binding *buffers[] = {&logits->at, &to->zero, values, ids};
        return find_best(to, &first, buffers, err);
    }
    gpu_binding some_values = to->scratch, some_ids = to->scratch;
    some_values.bytes = (uint64_t)n_chunks * first.n_rows * k * sizeof(uint32_t);
    some_ids.bytes = some_values.bytes;
    some_ids.at += some_values.bytes;
    const gpu_binding *some[] = {&logits->at, &to->zero, &some_values, &some_ids};
    const qn_status status = find_best(to, &first, some, err);
    const struct top_k_params second = {.n_rows = first.n_rows, .n_columns = n_chunks * k, .row_words = n_chunks * k, .k = k, .n_chunks = 1,
                                        .chunk = n_chunks * k, .has_ids = 1};
    const gpu_binding *all[] = {&some_values, &some_ids, values, ids};
    return status != QN_OK ? status : find_best(to, &second, all, err);
}

uint32_t gpu_extra_kernels(uint32_t *kernels, uint32_t room) {
    const uint32_t all[] = {GPU_KERNEL_FILL, GPU_KERNEL_TOP_K};
    for (uint32_t i = 0; i < 2 && i < room; i++) {
        kernels[i] = all[i];
    }
    return 2;
}
