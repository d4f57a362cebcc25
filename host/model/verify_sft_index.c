/* verify_sft_index.c — the index first, then shard after shard. */
#include "model/verify_sft_index.h"

#include <stdio.h>
#include <string.h>

#include <quoin/safetensors.h>

#include "base/mapped_file.h"

#define PATH_SIZE 4096

/* The shard's path: beside the index. A shard's name is a plain file name, which the reader has checked. */
static bool make_shard_path(const char *index_path, const fmt_str *name, char out[PATH_SIZE]) {
    const char *slash = strrchr(index_path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - index_path) + 1;
    const int n = snprintf(out, PATH_SIZE, "%.*s%s", folder, index_path, name->data);
    return n > 0 && n < PATH_SIZE;
}

static qn_status verify_shard(const char *index_path, const sft_index *index, uint64_t shard, verify_report *report,
                              error_context *err) {
    char path[PATH_SIZE];
    mapped_file file;
    sft_file opened;
    fmt_diag diag;
    if (!make_shard_path(index_path, &index->shards[shard].name, path)) {
        return FAIL(err, QN_LIMIT, "%s: the path of shard %s is too long", index_path, index->shards[shard].name.data);
    }
    const qn_status found = mapped_file_open(path, &file, err);
    if (found == QN_NOT_FOUND) {
        return error_from_diag(err, sft_index_refuse_missing(index, shard, &diag), &diag, index_path);
    }
    QN_TRY(found, err, "opening a shard of %s", index_path);
    fmt_status status = sft_open(file.span, &opened, &diag);
    qn_status result = status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, path);
    if (status == FMT_OK) {
        report->n_tensors += opened.n_tensors;
        report->bytes += file.span.size;
        status = sft_index_check_shard(index, shard, &opened, &diag);
        result = status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, index_path);
        sft_close(&opened);
    }
    mapped_file_close(&file);
    return result;
}

qn_status verify_sft_index(const char *path, verify_report *report, error_context *err) {
    mapped_file file;
    sft_index index;
    fmt_diag diag;
    report->format = "Safetensors index";
    QN_TRY(mapped_file_open(path, &file, err), err, "opening the index");
    report->bytes = file.span.size;
    const fmt_status status = sft_index_open(file.span, &index, &diag);
    qn_status result = status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, path);
    if (status == FMT_OK) {
        for (uint64_t shard = 0; shard < index.n_shards && result == QN_OK; shard++) {
            result = verify_shard(path, &index, shard, report, err);
        }
        sft_index_close(&index);
    }
    mapped_file_close(&file);
    return result;
}
