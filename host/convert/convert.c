/* convert.c — the whole way from a GGUF file to a container on disk: plan, write, read back, rename. */
#include "convert/convert.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/atomic_file.h"
#include "base/side_digest.h"
#include "base/write_behind.h"
#include "common/diag.h"
#include "convert/key_image.h"
#include "convert/pair.h"

static const fmt_rule rule_memory = {"convert-memory", "", "work memory for the largest tensor is needed"};
static const fmt_rule rule_source = {"convert-source", "", "the source must stay as it is while it is read"};
static const fmt_rule rule_same = {"convert-source", "", "name another output file"};
static const fmt_rule rule_cancelled = {"convert-cancelled", "", "nothing is left behind"};

static fmt_status refuse_memory(uint64_t bytes, fmt_diag *diag) {
    return diag_refuse(diag, FMT_NO_SPACE, &rule_memory, (diag_place){0, FMT_NO_INDEX, bytes, 0},
                       "%llu bytes cannot be had", (unsigned long long)bytes);
}

static fmt_status put_bytes(void *ctx, uint64_t offset, const void *data, uint64_t size) {
    return write_behind_put(ctx, offset, data, size);
}

static fmt_status write_container(const convert_request *request, p64_plan *plan, atomic_file *file, fmt_diag *diag) {
    write_behind out;
    fmt_diag failure; /* the system's words, kept because the writer adds its own */
    fmt_status status = write_behind_begin(&out, file, diag);
    if (status != FMT_OK) {
        return status;
    }
    const p64_sink sink = {&out, put_bytes};
    status = p64_write(plan, &sink, request->progress, request->ctx, diag);
    if (write_behind_end(&out, &failure) != FMT_OK && (status == FMT_OK || status == FMT_IO)) {
        status = FMT_IO;
        if (diag != NULL) {
            *diag = failure;
        }
    }
    return status;
}

/* Checksum, then the source's bytes, tensor by tensor: each is in the caches for both, and out of memory after. */
static fmt_status check_tensors(const convert_request *request, const convert_weights *from, const p64_file *p64,
                                const atomic_file *file, convert_parity_report *parity, fmt_diag *diag) {
    uint64_t done = 0;
    for (uint32_t i = 0; i < p64->header.tensor_count; i++) {
        const p64_tensor t = p64_get_tensor(p64, i);
        fmt_status status = p64_check_tensor(p64, i, P64_CHECK_CRC, diag);
        if (status == FMT_OK) {
            status = from->compare(from->source.ctx, p64, i, parity, diag);
        }
        if (status != FMT_OK) {
            return status;
        }
        atomic_file_release(file, t.blob_offset, t.blob.size);
        done += t.blob.size;
        if (request->progress != NULL && !request->progress(request->ctx, done, p64->tensor_bytes)) {
            return diag_refuse(diag, FMT_CANCELLED, &rule_cancelled, (diag_place){0, i, p64->tensor_bytes, done},
                               "stopped on request");
        }
    }
    return FMT_OK;
}

/* There are as many tensors as in the source: the plan took every one, so only a fault of this program could change
 * that. */
static fmt_status check_parity(const convert_request *request, const convert_weights *from, const p64_file *p64,
                               const atomic_file *file, convert_parity_report *out_parity, fmt_diag *diag) {
    convert_parity_report parity = {.n_tensors = p64->header.tensor_count};
    if (p64->header.tensor_count != from->source.n_tensors) {
        return convert_refuse_count(p64, from->source.n_tensors, diag);
    }
    const fmt_status status = check_tensors(request, from, p64, file, &parity, diag);
    if (status == FMT_OK) {
        *out_parity = parity;
    }
    return status;
}

/* What the extended profile adds is no news to whoever asked for it. */
static void forward_note(void *ctx, const fmt_diag *note) {
    const convert_request *request = ctx;
    const bool is_wanted = strcmp(note->rule, "hparams-extension") == 0 || strcmp(note->rule, "tokenizer-v2") == 0;
    if (request->note != NULL && !(request->options.is_extended && is_wanted)) {
        request->note(request->ctx, note);
    }
}

/* What was written must be what a reader accepts, and hold the source. The default mode, because a vocabulary may
 * hold tokens that are no UTF-8: those are stored as they are, and are a note. */
