/* ext/device_sample.h — optional plugin extension "quoin.device-sample/1": the k greatest logits instead of all of
 * them.
 *
 * A row of logits is as long as the vocabulary; who takes the greatest, or draws among the k greatest, needs k of them.
 * With this extension they are found where they were computed and nothing else is moved:
 *
 *     const qn_device_sample *sampling = table->get_ext(QN_EXT_DEVICE_SAMPLE);
 *     if (sampling != NULL && k <= sampling->max_k) {
 *         uint32_t ids[40];
 *         float values[40];
 *         const qn_sample want = {.size = sizeof want, .buffer = logits, .k = 40, .n_columns = n_vocab, .ids = ids,
 *                                 .values = values};
 *         status = sampling->step(session, &step, &want, &error);
 *     }
 *
 * get_ext answers a constant qn_device_sample, or null.
 * Since: 0.0
 */
#ifndef QUOIN_EXT_DEVICE_SAMPLE_H
#define QUOIN_EXT_DEVICE_SAMPLE_H
#include <quoin/program.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QN_EXT_DEVICE_SAMPLE "quoin.device-sample/1"

/* What is wanted of one output buffer [OUTPUTS][columns] F32 of the program. */
typedef struct qn_sample {
    uint32_t size;
    uint32_t buffer;
    uint32_t k;         /* 1 to max_k, at most n_columns */
    uint32_t n_columns; /* only the first so many of a row count; 1 to the buffer's */
    /* [n_outputs][k], written: the greatest first, of equal ones the lower column first. Columns that are NaN or
     * infinite are passed over; when fewer than k are left, the rest of ids is UINT32_MAX. */
    uint32_t *ids;
    float *values;
} qn_sample;

typedef struct qn_device_sample {
    uint32_t size;
    uint32_t max_k;
    /* A step in every respect, but that the memory bound to sample->buffer (which is bound as ever) is left as it is
     * and ids and values are written instead. UNSUPPORTED when k is beyond max_k; BAD_ARG when the buffer is not such
     * an output. [ses] */
    qn_status (QN_CALL *step)(qn_session *session, const qn_step *step, const qn_sample *sample, qn_error *err);
} qn_device_sample;

#ifdef __cplusplus
}
#endif
#endif
