/* adapter_bind.c — writing an adapter as version 2, for one model. */
#include <stdlib.h>
#include <string.h>

#include "adapt/adapter.h"
#include "base/atomic_file.h"

typedef struct target {
    atomic_file file;
    uint64_t at;
    fmt_diag diag;
} target;

static bool append(void *ctx, const void *bytes, uint64_t size) {
    target *t = ctx;
    const bool is_written = atomic_file_write(&t->file, t->at, bytes, size, &t->diag) == FMT_OK;
    t->at += size;
    return is_written;
}

/* A GGUF adapter for a fused matrix may be settled to a role behind its old place. */
static int compare_pairs(const void *a, const void *b) {
    return lora_compare(a, b);
}

static qn_status write_file(const adapter *a, const uint8_t *base, const char *path, bool is_forced, error_context *err) {
    target t = {.at = 0};
    fmt_diag diag;
    fmt_status status = atomic_file_create(&t.file, path, is_forced, 0, &t.diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &t.diag, path);
    }
    status = lora_write(base, a->pairs, a->n_pairs, append, &t, &diag);
    if (status == FMT_OK) {
        status = atomic_file_commit(&t.file, &diag);
    } else if (status == FMT_IO && t.diag.rule != NULL) {
        diag = t.diag; /* the system's words */
    }
    atomic_file_abort(&t.file);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, path);
}

qn_status adapter_bind(adapter *a, const model *m, const char *path, bool is_forced, error_context *err) {
    uint8_t base[LORA_DIGEST_BYTES];
    adapter_fitting fitting;
    QN_TRY(adapter_digest_model(m, base, err), err, "reading the model");
    QN_TRY(adapter_fit(a, m, base, 1.0f, &fitting, err), err, "binding the adapter");
    adapter_fitting_free(&fitting);
    qsort(a->pairs, a->n_pairs, sizeof *a->pairs, compare_pairs);
    return write_file(a, base, path, is_forced, err);
}
