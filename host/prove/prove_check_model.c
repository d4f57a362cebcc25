/* prove_check_model.c — container, tables, tensors, source. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/diag.h"
#include "prove/prove_check_parts.h"
#include "prove/prove_model.h"

/* True when (subject, predicate) says this number; otherwise the answer says what differs. */
static bool expect_number(prove_checking *c, prove_answer *a, uint64_t subject, const char *predicate, uint64_t wanted, const char *code) {
    uint64_t said = 0;
    const bool is_said = prove_get_integer(c->volume, subject, predicate, 0, &said);
    if (is_said && said == wanted) {
        return true;
    }
    if (is_said) {
        prove_answer_set(a, PROVE_FAIL, code, "%s: the volume says %" PRIu64 ", the container has %" PRIu64, predicate, said, wanted);
    } else {
        prove_answer_set(a, PROVE_FAIL, "PARSE", "the volume says no number in %s", predicate);
    }
    return false;
}

static bool expect_digest(prove_checking *c, prove_answer *a, uint64_t subject, const char *predicate, const uint8_t wanted[SHA256_BYTES]) {
    uint8_t said[SHA256_BYTES];
    char texts[2][SHA256_HEX_SIZE];
    if (!prove_get_digest(c->volume, subject, predicate, 0, PROVE_DIGEST, said)) {
        prove_answer_set(a, PROVE_FAIL, "PARSE", "the volume says no digest in %s", predicate);
        return false;
    }
    if (memcmp(said, wanted, sizeof said) == 0) {
        return true;
    }
    sha256_to_hex(said, texts[0]);
    sha256_to_hex(wanted, texts[1]);
    prove_answer_set(a, PROVE_FAIL, "DIGEST_MISMATCH", "%s: the volume says %s, the container has %s", predicate, texts[0], texts[1]);
    return false;
}

/* ------------------------------------------------------------------------------------------------------------ container */

/* The one artefact, whose name is its digest. */
static bool find_artifact(prove_checking *c, prove_answer *a) {
    uint64_t at = 0, another;
    if (!prove_next_of_type(c->volume, "q42m:P64Artifact", &at, &c->container)) {
        prove_answer_set(a, PROVE_FAIL, "PARSE", "the volume is about no container (no q42m:P64Artifact)");
        return false;
    }
    if (prove_next_of_type(c->volume, "q42m:P64Artifact", &at, &another)) {
        prove_answer_set(a, PROVE_FAIL, "PARSE", "the volume is about more than one container");
        return false;
    }
    return true;
}

static bool expect_name(prove_checking *c, prove_answer *a) {
    char urn[PROVE_URN_SIZE];
    fmt_str said = {"", 0};
    prove_urn(PROVE_P64, c->p64_digest, urn);
    if (prove_find_text(c->volume, c->container, &said) && prove_text_is(said, urn)) {
        return true;
    }
    prove_answer_set(a, PROVE_FAIL, "DIGEST_MISMATCH", "the volume is about %.*s, the container is %s", (int)said.size, said.data, urn);
    return false;
}

qn_status prove_ask_container(prove_checking *c) {
    prove_answer *a = &c->report->answers[PROVE_Q_CONTAINER];
    const p64_file *p = c->options->p64;
    char hex[SHA256_HEX_SIZE];
    QN_TRY(prove_span_digest(p->span, c->options->progress, c->options->progress_ctx, c->p64_digest, c->err), c->err, "hashing");
    if (!find_artifact(c, a) || !expect_digest(c, a, c->container, Q42M_SHA256, c->p64_digest) || !expect_name(c, a) ||
        !expect_number(c, a, c->container, "q42m:byteLength", p->span.size, "DIGEST_MISMATCH") ||
        !expect_number(c, a, c->container, "q42m:p64Version", p->header.version, "DIGEST_MISMATCH") ||
        !expect_number(c, a, c->container, "q42m:p64Flags", p->header.flags, "DIGEST_MISMATCH")) {
        return QN_OK;
    }
    sha256_to_hex(c->p64_digest, hex);
    prove_answer_set(a, PROVE_PASS, "", "sha256:%s, P64 version %u", hex, p->header.version);
    return QN_OK;
}

/* --------------------------------------------------------------------------------------------------------------- tables */

static qn_status check_tokenizer(prove_checking *c, prove_answer *a, bool *out_holds) {
    uint8_t digest[SHA256_BYTES];
    uint64_t unused;
    const bool is_said = prove_get_object(c->volume, c->container, "q42m:tokenizerSha256", 0, &unused);
    *out_holds = is_said == c->options->p64->tokenizer.is_present;
    if (!*out_holds) {
        prove_answer_set(a, PROVE_FAIL, "DIGEST_MISMATCH", "q42m:tokenizerSha256: the volume says %s, the container has %s",
                         is_said ? "a tokenizer" : "none", is_said ? "none" : "one");
        return QN_OK;
    }
    if (is_said) {
        QN_TRY(prove_tokenizer_digest(c->options->p64, digest, c->err), c->err, "hashing the tokenizer");
        *out_holds = expect_digest(c, a, c->container, "q42m:tokenizerSha256", digest);
    }
    return QN_OK;
}

