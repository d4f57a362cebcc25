/* timestamp.c — the time that a volume is stamped with. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "graph/volume_writer.h"

#define MAX_SECONDS (UINT64_MAX / 1000)

static qn_status read_epoch(const char *text, uint64_t *out_ms, error_context *err) {
    char *end;
    errno = 0;
    const unsigned long long seconds = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != 0 || errno != 0 || seconds > MAX_SECONDS) {
        return FAIL(err, QN_BAD_INPUT, "SOURCE_DATE_EPOCH is \"%s\": it must be a number of seconds since 1970", text);
    }
    *out_ms = (uint64_t)seconds * 1000;
    return QN_OK;
}

qn_status volume_timestamp(uint64_t *out_ms, error_context *err) {
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    if (epoch != NULL && epoch[0] != 0) {
        return read_epoch(epoch, out_ms, err);
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *out_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    return QN_OK;
}
