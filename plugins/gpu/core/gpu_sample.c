/* gpu_sample.c — the extension quoin.device-sample/1: a step that hands out the k greatest logits. */
#include "gpu_core.h"

static qn_status check_sample(const qn_prog *prog, const qn_sample *sample, qn_error *err) {
    if (sample->buffer >= prog->program->n_buffers) {
        return qn_fail(err, QN_BAD_ARG, "sample: there is no buffer %u", sample->buffer);
    }
    const qn_buffer *buffer = qn_program_buffer(prog->program, sample->buffer);
    if (!gpu_layout_is_sampled(buffer)) {
        return qn_fail(err, QN_BAD_ARG, "sample: buffer %u (%s) is not an output [OUTPUTS][n] F32", sample->buffer,
                       qn_program_name(prog->program, buffer));
    }
    if (sample->k == 0 || sample->n_columns == 0 || sample->n_columns > buffer->dims[0] || sample->k > sample->n_columns
        || sample->ids == NULL || sample->values == NULL) {
        return qn_fail(err, QN_BAD_ARG, "sample: %u of %u columns of %s, which has %llu, or no place for them",
                       sample->k, sample->n_columns, qn_program_name(prog->program, buffer),
                       (unsigned long long)buffer->dims[0]);
    }
    return sample->k <= GPU_MAX_TOP_K
               ? QN_OK
               : qn_fail(err, QN_UNSUPPORTED, "sample: the %u greatest, %u are the most", sample->k, GPU_MAX_TOP_K);
}

static qn_status QN_CALL step_and_sample(qn_session *session, const qn_step *step, const qn_sample *theirs,
                                         qn_error *err) {
    qn_sample own;
    qn_status status = qn_copy_in(&own, sizeof own, sizeof own, theirs);
    if (session == NULL || status != QN_OK) {
        return qn_fail(err, status == QN_OK ? QN_BAD_ARG : status,
                       "sample: no session, or what is wanted is absent, too short or too new");
    }
    status = check_sample(session->prog, &own, err);
    const gpu_top top = {
        .buffer = own.buffer, .k = own.k, .n_columns = own.n_columns, .ids = own.ids, .values = own.values};
    return status == QN_OK ? gpu_step_run(session, step, &top, err) : status;
}

const qn_device_sample gpu_sample_ext = {
    .size = sizeof gpu_sample_ext, .max_k = GPU_MAX_TOP_K, .step = step_and_sample};