static fmt_status check_container(const convert_request *request, const convert_weights *from, atomic_file *file,
                                  convert_parity_report *out_parity, fmt_diag *diag) {
    convert_request copy = *request;
    fmt_span span;
    uint64_t bytes = 0;
    p64_file p64;
    fmt_status status = atomic_file_map(file, &span, diag);
    if (status == FMT_OK) {
        status = p64_scratch_size(span, FMT_MODE_DEFAULT, &bytes, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    void *scratch = malloc(bytes);
    if (scratch == NULL) {
        return refuse_memory(bytes, diag);
    }
    status = p64_open(span, FMT_MODE_DEFAULT, scratch, bytes, &p64, forward_note, &copy, diag);
    if (status == FMT_OK) {
        status = check_parity(request, from, &p64, file, out_parity, diag);
    }
    free(scratch);
    return status;
}

/* A source that is cut while it is read gives zeros, and the container would agree with them. */
static fmt_status check_source(const convert_weights *from, fmt_diag *diag) {
    if (!from->is_intact(from->source.ctx)) {
        return diag_refuse(diag, FMT_IO, &rule_source, (diag_place){0, FMT_NO_INDEX, 0, 0},
                           "the source was cut or could not be read");
    }
    return FMT_OK;
}

/* Forced or not, the source is not replaced by what is made of it. */
static fmt_status check_output(const convert_request *request, const convert_weights *from, fmt_diag *diag) {
    struct stat info;
    if (stat(request->output_path, &info) == 0 &&
        from->is_own_file(from->source.ctx, (uint64_t)info.st_dev, (uint64_t)info.st_ino)) {
        return diag_refuse(diag, FMT_IO, &rule_same, (diag_place){0, FMT_NO_INDEX, 0, 0},
                           "the output is the source itself");
    }
    return FMT_OK;
}

/* ---------------------------------------------------------------------------------------------------------- digests */

/* A companion names its source and its container by their SHA-256. Both chains run beside the writing and the checking. */
typedef struct digests {
    side_digest source, container;
} digests;

static bool has_companion(const convert_request *request) {
    return request->companion_path != NULL && request->keys != NULL;
}

static fmt_status digest_source(void *ctx, span_watch watch, uint8_t out[SHA256_BYTES]) {
    const convert_weights *from = ctx;
    return from->digest(from->source.ctx, watch, out);
}

static void begin_source_digest(const convert_request *request, const convert_weights *from, digests *d) {
    if (has_companion(request) && from->digest != NULL) {
        side_digest_begin(&d->source, digest_source, (void *)(uintptr_t)from);
    }
}

static fmt_status begin_container_digest(const convert_request *request, atomic_file *file, digests *d, fmt_diag *diag) {
    return has_companion(request) ? pair_begin_digest(file, &d->container, diag) : FMT_OK;
}

static void abandon_digests(digests *d) {
    side_digest_abandon(&d->source);
    side_digest_abandon(&d->container);
}

/* The keys with the digest of their source. */
static fmt_status find_keys(const convert_request *request, const convert_weights *from, digests *d, key_image *out_keys,
                            fmt_diag *diag) {
    *out_keys = *request->keys;
    const fmt_status status =
        from->digest != NULL ? side_digest_end(&d->source, request->progress, request->ctx, out_keys->source_sha256) : FMT_OK;
    if (status == FMT_OK) {
        return check_source(from, diag);
    }
    return status == FMT_CANCELLED
               ? diag_refuse(diag, status, &rule_cancelled, (diag_place){0, FMT_NO_INDEX, 0, 0}, "stopped on request")
               : diag_refuse(diag, status, &rule_memory, (diag_place){0, FMT_NO_INDEX, 0, 0},
                             "libcrypto gives no SHA-256");
}

/* Into place, alone or with the companion. */
static fmt_status commit(const convert_request *request, const convert_weights *from, const p64_plan *plan,
                         atomic_file *file, digests *d, convert_report *report, fmt_diag *diag) {
    q42_write_report written = {0};
    key_image keys;
    if (!has_companion(request)) {
        return atomic_file_commit(file, diag);
    }
    fmt_status status = find_keys(request, from, d, &keys, diag);
    if (status != FMT_OK) {
        return status;
    }
    const pair_request pair = {.keys = &keys,
                               .p64_path = request->output_path,
                               .companion_path = request->companion_path,
                               .metadata_crc = plan->metadata_crc,
                               .form = request->options.form,
                               .page_log2 = request->options.page_log2,
                               .timestamp_ms = request->timestamp_ms,
                               .is_forced = request->is_forced,
                               .is_checked = request->is_checked,
                               .digest = &d->container,
                               .progress = request->progress,
                               .progress_ctx = request->ctx};
    status = pair_commit(&pair, file, &written, diag);
    report->companion_bytes = written.bytes;
    report->companion_statements = written.n_quins;
    return status;
}

/* Temporary file, container, check, rename. */
static fmt_status make_file(const convert_request *request, const convert_weights *from, p64_plan *plan,
                            convert_report *report, fmt_diag *diag) {
    atomic_file file;
    digests d = {.source = {.fn = NULL}};
    fmt_status status = atomic_file_create(&file, request->output_path, request->is_forced, plan->size, diag);
    if (status != FMT_OK) {
        return status;
    }
    begin_source_digest(request, from, &d);
    status = write_container(request, plan, &file, diag);
    if (status == FMT_OK) {
        status = begin_container_digest(request, &file, &d, diag);
    }
    if (status == FMT_OK && request->is_checked) {
        status = check_container(request, from, &file, &report->parity, diag);
    }
    if (status == FMT_OK) {
        status = check_source(from, diag);
    }
    if (status == FMT_OK) {
        status = commit(request, from, plan, &file, &d, report, diag);
    }
    abandon_digests(&d);
    atomic_file_abort(&file);
    return status;
}

static fmt_status plan_and_make(const convert_request *request, const convert_weights *from, void *memory,
                                uint64_t bytes, convert_report *report, fmt_diag *diag) {
    p64_plan plan;
    fmt_status status = p64_plan_make(&from->source, &request->options, memory, bytes, &plan, request->note,
                                      request->ctx, request->progress, request->ctx, diag);
    if (status == FMT_OK) {
        status = make_file(request, from, &plan, report, diag);
    }
    if (status == FMT_OK) {
        report->size = plan.size;
        report->metadata_crc = plan.metadata_crc;
        report->n_tensors = plan.header.tensor_count;
        report->n_converted = plan.n_converted;
        report->n_panels = plan.n_panels;
        report->n_kept = plan.n_kept;
        report->n_layer = plan.hparams.n_layer;
    }
    return status;
}

fmt_status convert_weights_to_p64(const convert_request *request, const convert_weights *from,
                                  convert_report *out_report, fmt_diag *diag) {
    uint64_t bytes = 0;
    convert_report report = {0};
    convert_request decided = *request;
    fmt_status status = check_output(request, from, diag);
    if (status == FMT_OK && request->companion_path != NULL) {
        status = pair_check_target(request->companion_path, request->output_path, request->is_forced, diag);
    }
    if (status == FMT_OK && request->companion_path != NULL && request->keys != NULL) {
        status = companion_check_keys(request->keys, diag);
    }
    if (status == FMT_OK && request->choose != NULL) {
        status = request->choose(request->ctx, &from->source, &decided.options, diag);
    }
    if (status == FMT_OK) {
        status = p64_plan_memory(&from->source, &decided.options, &bytes, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    void *memory = malloc(bytes);
    if (memory == NULL) {
        return refuse_memory(bytes, diag);
    }
    status = plan_and_make(&decided, from, memory, bytes, &report, diag);
    free(memory);
    if (status == FMT_OK) {
        *out_report = report;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- GGUF */

static fmt_status compare_gguf(void *ctx, const p64_file *p64, uint32_t index, convert_parity_report *report,
                               fmt_diag *diag) {
    const gguf_source *s = ctx;
    const fmt_status status = convert_parity_tensor(p64, s->file, index, report, diag);
    if (status == FMT_OK && s->mapping != NULL) {
        const gguf_tensor *from = convert_find_source(s->file, p64_get_tensor(p64, index).source_offset);
        mapped_file_dont_need(s->mapping, from->at, from->size);
    }
    return status;
}

static bool is_gguf_intact(void *ctx) {
    const gguf_source *s = ctx;
    return s->mapping == NULL || mapped_file_check(s->mapping, NULL) >= 0;
}

static bool is_gguf_file(void *ctx, uint64_t device, uint64_t inode) {
    const gguf_source *s = ctx;
    return s->mapping != NULL && s->mapping->device == device && s->mapping->inode == inode;
}

static void release_source(void *ctx, uint64_t offset, uint64_t size) {
    const gguf_source *s = ctx;
    if (s->mapping != NULL) {
        mapped_file_dont_need(s->mapping, offset, size);
    }
}

static fmt_status digest_gguf(void *ctx, span_watch watch, uint8_t out[SHA256_BYTES]) {
    const gguf_source *s = ctx;
    watch.release = release_source;
    watch.release_ctx = ctx;
    return span_digest(s->file->span, &watch, out);
}

fmt_status convert_gguf(const convert_request *request, convert_report *out_report, fmt_diag *diag) {
    gguf_source from;
    const fmt_status status = gguf_source_init(&from, request->gguf, diag);
    if (status != FMT_OK) {
        return status;
    }
    from.mapping = request->mapping;
    const convert_weights weights = {from.source, compare_gguf, is_gguf_intact, is_gguf_file, digest_gguf};
    convert_request with_keys = *request;
    key_image keys;
    if (request->companion_path != NULL) {
        key_image_of_gguf(request->gguf, request->input_path, &keys);
        with_keys.keys = &keys;
    }
    return convert_weights_to_p64(&with_keys, &weights, out_report, diag);
}
