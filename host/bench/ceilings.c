/* ceilings.c — asking memory and backend. */
#include "bench/ceilings.h"

#include <quoin/glue.h>

#define READ_PASSES 5u

static void measure_peak(const backend *on, const qn_peak *peak, uint32_t kind, qn_peak_rate *out) {
    qn_error ignored = {.size = sizeof ignored, .op = QN_NO_OP};
    *out = (qn_peak_rate){.size = sizeof *out};
    if (peak == NULL || peak->measure(on->device, kind, out, &ignored) < 0) {
        *out = (qn_peak_rate){.size = sizeof *out};
    }
    out->name[sizeof out->name - 1] = '\0';
}

void ceilings_measure(const backend *on, fmt_span model, team *workers, ceilings *out) {
    const qn_peak *peak = QN_HAS(on->plugin, get_ext) ? on->plugin->get_ext(QN_EXT_PEAK) : NULL;
    out->read = read_ceiling_measure(model, READ_PASSES, workers);
    measure_peak(on, peak, QN_PEAK_INT8, &out->int8);
    measure_peak(on, peak, QN_PEAK_F32, &out->f32);
}
