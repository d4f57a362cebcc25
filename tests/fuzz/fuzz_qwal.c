/* fuzz_qwal.c — logs of any bytes. What is demanded: a refusal has words; what strict accepts, the default accepts alike; the walk gives
 * what opening counted and stays in front of the end; every record encodes to its own bytes again; what was cut off is cut only once. The same bytes are
 * tried with right checksums, so that what stands behind them is reached. */
#include <stdlib.h>
#include <string.h>

#include <quoin/qwal.h>

#include "common/crc32c.h"
#include "common/endian.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const qwal_log *log) {
    qwal_walk at = {0};
    qwal_record record;
    uint64_t n_records = 0, n_commits = 0, n_terms = 0;
    while (qwal_next(log, &at, &record)) {
        const uint64_t bytes = qwal_record_size(record.payload.size);
        REQUIRE(record.offset + bytes <= log->end);
        uint8_t *copy = malloc(bytes);
        REQUIRE(copy != NULL);
        memcpy(copy + QWAL_RECORD_BYTES, record.payload.data, record.payload.size);
        REQUIRE(qwal_encode_record(&record, copy, bytes) == bytes);
        REQUIRE(memcmp(copy, log->span.data + record.offset, bytes) == 0);
        free(copy);
        n_records++;
        n_commits += record.type == QWAL_COMMIT;
        n_terms += record.type == QWAL_TERM;
    }
    REQUIRE(n_records == log->n_records && n_commits == log->n_commits && n_terms == log->n_terms);
    REQUIRE(n_records == 0 || log->last_sequence - log->first_sequence + 1 == n_records);
}

static void open_old(fmt_span span) {
    qwal_old_log old;
    if (qwal_old_open(span, &old, NULL) == FMT_OK) {
        for (uint64_t i = 0; i < old.n_quins; i++) {
            const q42_quin quin = qwal_old_quin(&old, i);
            REQUIRE(quin.parity == q42_quin_parity(&quin));
        }
    }
}

/* Gives the header and every record that can be reached a right checksum. */
static void repair(uint8_t *data, size_t size) {
    size_t at = QWAL_HEADER_BYTES;
    if (size < QWAL_HEADER_BYTES) {
        return;
    }
    store_u32(data + 60, crc32c(data, 60));
    while (size - at >= QWAL_RECORD_BYTES) {
        const uint32_t bytes = load_u32(data + at + 4);
        if (bytes > QWAL_MAX_PAYLOAD || qwal_record_size(bytes) > size - at) {
            return;
        }
        qwal_set_flags(data + at, load_u16(data + at + 10));
        at += (size_t)qwal_record_size(bytes);
    }
}

static void check(const uint8_t *data, size_t size) {
    const fmt_span span = {data, size};
    qwal_log log, again;
    fmt_diag diag = {.text = ""};
    const fmt_status status = qwal_open(span, FMT_MODE_DEFAULT, &log, NULL, NULL, &diag);
    const fmt_status strict = qwal_open(span, FMT_MODE_STRICT, &again, NULL, NULL, NULL);
    REQUIRE(status == FMT_OK || strlen(diag.text) > 0);
    REQUIRE(strict != FMT_OK || status == FMT_OK);
    if (status == FMT_OK) {
        REQUIRE(log.end >= QWAL_HEADER_BYTES && log.end + log.n_torn_bytes == size);
        REQUIRE((strict == FMT_OK) == (log.n_torn_bytes == 0));
        walk(&log);
        REQUIRE(qwal_open((fmt_span){data, log.end}, FMT_MODE_STRICT, &again, NULL, NULL, NULL) == FMT_OK);
        REQUIRE(again.n_records == log.n_records);
    }
    open_old(span);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + 1);
    REQUIRE(copy != NULL);
    check(data, size);
    memcpy(copy, data, size);
    repair(copy, size);
    check(copy, size);
    free(copy);
    return 0;
}
