/* ref_add.c — ADD: y = a + b; a weight b is added to each row. */
#include "ref_internal.h"

void ref_add(const ref_call *call) {
    const ref_view *a = &call->in[0], *b = &call->in[1];
    const int is_weight = b->buffer->role == QN_ROLE_WEIGHT;
    for (uint64_t r = 0; r < a->n_rows; r++) {
        const float *x = ref_row(a, r), *z = is_weight ? (const float *)b->data + b->first_element : ref_row(b, r);
        float *y = ref_row(&call->out, r);
        for (uint64_t i = 0; i < a->n_columns; i++) {
            y[i] = (float)((double)x[i] + z[i]);
        }
    }
}
