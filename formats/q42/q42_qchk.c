/* q42_qchk.c — envelopes: a JSON-LD object behind the hash of its profile's name (section 14 of the format's document). Why jansson:
 * whether a text is JSON is not what this project is about. */
#include <jansson.h>
#include <string.h>

#include "common/endian.h"
#include "common/fnv.h"
#include "common/utf8.h"
#include "q42_files_internal.h"

#define PROFILE_START "profile:"
#define MAX_PROFILE 255u

static const char *const known_profiles[] = {"general", "health", "chemistry", "research", "legal", "financial"};

uint64_t q42_envelope_profile(const char *name, uint64_t size) {
    char text[sizeof PROFILE_START + MAX_PROFILE];
    const size_t start = sizeof PROFILE_START - 1;
    const size_t taken = size < MAX_PROFILE ? (size_t)size : MAX_PROFILE;
    memcpy(text, PROFILE_START, start);
    memcpy(text + start, name, taken);
    return fnv_q_hash(text, start + taken);
}

static const char *find_profile(uint64_t hash) {
    for (size_t i = 0; i < sizeof known_profiles / sizeof known_profiles[0]; i++) {
        if (q42_envelope_profile(known_profiles[i], strlen(known_profiles[i])) == hash) {
            return known_profiles[i];
        }
    }
    return NULL;
}

static fmt_status check_head(fmt_span span, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    if (span.size >= 4 && memcmp(span.data, "QCHK", 4) != 0) {
        const fmt_str start = {(const char *)span.data, 4};
        return files_refuse(diag, Q42F_R_ENVELOPE_MAGIC, files_at(0), "the file begins with %s",
                            diag_quote(quoted, start));
    }
    if (span.size < Q42_ENVELOPE_HEADER_BYTES) {
        const diag_place here = {span.size, FMT_NO_INDEX, Q42_ENVELOPE_HEADER_BYTES, span.size};
        return files_refuse(diag, Q42F_R_ENVELOPE_SIZE, here, "the file has %llu bytes", (unsigned long long)span.size);
    }
    const uint32_t size = load_u32(span.data + 12);
    if (size > span.size - Q42_ENVELOPE_HEADER_BYTES) {
        const diag_place here = {12, FMT_NO_INDEX, size, span.size - Q42_ENVELOPE_HEADER_BYTES};
        return files_refuse(diag, Q42F_R_ENVELOPE_LENGTH, here, "the header says %u bytes and %llu are there", size,
                            (unsigned long long)(span.size - Q42_ENVELOPE_HEADER_BYTES));
    }
    return FMT_OK;
}

static fmt_status check_payload(fmt_str payload, fmt_diag *diag) {
    const uint64_t invalid = utf8_first_invalid(payload.data, payload.size);
    if (invalid != UTF8_ALL_VALID) {
        return files_refuse(diag, Q42F_R_ENVELOPE_TEXT, files_at(Q42_ENVELOPE_HEADER_BYTES + invalid),
                            "byte %llu of the content is no UTF-8", (unsigned long long)invalid);
    }
    char quoted[DIAG_QUOTE_SIZE];
    json_error_t error;
    json_t *root = json_loadb(payload.data, (size_t)payload.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (root == NULL && (error.text[0] == '\0' || json_error_code(&error) == json_error_out_of_memory)) {
        return diag_refuse(diag, FMT_NO_SPACE, files_get_rule(Q42F_R_ENVELOPE_MEMORY), files_at(0),
                           "memory ran out for %llu bytes of JSON", (unsigned long long)payload.size);
    }
    if (root == NULL || !json_is_object(root)) {
        const uint64_t at = root == NULL && error.position > 0 ? (uint64_t)error.position : 0;
        const fmt_str words = {error.text, root == NULL ? strlen(error.text) : 0};
        json_decref(root);
        return files_refuse(diag, Q42F_R_ENVELOPE_JSON, files_at(Q42_ENVELOPE_HEADER_BYTES + at), "%s%s",
                            root == NULL ? "the JSON parser stops with " : "it is JSON, but no object",
                            root == NULL ? diag_quote(quoted, words) : "");
    }
    json_decref(root);
    return FMT_OK;
}

fmt_status q42_envelope_open(fmt_span span, fmt_mode mode, q42_envelope *out_envelope, fmt_note_fn *note,
                             void *note_ctx, fmt_diag *diag) {
    const files_reading r = {mode, note, note_ctx, diag};
    fmt_status status = check_head(span, diag);
    if (status != FMT_OK) {
        return status;
    }
    q42_envelope envelope = {.profile = load_u64(span.data + 4)};
    envelope.profile_name = find_profile(envelope.profile);
    envelope.payload.data = (const char *)span.data + Q42_ENVELOPE_HEADER_BYTES;
    envelope.payload.size = load_u32(span.data + 12);
    envelope.n_trailing = span.size - Q42_ENVELOPE_HEADER_BYTES - envelope.payload.size;
    status = check_payload(envelope.payload, diag);
    if (status == FMT_OK && envelope.n_trailing > 0) {
        fmt_diag found;
        const uint64_t end = span.size - envelope.n_trailing;
        files_refuse(&found, Q42F_R_ENVELOPE_TRAILING, files_at(end), "%llu bytes follow the content",
                     (unsigned long long)envelope.n_trailing);
        status = files_settle(&r, &found);
    }
    if (status == FMT_OK) {
        *out_envelope = envelope;
    }
    return status;
}

void q42_envelope_encode_header(uint64_t profile, uint32_t payload_size, uint8_t out[Q42_ENVELOPE_HEADER_BYTES]) {
    memcpy(out, "QCHK", 4);
    store_u64(out + 4, profile);
    store_u32(out + 12, payload_size);
}