qn_status prove_ask_tables(prove_checking *c) {
    prove_answer *a = &c->report->answers[PROVE_Q_TABLES];
    const p64_file *p = c->options->p64;
    uint8_t tables[SHA256_BYTES], hparams[SHA256_BYTES];
    bool holds = false;
    QN_TRY(prove_table_digest(p, tables, c->err), c->err, "hashing the tables");
    QN_TRY(prove_hparams_digest(p, hparams, c->err), c->err, "hashing the hyper-parameters");
    if (!expect_number(c, a, c->container, "q42m:pageSize", p->header.page_size, "DIGEST_MISMATCH") ||
        !expect_number(c, a, c->container, "q42m:tensorCount", p->header.tensor_count, "DIGEST_MISMATCH") ||
        !expect_number(c, a, c->container, "q42m:metadataCrc32c", p->metadata_crc, "DIGEST_MISMATCH") ||
        !expect_digest(c, a, c->container, "q42m:tensorTableSha256", tables) ||
        !expect_digest(c, a, c->container, "q42m:hparamsSha256", hparams)) {
        return QN_OK;
    }
    QN_TRY(check_tokenizer(c, a, &holds), c->err, "checking the tokenizer");
    if (holds) {
        prove_answer_set(a, PROVE_PASS, "", "tensor table and checksums, hyper-parameters%s",
                         p->tokenizer.is_present ? ", tokenizer" : "; no tokenizer");
    }
    return QN_OK;
}

/* -------------------------------------------------------------------------------------------------------------- tensors */

static bool expect_pointer(prove_checking *c, prove_answer *a, uint64_t subject, const p64_tensor *t) {
    const uint64_t wanted = (uint64_t)PROVE_TENSOR_TAG << 60 | t->blob_offset;
    uint64_t said = 0;
    if (prove_get_object(c->volume, subject, "q42m:tensorBlob", 0, &said) && said == wanted) {
        return true;
    }
    prove_answer_set(a, PROVE_FAIL, "POINTER_MISMATCH", "tensor %u: the volume points to %016" PRIx64 ", it lies at byte %" PRIu64, t->index,
                     said, t->blob_offset);
    return false;
}

static bool expect_shape(prove_checking *c, prove_answer *a, uint64_t subject, const p64_tensor *t) {
    const struct {
        const char *predicate;
        uint64_t value;
    } table[] = {{"q42m:tensorIndex", t->index},    {"q42m:tensorRole", t->role},           {"q42m:tensorLayer", t->manifold_index},
                 {"q42m:tensorDtype", t->dtype},    {"q42m:tensorRank", t->rank},           {"q42m:tensorBytes", t->blob.size},
                 {"q42m:tensorCrc32c", t->crc},     {"q42m:sourceTensorOffset", t->source_offset}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (!expect_number(c, a, subject, table[i].predicate, table[i].value, "POINTER_MISMATCH")) {
            return false;
        }
    }
    for (uint32_t k = 0; k < t->rank; k++) {
        uint64_t said = 0;
        if (!prove_get_integer(c->volume, subject, "q42m:tensorDim", k, &said) || said != t->file_dims[k]) {
            prove_answer_set(a, PROVE_FAIL, "POINTER_MISMATCH", "tensor %u: dimension %u: the volume says %" PRIu64 ", the container has %u",
                             t->index, k, said, t->file_dims[k]);
            return false;
        }
    }
    return true;
}

static bool expect_origin(prove_checking *c, prove_answer *a, uint64_t subject, const p64_tensor *t) {
    uint64_t hash = 0;
    fmt_str name = {"", 0};
    char quoted[DIAG_QUOTE_SIZE];
    const bool is_named = prove_get_text(c->volume, subject, "q42m:tensorName", 0, &name) && name.size == t->name.size &&
                          memcmp(name.data, t->name.data, name.size) == 0;
    if (is_named && prove_get_wide(c->volume, subject, "q42m:sourceNameHash", 0, &hash) && hash == t->source_name_hash) {
        return true;
    }
    prove_answer_set(a, PROVE_FAIL, "POINTER_MISMATCH", "tensor %u: the volume calls it %s, source hash %016" PRIx64, t->index,
                     diag_quote(quoted, name), hash);
    return false;
}

