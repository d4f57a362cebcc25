/* prove_source.c — opening, hashing and comparing the source of a container. */
#include "prove/prove_source.h"

#include <stdlib.h>
#include <string.h>

#include <quoin/blocks.h>

#include "base/span_digest.h"
#include "convert/safetensors_to_p64.h"

static qn_status open_gguf(prove_source *s, error_context *err) {
    fmt_diag diag;
    uint64_t scratch = 0;
    QN_TRY(mapped_file_open(s->path, &s->file, err), err, "opening the source");
    fmt_status status = gguf_scratch_size(s->file.span, &scratch, &diag);
    if (status == FMT_OK) {
        s->scratch = malloc((size_t)scratch + 1);
        if (s->scratch == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to read it", s->path);
        }
        status = gguf_open(s->file.span, s->scratch, scratch, &s->gguf, &diag);
    }
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, s->path);
    }
    s->format = "gguf";
    s->version = s->gguf.version;
    s->bytes = s->file.span.size;
    gguf_get_string(&s->gguf, "general.organization", &s->publisher, NULL);
    gguf_get_string(&s->gguf, "general.name", &s->name, NULL);
    gguf_get_string(&s->gguf, "general.architecture", &s->architecture, NULL);
    return QN_OK;
}

static qn_status open_folder(prove_source *s, error_context *err) {
    QN_TRY(hf_folder_open(s->path, &s->folder, err), err, "opening the source");
    s->format = "safetensors";
    s->version = 1;
    for (uint32_t i = 0; i < s->folder->n_shards; i++) {
        s->bytes += s->folder->shards[i].file.span.size;
    }
    return QN_OK;
}

static void forget_part(void *ctx, uint64_t offset, uint64_t size) {
    mapped_file_dont_need(ctx, offset, size);
}

static qn_status hash_gguf(prove_source *s, progress_fn *progress, void *ctx, error_context *err) {
    const span_watch watch = {.progress = progress, .progress_ctx = ctx, .release = forget_part, .release_ctx = &s->file};
    const fmt_status status = span_digest(s->file.span, &watch, s->sha256);
    if (status != FMT_OK) {
        return status == FMT_CANCELLED ? FAIL(err, QN_CANCELLED, "stopped on request")
                                       : FAIL(err, QN_INTERNAL, "libcrypto gives no SHA-256");
    }
    return mapped_file_check(&s->file, err);
}

qn_status prove_source_open(const char *path, progress_fn *progress, void *ctx, prove_source *out, error_context *err) {
    *out = (prove_source){.path = path};
    if (hf_is_source(path)) {
        QN_TRY(open_folder(out, err), err, "%s", path);
        return hf_folder_digest(out->folder, out->sha256, err);
    }
    QN_TRY(open_gguf(out, err), err, "%s", path);
    return hash_gguf(out, progress, ctx, err);
}

void prove_source_close(prove_source *source) {
    hf_folder_close(source->folder);
    mapped_file_close(&source->file);
    free(source->scratch);
    memset(source, 0, sizeof *source);
}

qn_status prove_source_parity(const prove_source *source, const p64_file *p64, const char *p64_path, convert_parity_report *out,
                              error_context *err) {
    fmt_diag diag;
    const fmt_status status = source->folder != NULL ? convert_safetensors_parity(p64, source->folder, out, &diag)
                                                     : convert_parity(p64, &source->gguf, out, &diag);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, p64_path);
}

static const char *policy_of_type(uint32_t dtype) {
    switch (dtype) {
    case BLK_Q4_0: return "ffn-q4_0";
    case BLK_F16: return "f16";
    case BLK_Q4_K_SOA: return "q4_k_soa";
    case BLK_TERNARY: return "ffn-ternary";
    default: return "other";
    }
}

const char *prove_source_policy(const prove_source *source, const p64_file *p64) {
    if (source->folder != NULL) {
        return "raw-safetensors";
    }
    bool has_panels = false;
    for (uint32_t i = 0; i < p64->header.tensor_count; i++) {
        const p64_tensor t = p64_get_tensor(p64, i);
        const bool is_in_panels = blk_panel_of_dtype(t.dtype) != BLK_NO_PANELS;
        const uint32_t type = is_in_panels ? t.dtype - BLK_PANEL_DTYPE : t.dtype;
        const gguf_tensor *from = convert_find_source(&source->gguf, t.source_offset);
        if (from != NULL && from->type != type) {
            return policy_of_type(type);
        }
        has_panels = has_panels || is_in_panels;
    }
    return has_panels ? "panels" : "byte-preserving";
}
