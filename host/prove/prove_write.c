/* prove_write.c — the volume of a model and its signature appear together. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "prove/prove_model.h"
#include "prove/prove_signature.h"

#define VOLUME_ENDING ".prov.q42"
#define SIGNATURE_ENDING ".prov.sig"

bool prove_path_of(const char *model_path, char out[PROVE_PATH_SIZE]) {
    const char *slash = strrchr(model_path, '/'), *dot = strrchr(slash != NULL ? slash : model_path, '.');
    const size_t stem = dot != NULL && dot != model_path && dot[-1] != '/' ? (size_t)(dot - model_path) : strlen(model_path);
    const int n = snprintf(out, PROVE_PATH_SIZE, "%.*s" VOLUME_ENDING, (int)stem, model_path);
    return n > 0 && (unsigned)n < PROVE_PATH_SIZE;
}

bool prove_signature_path_of(const char *volume_path, char out[PROVE_PATH_SIZE]) {
    const size_t n = strlen(volume_path), ending = sizeof VOLUME_ENDING - 1;
    const bool is_usual = n > ending && strcmp(volume_path + n - ending, VOLUME_ENDING) == 0;
    const int size = snprintf(out, PROVE_PATH_SIZE, "%.*s%s", (int)(is_usual ? n - ending : n), volume_path,
                              is_usual ? SIGNATURE_ENDING : ".sig");
    return size > 0 && (unsigned)size < PROVE_PATH_SIZE;
}

static fmt_status append_bytes(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    atomic_file *file = ctx;
    return atomic_file_write(file, file->end, data, size, diag);
}

static fmt_status fill_volume(prove_graph *g, uint64_t timestamp_ms, atomic_file *file, fmt_diag *diag) {
    const q42_sink sink = {file, append_bytes};
    q42_write_report report;
    const fmt_status status = small_volume_write(&g->volume, timestamp_ms, &sink, &report, diag);
    return status == FMT_OK ? atomic_file_sync(file, diag) : status;
}

/* What can fail is done before the first name appears. An old signature goes first: beside a new volume it would be a wrong one. */
static fmt_status place_both(atomic_file *volume, atomic_file *signature, const char *signature_path, fmt_diag *diag) {
    if (signature == NULL) {
        unlink(signature_path);
        return atomic_file_commit(volume, diag);
    }
    const fmt_status status = atomic_file_commit(signature, diag);
    return status == FMT_OK ? atomic_file_commit(volume, diag) : status;
}

static fmt_status write_both(prove_graph *g, uint64_t timestamp_ms, const char *path, const char *signature_path,
                             const uint8_t *signature, bool is_forced, fmt_diag *diag) {
    atomic_file files[2] = {{.fd = -1}, {.fd = -1}};
    fmt_status status = atomic_file_create(&files[0], path, is_forced, 0, diag);
    if (status == FMT_OK) {
        status = fill_volume(g, timestamp_ms, &files[0], diag);
    }
    if (status == FMT_OK && signature != NULL) {
        status = atomic_file_create(&files[1], signature_path, true, 0, diag);
        status = status == FMT_OK ? atomic_file_write(&files[1], 0, signature, PROVE_SIGNATURE_BYTES, diag) : status;
    }
    if (status == FMT_OK) {
        status = place_both(&files[0], signature != NULL ? &files[1] : NULL, signature_path, diag);
    }
    atomic_file_abort(&files[1]);
    atomic_file_abort(&files[0]);
    return status;
}

qn_status prove_write(prove_graph *g, uint64_t timestamp_ms, const char *path, const signing_key *key, bool is_forced,
                      error_context *err) {
    uint8_t digest[SHA256_BYTES], signature[PROVE_SIGNATURE_BYTES];
    char signature_path[PROVE_PATH_SIZE];
    fmt_diag diag;
    if (!prove_signature_path_of(path, signature_path)) {
        return FAIL(err, QN_LIMIT, "%s: the path is too long", path);
    }
    QN_TRY(prove_settle(g), err, "writing %s", path);
    if (key != NULL) {
        QN_TRY(prove_digest(g, digest, err), err, "signing %s", path);
        QN_TRY(prove_signature_make(key, digest, signature, err), err, "signing %s", path);
    }
    const fmt_status status = write_both(g, timestamp_ms, path, signature_path, key != NULL ? signature : NULL, is_forced, &diag);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, path);
}
