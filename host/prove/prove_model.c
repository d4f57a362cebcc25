/* prove_model.c — what is said about a container and its source. */
#include "prove/prove_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/span_digest.h"

enum { HPARAMS_BYTES = 64, ENTRY_BYTES = 64 };
#define LAYER_MAJOR_WORD "packed"

const char *const prove_uses[PROVE_N_USES] = {"local-inference", "commercial", "derivatives", "redistribution"};

/* -------------------------------------------------------------------------------------------------------------- digests */

static qn_status refuse_digest(error_context *err) {
    return FAIL(err, QN_INTERNAL, "libcrypto gives no SHA-256");
}

qn_status prove_table_digest(const p64_file *p64, uint8_t out[SHA256_BYTES], error_context *err) {
    const uint64_t n = p64->header.tensor_count;
    sha256_stream stream;
    if (!sha256_begin(&stream)) {
        return refuse_digest(err);
    }
    sha256_add(&stream, p64->span.data + p64->header.tensor_table_at, ENTRY_BYTES * n);
    sha256_add(&stream, p64->span.data + p64->header.checksum_at, 4 * (n + 1));
    return sha256_end(&stream, out) ? QN_OK : refuse_digest(err);
}

qn_status prove_hparams_digest(const p64_file *p64, uint8_t out[SHA256_BYTES], error_context *err) {
    return sha256_digest(p64->span.data + p64->header.hparams_at, HPARAMS_BYTES, out) ? QN_OK : refuse_digest(err);
}

qn_status prove_tokenizer_digest(const p64_file *p64, uint8_t out[SHA256_BYTES], error_context *err) {
    return sha256_digest(p64->span.data + p64->header.tokenizer_at, p64->tokenizer.bytes, out) ? QN_OK : refuse_digest(err);
}

qn_status prove_span_digest(fmt_span span, progress_fn *progress, void *ctx, uint8_t out[SHA256_BYTES], error_context *err) {
    const span_watch watch = {.progress = progress, .progress_ctx = ctx};
    const fmt_status status = span_digest(span, &watch, out);
    return status == FMT_OK ? QN_OK : status == FMT_CANCELLED ? FAIL(err, QN_CANCELLED, "stopped on request") : refuse_digest(err);
}

/* --------------------------------------------------------------------------------------------------------------- source */

static void say_known(prove_graph *g, const char *predicate, fmt_str text) {
    if (text.size > 0) {
        prove_say_text(g, predicate, 0, text);
    }
}

static const uint8_t *source_digest(const prove_model_facts *f) {
    return f->source != NULL ? f->source->sha256 : f->source_sha256;
}

static void say_source(prove_graph *g, const prove_model_facts *f) {
    char urn[PROVE_URN_SIZE];
    const uint8_t *digest = source_digest(f);
    if (digest == NULL) {
        return;
    }
    prove_about(g, prove_urn(PROVE_SOURCE, digest, urn));
    prove_say_word(g, Q42M_TYPE, 0, "q42m:SourceModel");
    prove_say_digest(g, Q42M_SHA256, 0, PROVE_DIGEST, digest);
    if (f->source != NULL) {
        prove_say_integer(g, "q42m:byteLength", 0, f->source->bytes);
        prove_say_word(g, "q42m:containerFormat", 0, f->source->format);
        prove_say_integer(g, "q42m:containerVersion", 0, f->source->version);
        say_known(g, "q42m:publisher", f->source->publisher);
        say_known(g, "q42m:modelName", f->source->name);
        say_known(g, "q42m:architecture", f->source->architecture);
    }
    for (uint32_t i = 0; i < f->n_urls; i++) {
        prove_say_word(g, Q42M_PRIMARY_SOURCE, i, f->urls[i]);
    }
}

/* ------------------------------------------------------------------------------------------------------------ transcode */

#define DETAIL_SIZE 512
/* `key=value` lines in the order of their keys. Returns the size. */
static size_t print_detail(const prove_model_facts *f, char out[DETAIL_SIZE]) {
    const p64_header *h = &f->p64->header;
    uint32_t page_log2 = 0;
    while ((h->page_size >> page_log2) > 1) {
        page_log2++;
    }
    const int n = snprintf(out, DETAIL_SIZE, "extended=%d\nlayout=%s\npage_log2=%u\npolicy=%s\n", f->p64->has_extension ? 1 : 0,
                           (h->flags & P64_FLAG_LAYER_PACK) != 0 ? LAYER_MAJOR_WORD : "plain", page_log2, f->policy);
    return (size_t)n;
}

