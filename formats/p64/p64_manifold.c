/* p64_manifold.c — section 9: ten values a layer, of no use to a language model, but part of the format. */
#include <math.h>
#include <string.h>

#include "common/cursor.h"
#include "p64_layout.h"

p64_manifold p64_get_manifold(const p64_file *file, uint32_t record) {
    cursor c = cursor_make(file->span, file->header.manifold_at + (uint64_t)P64_RECORD_BYTES * record);
    float v[P64_MAN_VALUES];
    for (int i = 0; i < P64_MAN_VALUES; i++) {
        v[i] = cursor_f32(&c);
    }
    return (p64_manifold){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9]};
}

p64_manifold p64_manifold_project(uint32_t layer, uint32_t n_layer) {
    const float pi = 3.14159265358979323846f, two_pi = 6.28318530717958647692f;
    const float depth = (float)((double)layer / (double)(n_layer > 0 ? n_layer : 1));
    /* The products are f32 values of their own; sine and cosine of them are rounded once, from double. */
    const float half_turn = depth * pi, turn = depth * two_pi;
    return (p64_manifold){
        .scale = depth,
        .attention_depth = 1.0f - depth,
        .epistemic_weight = 1.0f,
        .topological_spin = (float)sin((double)half_turn),
        .temporal_decay = 0.1f,
        .entropy_bias = 0.5f,
        .spatial_phase = (float)cos((double)turn),
        .recurrence_frequency = 1.0f,
        .density_threshold = 0.8f,
        .manifold_curvature = 0.0f,
    };
}

/* Ten floats of one record. */
static fmt_status check_values(const p64_reader *r, uint32_t record, uint64_t at) {
    cursor c = cursor_make(r->span, at);
    for (uint32_t i = 0; i < P64_MAN_VALUES; i++) {
        const float value = cursor_f32(&c);
        if (!isfinite(value)) {
            return p64_refuse(r, P64_R_MANIFOLD_FINITE, (p64_at){at + 4 * (uint64_t)i, record, 0, 0},
                              "Value %u of manifold record %u is %s", i, record,
                              isnan(value) ? "not a number" : "infinite");
        }
    }
    return FMT_OK;
}

fmt_status p64_check_manifold(p64_reader *r) {
    for (uint64_t record = 0; record <= r->file->hparams.n_layer; record++) {
        const uint64_t at = r->file->header.manifold_at + P64_RECORD_BYTES * record;
        fmt_status status = check_values(r, (uint32_t)record, at);
        if (status == FMT_OK) {
            status = p64_require_zero(r, P64_R_MANIFOLD_RESERVED, at + P64_MAN_RESERVED_AT, at + P64_RECORD_BYTES,
                                      "Reserved bytes of a manifold record");
        }
        if (status != FMT_OK) {
            return status;
        }
    }
    return FMT_OK;
}
