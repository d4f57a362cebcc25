/* pair.c — hashing, writing, checking and placing a companion with its container. */
#include "convert/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/diag.h"
#include "model/companion.h"

static const fmt_rule rule_cancelled = {"convert-cancelled", "", "nothing is left behind"};
static const fmt_rule rule_digest = {"convert-digest", "", "the companion names the container by its SHA-256"};
static const fmt_rule rule_check = {"companion-check", "19", "the companion must give back what it was made of"};
static const fmt_rule rule_memory = {"convert-memory", "", "work memory for the check is needed"};

static fmt_status refuse_target(const char *path, const char *why, fmt_diag *diag) {
    *diag = (fmt_diag){.rule = "file", .section = "", .index = FMT_NO_INDEX};
    snprintf(diag->text, sizeof diag->text, "Will not write: %s: %.120s", why, path);
    return FMT_IO;
}

fmt_status pair_check_target(const char *companion_path, const char *p64_path, bool is_forced, fmt_diag *diag) {
    error_context err = {0};
    companion_state state = COMPANION_ABSENT;
    if (strcmp(companion_path, p64_path) == 0) {
        return refuse_target(companion_path, "container and companion cannot be one file", diag);
    }
    if (companion_probe(companion_path, &state, &err) < 0) {
        return refuse_target(companion_path, "what stands there cannot be read", diag);
    }
    if (state == COMPANION_FOREIGN) {
        return refuse_target(
            companion_path,
            "a file stands there that is no companion volume, and is not replaced, not even by --force; name "
            "another place with --companion",
            diag);
    }
    if (state != COMPANION_ABSENT && !is_forced) {
        return refuse_target(companion_path, "the companion volume exists; use --force to replace it", diag);
    }
    atomic_file unused;
    const fmt_status status = atomic_file_create(&unused, companion_path, is_forced, 0, diag);
    atomic_file_abort(&unused);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static void release_part(void *ctx, uint64_t offset, uint64_t size) {
    atomic_file_release(ctx, offset, size);
}

static fmt_status digest_container(void *ctx, span_watch watch, uint8_t out[SHA256_BYTES]) {
    const atomic_file *container = ctx;
    watch.release = release_part;
    watch.release_ctx = ctx;
    return span_digest((fmt_span){container->map, container->map_size}, &watch, out);
}

fmt_status pair_begin_digest(atomic_file *container, side_digest *out, fmt_diag *diag) {
    fmt_span span;
    const fmt_status status = atomic_file_map(container, &span, diag);
    if (status == FMT_OK) {
        side_digest_begin(out, digest_container, container);
    }
    return status;
}

static fmt_status hash_container(const pair_request *request, atomic_file *container, uint8_t digest[SHA256_BYTES],
                                 fmt_diag *diag) {
    side_digest own, *from = request->digest;
    fmt_status status = FMT_OK;
    if (from == NULL) {
        from = &own;
        status = pair_begin_digest(container, from, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    status = side_digest_end(from, request->progress, request->progress_ctx, digest);
    if (status != FMT_OK) {
        diag_refuse(diag, status, status == FMT_CANCELLED ? &rule_cancelled : &rule_digest,
                    (diag_place){0, FMT_NO_INDEX, 0, 0},
                    status == FMT_CANCELLED ? "stopped on request" : "libcrypto gives no SHA-256");
    }
    return status;
}

static fmt_status append_bytes(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    atomic_file *file = ctx;
    return atomic_file_write(file, file->end, data, size, diag);
}

static fmt_status write_volume(const pair_request *request, const uint8_t digest[SHA256_BYTES], atomic_file *file,
                               q42_write_report *out_report, fmt_diag *diag) {
    const char *slash = strrchr(request->p64_path, '/');
    const companion_request what = {.keys = request->keys,
                                    .p64_name = slash != NULL ? slash + 1 : request->p64_path,
                                    .metadata_crc = request->metadata_crc,
                                    .p64_sha256 = digest,
                                    .form = request->form,
                                    .page_log2 = request->page_log2,
                                    .timestamp_ms = request->timestamp_ms};
    const q42_sink sink = {file, append_bytes};
    return companion_write(&what, &sink, out_report, diag);
}

/* --------------------------------------------------------------------------------------------------------- checking */

static bool is_same_key(const gguf_kv *a, const gguf_kv *b) {
    return a->type == b->type && a->key.size == b->key.size && memcmp(a->key.data, b->key.data, a->key.size) == 0 &&
           a->value.size == b->value.size && memcmp(a->value.data, b->value.data, a->value.size) == 0;
}

static fmt_status compare_keys(const gguf_file *source, const gguf_file *read_back, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    for (uint64_t i = 0; i < source->n_kv && i < read_back->n_kv; i++) {
        if (!is_same_key(&source->kvs[i], &read_back->kvs[i])) {
            return diag_refuse(diag, FMT_BAD_FILE, &rule_check, (diag_place){0, i, 0, 0}, "key %s came back changed",
                               diag_quote(quoted, source->kvs[i].key));
        }
    }
    return source->n_kv == read_back->n_kv
               ? FMT_OK
               : diag_refuse(diag, FMT_BAD_FILE, &rule_check,
                             (diag_place){0, FMT_NO_INDEX, source->n_kv, read_back->n_kv}, "%llu keys became %llu",
                             (unsigned long long)source->n_kv, (unsigned long long)read_back->n_kv);
}

static fmt_status check_volume(const pair_request *request, const p64_file *p64, fmt_span volume, fmt_diag *diag) {
    const companion_options options = {.path = request->companion_path, .mode = FMT_MODE_STRICT};
    error_context err = {0};
    companion c;
    fmt_status status = FMT_OK;
    if (companion_read(volume, request->p64_path, p64, &options, &c, &err) < 0) {
        status = diag_refuse(diag, FMT_BAD_FILE, &rule_check, (diag_place){0, FMT_NO_INDEX, 0, 0}, "%.200s",
                             error_text(&err));
    } else {
        status = compare_keys(&request->keys->file, &c.image.file, diag);
    }
    companion_close(&c);
    return status;
}

static fmt_status read_back(const pair_request *request, atomic_file *container, atomic_file *volume, fmt_diag *diag) {
    fmt_span p64_span, volume_span;
    uint64_t bytes = 0;
    p64_file p64;
    fmt_status status = atomic_file_map(container, &p64_span, diag);
    if (status == FMT_OK) {
        status = atomic_file_map(volume, &volume_span, diag);
    }
    if (status == FMT_OK) {
        status = p64_scratch_size(p64_span, FMT_MODE_DEFAULT, &bytes, diag);
    }
    void *scratch = status == FMT_OK ? malloc(bytes) : NULL;
    if (status == FMT_OK && scratch == NULL) {
        status = diag_refuse(diag, FMT_NO_SPACE, &rule_memory, (diag_place){0, FMT_NO_INDEX, bytes, 0},
                             "%llu bytes cannot be had", (unsigned long long)bytes);
    }
    if (status == FMT_OK) {
        status = p64_open(p64_span, FMT_MODE_DEFAULT, scratch, bytes, &p64, NULL, NULL, diag);
    }
    if (status == FMT_OK) {
        status = check_volume(request, &p64, volume_span, diag);
    }
    free(scratch);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- placing */

static fmt_status make_volume(const pair_request *request, atomic_file *container, atomic_file *volume,
                              q42_write_report *out_report, fmt_diag *diag) {
    uint8_t digest[SHA256_BYTES];
    fmt_status status = hash_container(request, container, digest, diag);
    if (status == FMT_OK) {
        status = write_volume(request, digest, volume, out_report, diag);
    }
    return status == FMT_OK && request->is_checked ? read_back(request, container, volume, diag) : status;
}

static fmt_status place_both(const char *companion_path, atomic_file *container, atomic_file *volume, bool was_there,
                             fmt_diag *diag) {
    fmt_status status = atomic_file_commit(volume, diag);
    if (status == FMT_OK) {
        status = atomic_file_commit(container, diag);
        if (status != FMT_OK && !was_there) {
            unlink(companion_path);
        }
    }
    return status;
}

fmt_status pair_commit(const pair_request *request, atomic_file *container, q42_write_report *out_report,
                       fmt_diag *diag) {
    atomic_file volume;
    fmt_status status = pair_check_target(request->companion_path, request->p64_path, request->is_forced, diag);
    if (status != FMT_OK) {
        return status;
    }
    const bool was_there = access(request->companion_path, F_OK) == 0;
    status = atomic_file_create(&volume, request->companion_path, request->is_forced, 0, diag);
    if (status != FMT_OK) {
        return status;
    }
    status = make_volume(request, container, &volume, out_report, diag);
    if (status == FMT_OK) {
        status = place_both(request->companion_path, container, &volume, was_there, diag);
    }
    atomic_file_abort(&volume);
    return status;
}
