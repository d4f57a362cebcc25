/* q42_wal_old.c — logs of bare quins, behind a digest or not. */
#include <string.h>

#include "common/endian.h"
#include "q42_wal_internal.h"

#define OLD_HEADER 32u

static bool begins_with_zeros(fmt_span span) {
    static const uint8_t zeros[OLD_HEADER];
    return span.size >= OLD_HEADER && memcmp(span.data, zeros, OLD_HEADER) == 0;
}

static void count_quins(qwal_old_log *log) {
    static const uint8_t zeros[Q42_QUIN_BYTES];
    const uint8_t *at = log->span.data + (log->has_digest ? OLD_HEADER : 0);
    for (uint64_t i = 0; i < log->n_quins; i++, at += Q42_QUIN_BYTES) {
        const q42_quin quin = q42_quin_load(at);
        log->n_wrong_parity += quin.parity != q42_quin_parity(&quin);
        log->n_empty += memcmp(at, zeros, Q42_QUIN_BYTES) == 0;
    }
}

fmt_status qwal_old_open(fmt_span span, qwal_old_log *out_log, fmt_diag *diag) {
    const bool is_zero = begins_with_zeros(span);
    const uint64_t rest = span.size % Q42_QUIN_BYTES;
    qwal_old_log log = {.span = span, .has_digest = is_zero || rest == OLD_HEADER};
    if (span.size >= 4 && memcmp(span.data, "QWAL", 4) == 0) {
        return wal_refuse(diag, QWAL_R_OLD_SIZE, files_at(0), "the file begins with QWAL and is a log of today");
    }
    if (!is_zero && rest != 0 && rest != OLD_HEADER) {
        return wal_refuse(diag, QWAL_R_OLD_SIZE, (diag_place){span.size - rest, FMT_NO_INDEX, 0, rest},
                          "the file has %llu bytes, %llu more than whole quins", (unsigned long long)span.size,
                          (unsigned long long)rest);
    }
    const uint64_t bytes = span.size - (log.has_digest ? OLD_HEADER : 0);
    if (log.has_digest) {
        memcpy(log.digest, span.data, OLD_HEADER);
    }
    log.n_quins = bytes / Q42_QUIN_BYTES;
    log.n_torn_bytes = bytes % Q42_QUIN_BYTES;
    count_quins(&log);
    *out_log = log;
    return FMT_OK;
}

q42_quin qwal_old_quin(const qwal_old_log *log, uint64_t index) {
    q42_quin quin = q42_quin_load(log->span.data + (log->has_digest ? OLD_HEADER : 0) + index * Q42_QUIN_BYTES);
    quin.parity = q42_quin_parity(&quin);
    return quin;
}
