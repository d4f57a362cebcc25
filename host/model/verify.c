/* verify.c — verification by format. */
#include "model/verify.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <quoin/safetensors.h>

#include "base/clock.h"
#include "base/side_digest.h"
#include "model/model.h"
#include "model/verify_sft_index.h"
#include "model/weight_check.h"

#define INDEX_PATH_SIZE 4096

static bool has_suffix(const char *path, const char *suffix) {
    const size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcmp(path + n - m, suffix) == 0;
}

/* Safetensors have no magic: a plausible length followed by a JSON object. The name only decides which format's words
 * explain a file that is neither. */
static bool is_safetensors(fmt_span span, const char *path) {
    uint64_t length = 0;
    if (span.size >= 4 && (memcmp(span.data, "GGUF", 4) == 0 || memcmp(span.data, "p64", 4) == 0)) {
        return false;
    }
    for (unsigned i = 0; span.size >= 9 && i < 8; i++) {
        length |= (uint64_t)span.data[i] << (8 * i);
    }
    return (span.size >= 9 && length <= span.size - 8 && span.data[8] == '{') || has_suffix(path, ".safetensors");
}

static qn_status verify_safetensors(const mapped_file *file, verify_report *report, error_context *err) {
    sft_file opened;
    fmt_diag diag;
    report->format = "Safetensors";
    const fmt_status status = sft_open(file->span, &opened, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, file->path);
    }
    report->n_tensors = opened.n_tensors;
    sft_close(&opened);
    return QN_OK;
}

/* The SHA-256 of the container, on a thread of its own: it is one chain, and takes longer than everything else together. */
typedef struct digest_job {
    fmt_span span;
    double seconds;
    side_digest side;
} digest_job;

static fmt_status digest_span(void *ctx, span_watch watch, uint8_t out[SHA256_BYTES]) {
    digest_job *job = ctx;
    const double begin = clock_seconds();
    const fmt_status status = span_digest(job->span, &watch, out);
    job->seconds = clock_seconds() - begin;
    return status;
}

static qn_status check_digest(const model *m, const verify_options_set *options, const companion *c, digest_job *job,
                              verify_report *report, error_context *err) {
    uint8_t digest[SHA256_BYTES];
    const fmt_status status = side_digest_end(&job->side, options->progress, options->progress_ctx, digest);
    report->digest_seconds = job->seconds;
    if (status != FMT_OK) {
        return status == FMT_CANCELLED ? FAIL(err, QN_CANCELLED, "interrupted")
                                       : FAIL(err, QN_NO_HOST_MEM, "%s: libcrypto gives no SHA-256", m->file.path);
    }
    QN_TRY(mapped_file_check(&m->file, err), err, "hashing the container");
    return companion_check_digest(c, m->file.path, digest, err);
}

static qn_status check_weights(const model *m, const verify_options_set *options, team *workers, verify_report *report,
                               error_context *err) {
    const weight_check check = {.check_values = options->check_values, .progress = options->progress,
                                .ctx = options->progress_ctx};
    const double begin = clock_seconds();
    const qn_status status = weight_check_run(m, &check, workers, err);
    report->check_seconds = clock_seconds() - begin;
    return status;
}

/* What stands beside a container must belong to it, in every byte. What is wrong with the container itself is said first. While
 * the digest is computed one thread reads everything else in a fraction of that time. */
static qn_status verify_container(const model *m, const verify_options_set *options, team *workers, verify_report *report,
                                  error_context *err) {
    const companion_options how = {
        .path = options->companion, .mode = options->mode, .note = options->note, .note_ctx = options->note_ctx};
    error_context companion_err = {0};
    digest_job job = {.span = m->file.span};
    companion c;
    const qn_status opened = companion_open(m->file.path, &m->p64, &how, &c, &companion_err);
    const bool is_bound = opened == QN_OK && c.state == COMPANION_BOUND;
    if (is_bound) {
        side_digest_begin(&job.side, digest_span, &job);
    }
    qn_status status = check_weights(m, options, is_bound && job.side.has_thread ? NULL : workers, report, err);
    report->companion = c.state;
    if (status == QN_OK && opened != QN_OK) {
        status = opened;
        if (err != NULL) {
            *err = companion_err;
        }
    } else if (status == QN_OK && is_bound) {
        status = check_digest(m, options, &c, &job, report, err);
    }
    side_digest_abandon(&job.side);
    companion_close(&c);
    return status;
}

static qn_status verify_model(const char *path, const verify_options_set *options, team *workers, verify_report *report,
                              error_context *err) {
    const model_options settings = {
        .mode = options->mode, .container_only = true, .note = options->note, .note_ctx = options->note_ctx};
    model *m = NULL;
    QN_TRY(model_open(path, &settings, NULL, &m, err), err, "verifying %s", path);
    report->n_tensors = m->n_tensors;
    const qn_status status = m->format == MODEL_P64 ? verify_container(m, options, workers, report, err)
                                                    : check_weights(m, options, workers, report, err);
    model_close(m);
    return status;
}

/* The path of a Safetensors index when `path` is one, or a folder that holds one; "" otherwise. */
static const char *find_index(const char *path, char room[INDEX_PATH_SIZE]) {
    struct stat info;
    if (has_suffix(path, ".safetensors.index.json")) {
        return path;
    }
    const int n = snprintf(room, INDEX_PATH_SIZE, "%s/" SFT_INDEX_NAME, path);
    const bool is_there = stat(path, &info) == 0 && S_ISDIR(info.st_mode) && n > 0 && n < INDEX_PATH_SIZE &&
                          stat(room, &info) == 0;
    return is_there ? room : "";
}

static qn_status verify_one(const char *path, const verify_options_set *options, team *workers,
                            verify_report *out_report, error_context *err) {
    mapped_file file;
    QN_TRY(mapped_file_open(path, &file, err), err, "verifying %s", path);
    out_report->bytes = file.span.size;
    qn_status status;
    if (is_safetensors(file.span, path)) {
        status = verify_safetensors(&file, out_report, err);
    } else {
        const bool is_gguf = file.span.size >= 4 && memcmp(file.span.data, "GGUF", 4) == 0;
        const bool is_p64 = file.span.size >= 4 && memcmp(file.span.data, "p64", 4) == 0;
        out_report->format = is_gguf ? "GGUF" : is_p64 ? "P64" : "unknown";
        status = verify_model(path, options, workers, out_report, err);
    }
    mapped_file_close(&file);
    return status;
}

qn_status verify_file(const char *path, const verify_options_set *options, team *workers, verify_report *out_report,
                      error_context *err) {
    char room[INDEX_PATH_SIZE];
    const double begin = clock_seconds();
    *out_report = (verify_report){.format = "unknown"};
    const char *index = find_index(path, room);
    const qn_status status = index[0] != '\0' ? verify_sft_index(index, out_report, err)
                                              : verify_one(path, options, workers, out_report, err);
    out_report->seconds = clock_seconds() - begin;
    return status;
}
