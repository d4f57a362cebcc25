/* model_helper.c — one look-up of an object. */
#include "graph/model_helper.h"

#include <quoin/q42.h>

#include "base/mapped_file.h"

#define HELPER_TYPE "q42:QualiaModelHelper"

static bool is_helper(fmt_span span) {
    const uint64_t type = q42_hash(HELPER_TYPE, sizeof HELPER_TYPE - 1);
    const q42_pattern pattern = {.bound = Q42_BOUND_OBJECT, .object = {type, type}};
    uint8_t room[Q42_BLOCK_BYTES];
    q42_volume volume;
    q42_scan scan;
    q42_quin quin;
    fmt_diag diag;
    if (q42_open(span, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag) != FMT_OK) {
        return false;
    }
    q42_scan_begin(&scan, &volume, &pattern, room);
    return q42_scan_next(&scan, &quin, &diag) == FMT_OK;
}

qn_status model_helper_refuse(const char *path, error_context *err) {
    mapped_file file;
    error_context ignored = {0};
    if (mapped_file_open(path, &file, &ignored) != QN_OK) {
        return QN_OK; /* there is nothing, or what writes the volume will say it better */
    }
    const bool is_refused = is_helper(file.span);
    mapped_file_close(&file);
    return is_refused ? FAIL(err, QN_BAD_INPUT, "%s: is the companion volume of a model and is not replaced, not even with "
                             "--force; write to another file", path)
                      : QN_OK;
}