static qn_status say_transcode(prove_graph *g, const prove_model_facts *f, uint8_t digest[SHA256_BYTES], error_context *err) {
    char detail[DETAIL_SIZE], urn[PROVE_URN_SIZE];
    const size_t size = print_detail(f, detail);
    if (!sha256_digest(detail, size, digest)) {
        return refuse_digest(err);
    }
    prove_about(g, prove_urn(PROVE_TRANSCODE, digest, urn));
    prove_say_word(g, Q42M_TYPE, 0, "q42m:Transcode");
    prove_say_word(g, "q42m:policy", 0, f->policy);
    prove_say_text(g, "q42m:policyDetail", 0, (fmt_str){detail, size});
    prove_say_boolean(g, "q42m:byteParityVerified", 0, f->source != NULL && f->is_byte_equal);
    if (f->tool != NULL) {
        prove_say_digest(g, "q42m:toolRuntime", 0, PROVE_RUNTIME, f->tool->digest);
    }
    if (f->ended_ms > 0) {
        prove_say_integer(g, "q42m:endedUnixMs", 0, f->ended_ms);
    }
    return QN_OK;
}

/* -------------------------------------------------------------------------------------------------- licence and consent */

static qn_status say_licence(prove_graph *g, const prove_licence *l, uint8_t digest[SHA256_BYTES], error_context *err) {
    char urn[PROVE_URN_SIZE];
    if (!sha256_digest(l->text.data, l->text.size, digest)) {
        return refuse_digest(err);
    }
    prove_about(g, prove_urn(PROVE_LICENCE, digest, urn));
    prove_say_word(g, Q42M_TYPE, 0, "q42m:Licence");
    prove_say_word(g, "q42m:spdx", 0, l->spdx);
    prove_say_digest(g, Q42M_SHA256, 0, PROVE_DIGEST, digest);
    prove_say_word(g, "q42m:licenceUrl", 0, l->url);
    for (uint32_t i = 0; i < PROVE_N_USES; i++) {
        prove_say_word(g, "q42m:permitsUse", i, l->permits[i] ? prove_uses[i] : NULL);
    }
    return QN_OK;
}

/* ------------------------------------------------------------------------------------------------------------- container */

static qn_status say_container(prove_graph *g, const prove_model_facts *f, const uint8_t digest[SHA256_BYTES],
                               const uint8_t transcode[SHA256_BYTES], const uint8_t licence[SHA256_BYTES], error_context *err) {
    char urn[PROVE_URN_SIZE];
    uint8_t part[SHA256_BYTES];
    const p64_header *h = &f->p64->header;
    prove_about(g, prove_urn(PROVE_P64, digest, urn));
    prove_say_word(g, Q42M_TYPE, 0, "q42m:P64Artifact");
    prove_say_digest(g, Q42M_SHA256, 0, PROVE_DIGEST, digest);
    prove_say_integer(g, "q42m:byteLength", 0, f->p64->span.size);
    prove_say_integer(g, "q42m:p64Version", 0, h->version);
    prove_say_integer(g, "q42m:p64Flags", 0, h->flags);
    prove_say_integer(g, "q42m:pageSize", 0, h->page_size);
    prove_say_integer(g, "q42m:tensorCount", 0, h->tensor_count);
    prove_say_integer(g, "q42m:metadataCrc32c", 0, f->p64->metadata_crc);
    QN_TRY(prove_table_digest(f->p64, part, err), err, "hashing the tables");
    prove_say_digest(g, "q42m:tensorTableSha256", 0, PROVE_DIGEST, part);
    if (f->p64->tokenizer.is_present) {
        QN_TRY(prove_tokenizer_digest(f->p64, part, err), err, "hashing the tokenizer");
        prove_say_digest(g, "q42m:tokenizerSha256", 0, PROVE_DIGEST, part);
    }
    QN_TRY(prove_hparams_digest(f->p64, part, err), err, "hashing the hyper-parameters");
    prove_say_digest(g, "q42m:hparamsSha256", 0, PROVE_DIGEST, part);
    if (source_digest(f) != NULL) {
        prove_say_digest(g, Q42M_DERIVED, 0, PROVE_SOURCE, source_digest(f));
    }
    prove_say_digest(g, Q42M_GENERATED_BY, 0, PROVE_TRANSCODE, transcode);
    if (f->licence != NULL) {
        prove_say_digest(g, "q42m:licence", 0, PROVE_LICENCE, licence);
    }
    for (uint32_t i = 0; i < f->n_consents; i++) {
        prove_say_digest(g, "q42m:consent", i, PROVE_CONSENT, f->consents[i].digest);
    }
    return QN_OK;
}