static bool check_tensor(prove_checking *c, prove_answer *a, const char *hex, uint32_t index) {
    const p64_tensor t = p64_get_tensor(c->options->p64, index);
    uint8_t digest[SHA256_BYTES];
    char subject_text[PROVE_URN_SIZE];
    const int n = snprintf(subject_text, sizeof subject_text, PROVE_TENSOR "%s:%u", hex, index);
    const uint64_t subject = q42_hash(subject_text, (uint64_t)n);
    if (!expect_pointer(c, a, subject, &t) || !expect_shape(c, a, subject, &t) || !expect_origin(c, a, subject, &t)) {
        return false;
    }
    if (!sha256_digest(t.blob.data, t.blob.size, digest)) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "", "libcrypto gives no SHA-256");
        return false;
    }
    if (!expect_digest(c, a, subject, "q42m:tensorSha256", digest)) {
        char rest[PROVE_TEXT_SIZE];
        memcpy(rest, a->text, sizeof rest);
        prove_answer_set(a, PROVE_FAIL, a->code, "tensor %u: %.360s", index, rest);
        return false;
    }
    return true;
}

/* Says the volume anything about single tensors? */
static bool has_tensors(const prove_reading *r) {
    const uint64_t predicate = q42_hash("q42m:tensorSha256", 17), pointer = q42_hash("q42m:tensorBlob", 15);
    for (uint64_t i = 0; i < r->n_index; i++) {
        if (r->index[i]->predicate == predicate || r->index[i]->predicate == pointer) {
            return true;
        }
    }
    return false;
}

static void check_by_crc(prove_checking *c, prove_answer *a) {
    fmt_diag diag;
    if (p64_check_blobs(c->options->p64, P64_CHECK_CRC, &diag) != FMT_OK) {
        prove_answer_set(a, PROVE_FAIL, "DIGEST_MISMATCH", "%s", diag.text);
        return;
    }
    prove_answer_set(a, PROVE_PASS, "", "compact profile: %u tensors by the checksums that q42m:tensorTableSha256 covers",
                     c->options->p64->header.tensor_count);
}

qn_status prove_ask_tensors(prove_checking *c) {
    prove_answer *a = &c->report->answers[PROVE_Q_TENSORS];
    char hex[SHA256_HEX_SIZE];
    uint64_t done = 0;
    c->report->is_full = has_tensors(c->volume);
    if (!c->report->is_full) {
        check_by_crc(c, a);
        return QN_OK;
    }
    sha256_to_hex(c->p64_digest, hex);
    for (uint32_t i = 0; i < c->options->p64->header.tensor_count; i++) {
        if (!check_tensor(c, a, hex, i)) {
            return QN_OK;
        }
        done += p64_get_tensor(c->options->p64, i).blob.size;
        if (c->options->progress != NULL && !c->options->progress(c->options->progress_ctx, done, c->options->p64->tensor_bytes)) {
            return FAIL(c->err, QN_CANCELLED, "stopped on request");
        }
    }
    prove_answer_set(a, PROVE_PASS, "", "full profile: %u tensors, digests and pointers", c->options->p64->header.tensor_count);
    return QN_OK;
}

/* --------------------------------------------------------------------------------------------------------------- source */

static void check_parity(prove_checking *c, prove_answer *a) {
    const prove_source *source = c->options->source;
    convert_parity_report parity;
    error_context local = {0};
    char hex[SHA256_HEX_SIZE];
    if (prove_source_parity(source, c->options->p64, c->options->p64_path, &parity, &local) < 0) {
        prove_answer_set(a, PROVE_FAIL, "DIGEST_MISMATCH", "%s", error_text(&local));
        return;
    }
    sha256_to_hex(source->sha256, hex);
    if (parity.n_converted > 0) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "", "the source is sha256:%s; %u of %u tensors were converted (%s): their bytes cannot be compared",
                         hex, parity.n_converted, parity.n_tensors, prove_source_policy(source, c->options->p64));
        return;
    }
    prove_answer_set(a, PROVE_PASS, "", "sha256:%s, %u tensors byte for byte", hex, parity.n_tensors);
}

qn_status prove_ask_source(prove_checking *c) {
    prove_answer *a = &c->report->answers[PROVE_Q_SOURCE];
    uint8_t said[SHA256_BYTES];
    char texts[2][SHA256_HEX_SIZE];
    const bool is_said = prove_get_digest(c->volume, c->container, Q42M_DERIVED, 0, PROVE_SOURCE, said);
    if (!is_said) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "MISSING", "the volume names no source");
        return QN_OK;
    }
    sha256_to_hex(said, texts[0]);
    if (c->options->source == NULL) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "MISSING", "the source sha256:%s is not at hand; --source FILE names it", texts[0]);
        return QN_OK;
    }
    if (memcmp(said, c->options->source->sha256, sizeof said) != 0) {
        sha256_to_hex(c->options->source->sha256, texts[1]);
        prove_answer_set(a, PROVE_FAIL, "DIGEST_MISMATCH", "the volume names the source sha256:%s, this one is sha256:%s", texts[0], texts[1]);
        return QN_OK;
    }
    check_parity(c, a);
    return QN_OK;
}
