/* ext/peak.h — optional plugin extension "quoin.peak/1": how many operations a second this device does at most.
 *
 * A rate that a program reaches says little without the rate that could be reached. This measures the latter: a loop that does
 * nothing but the instruction in question, on registers, on as much of the device as a program would use, with the instruction set
 * that its kernels use now.
 *
 *     const qn_peak *peak = table->get_ext(QN_EXT_PEAK);
 *     qn_peak_rate rate = {.size = sizeof rate};
 *     if (peak != NULL) {
 *         status = peak->measure(device, QN_PEAK_INT8, &rate, &error);
 *     }
 *
 * get_ext answers a constant qn_peak, or null.
 * Since: 0.0
 */
#ifndef QUOIN_EXT_PEAK_H
#define QUOIN_EXT_PEAK_H
#include <quoin/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QN_EXT_PEAK "quoin.peak/1"

enum {
    QN_PEAK_INT8 = 0, /* products of 8-bit numbers, added up in 32 bits */
    QN_PEAK_F32 = 1   /* products of f32, added up in f32 */
};

typedef struct qn_peak_rate {
    uint32_t size;
    uint32_t reserved;
    double per_second; /* operations; a product and its addition are two */
    char name[48];     /* the instruction, terminated: "vpdpbusd zmm" */
} qn_peak_rate;

typedef struct qn_peak {
    uint32_t size;
    uint32_t reserved;
    /* Takes some hundredths of a second. UNSUPPORTED: a kind that the device does not know; *rate is then untouched. Not while a step
     * runs on the device. [ctl] */
    qn_status (QN_CALL *measure)(qn_device *device, uint32_t kind, qn_peak_rate *rate, qn_error *err);
} qn_peak;

#ifdef __cplusplus
}
#endif
#endif