/* --------------------------------------------------------------------------------------------------------------- tensors */

static qn_status say_tensor(prove_graph *g, const prove_model_facts *f, const char *hex, const uint8_t digest[SHA256_BYTES],
                            uint32_t index, error_context *err) {
    char subject[PROVE_URN_SIZE];
    uint8_t blob[SHA256_BYTES];
    const p64_tensor t = p64_get_tensor(f->p64, index);
    if (!sha256_digest(t.blob.data, t.blob.size, blob)) {
        return refuse_digest(err);
    }
    snprintf(subject, sizeof subject, PROVE_TENSOR "%s:%u", hex, index);
    prove_about(g, subject);
    prove_say_digest(g, "q42m:inContainer", 0, PROVE_P64, digest);
    prove_say_integer(g, "q42m:tensorIndex", 0, index);
    prove_say_text(g, "q42m:tensorName", 0, t.name);
    prove_say_integer(g, "q42m:tensorRole", 0, t.role);
    prove_say_integer(g, "q42m:tensorLayer", 0, t.manifold_index);
    prove_say_integer(g, "q42m:tensorDtype", 0, t.dtype);
    prove_say_integer(g, "q42m:tensorRank", 0, t.rank);
    for (uint32_t k = 0; k < t.rank; k++) {
        prove_say_integer(g, "q42m:tensorDim", k, t.file_dims[k]);
    }
    prove_say_object(g, "q42m:tensorBlob", 0, (uint64_t)PROVE_TENSOR_TAG << 60 | t.blob_offset);
    prove_say_integer(g, "q42m:tensorBytes", 0, t.blob.size);
    prove_say_integer(g, "q42m:tensorCrc32c", 0, t.crc);
    prove_say_digest(g, "q42m:tensorSha256", 0, PROVE_DIGEST, blob);
    prove_say_integer(g, "q42m:sourceTensorOffset", 0, t.source_offset);
    prove_say_wide(g, "q42m:sourceNameHash", 0, t.source_name_hash);
    return g->status;
}

static qn_status say_tensors(prove_graph *g, const prove_model_facts *f, const uint8_t digest[SHA256_BYTES], error_context *err) {
    char hex[SHA256_HEX_SIZE];
    uint64_t done = 0;
    sha256_to_hex(digest, hex);
    for (uint32_t i = 0; i < f->p64->header.tensor_count; i++) {
        QN_TRY(say_tensor(g, f, hex, digest, i, err), err, "tensor %u", i);
        done += p64_get_tensor(f->p64, i).blob.size;
        if (f->progress != NULL && !f->progress(f->progress_ctx, done, f->p64->tensor_bytes)) {
            return FAIL(err, QN_CANCELLED, "stopped on request");
        }
    }
    return QN_OK;
}

qn_status prove_say_model(prove_graph *g, const prove_model_facts *f, error_context *err) {
    uint8_t digest[SHA256_BYTES], transcode[SHA256_BYTES], licence[SHA256_BYTES] = {0};
    QN_TRY(prove_span_digest(f->p64->span, f->progress, f->progress_ctx, digest, err), err, "hashing the container");
    prove_about(g, "q42m:");
    prove_say_word(g, "q42m:expandsTo", 0, PROVE_NAMESPACE);
    say_source(g, f);
    QN_TRY(say_transcode(g, f, transcode, err), err, "describing the conversion");
    if (f->licence != NULL) {
        QN_TRY(say_licence(g, f->licence, licence, err), err, "describing the licence");
    }
    for (uint32_t i = 0; i < f->n_consents; i++) {
        prove_say_consent(g, &f->consents[i]);
    }
    if (f->tool != NULL) {
        prove_say_runtime(g, f->tool);
    }
    QN_TRY(say_container(g, f, digest, transcode, licence, err), err, "describing the container");
    if (f->is_full) {
        QN_TRY(say_tensors(g, f, digest, err), err, "describing the tensors");
    }
    return prove_settle(g);
}
