/* prove_graph.c — terms and quins of the profile, and their digest. */
#include "prove/prove_graph.h"

#include <stdio.h>
#include <string.h>

#include "common/diag.h"
#include "common/endian.h"
#include "model/companion_map.h"
#include "prove/nfc.h"

#define MAX_INTEGER ((UINT64_C(1) << 60) - 1)

static void keep_failure(prove_graph *g, fmt_status status, const fmt_diag *diag) {
    if (status != FMT_OK && g->status == QN_OK) {
        g->status = error_from_diag(g->err, status, diag, "provenance");
    }
}

static uint64_t add_term(prove_graph *g, fmt_str text) {
    fmt_diag diag;
    uint64_t hash = 0;
    if (g->status == QN_OK) {
        keep_failure(g, small_volume_add_term(&g->volume, text, &hash, &diag), &diag);
    }
    return hash;
}

static uint64_t add_word(prove_graph *g, const char *word) {
    return add_term(g, (fmt_str){word, strlen(word)});
}

void prove_begin(prove_graph *g, uint32_t tier, error_context *err) {
    *g = (prove_graph){.volume = {.is_literal = true}, .tier = (uint64_t)(tier & 15u) << PROVE_TIER_AT, .status = QN_OK, .err = err};
    g->context = add_word(g, PROVE_CONTEXT);
}

void prove_end(prove_graph *g) {
    small_volume_free(&g->volume);
    memset(g, 0, sizeof *g);
}

void prove_about(prove_graph *g, const char *subject) {
    g->subject = add_word(g, subject);
}

void prove_about_record(prove_graph *g) {
    g->subject = 0;
}

void prove_say_object(prove_graph *g, const char *predicate, uint32_t ordinal, uint64_t object) {
    fmt_diag diag;
    const q42_quin quin = q42_quin_make(g->subject, add_word(g, predicate), object, g->context, g->tier | ordinal);
    if (g->status == QN_OK) {
        keep_failure(g, small_volume_add_quin(&g->volume, &quin, &diag), &diag);
    }
}

static void check_text(prove_graph *g, const char *predicate, fmt_str text) {
    char quoted[DIAG_QUOTE_SIZE];
    if (text.size > PROVE_MAX_TEXT) {
        g->status = FAIL(g->err, QN_LIMIT, "%s: a text of %llu bytes; a provenance volume takes at most %u", predicate,
                         (unsigned long long)text.size, PROVE_MAX_TEXT);
        return;
    }
    const uint64_t at = nfc_first_unsure(text.data, text.size);
    if (at != NFC_ALL) {
        g->status = FAIL(g->err, QN_BAD_INPUT, "%s: %s is not surely in the Unicode form NFC at byte %llu; write it with composed letters",
                         predicate, diag_quote(quoted, text), (unsigned long long)at);
    }
}

void prove_say_text(prove_graph *g, const char *predicate, uint32_t ordinal, fmt_str text) {
    if (g->status == QN_OK) {
        check_text(g, predicate, text);
    }
    prove_say_object(g, predicate, ordinal, add_term(g, text));
}

void prove_say_word(prove_graph *g, const char *predicate, uint32_t ordinal, const char *word) {
    if (word != NULL) {
        prove_say_text(g, predicate, ordinal, (fmt_str){word, strlen(word)});
    }
}

void prove_say_integer(prove_graph *g, const char *predicate, uint32_t ordinal, uint64_t value) {
    if (value > MAX_INTEGER && g->status == QN_OK) {
        g->status = FAIL(g->err, QN_LIMIT, "%s: %llu is above 2^60 - 1", predicate, (unsigned long long)value);
    }
    prove_say_object(g, predicate, ordinal, companion_integer(value));
}

void prove_say_boolean(prove_graph *g, const char *predicate, uint32_t ordinal, bool value) {
    prove_say_object(g, predicate, ordinal, companion_boolean(value));
}

void prove_say_float(prove_graph *g, const char *predicate, uint32_t ordinal, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    prove_say_object(g, predicate, ordinal, (uint64_t)Q42_TAG_FLOAT << 60 | bits);
}

void prove_say_wide(prove_graph *g, const char *predicate, uint32_t which, uint64_t value) {
    prove_say_integer(g, predicate, 2 * which, value & UINT32_MAX);
    prove_say_integer(g, predicate, 2 * which + 1, value >> 32);
}

const char *prove_urn(const char *beginning, const uint8_t digest[SHA256_BYTES], char out[PROVE_URN_SIZE]) {
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(digest, hex);
    snprintf(out, PROVE_URN_SIZE, "%s%s", beginning, hex);
    return out;
}

void prove_say_digest(prove_graph *g, const char *predicate, uint32_t ordinal, const char *beginning,
                      const uint8_t digest[SHA256_BYTES]) {
    char text[PROVE_URN_SIZE];
    prove_say_word(g, predicate, ordinal, prove_urn(beginning, digest, text));
}

qn_status prove_settle(prove_graph *g) {
    fmt_diag diag;
    if (g->status == QN_OK) {
        keep_failure(g, small_volume_settle(&g->volume, &diag), &diag);
    }
    return g->status;
}

qn_status prove_digest(const prove_graph *g, uint8_t out[SHA256_BYTES], error_context *err) {
    sha256_stream stream;
    uint8_t bytes[Q42_QUIN_BYTES];
    if (!sha256_begin(&stream)) {
        return FAIL(err, QN_INTERNAL, "libcrypto gives no SHA-256");
    }
    for (uint64_t i = 0; i < g->volume.n_quins; i++) {
        q42_quin_store(bytes, &g->volume.quins[i]);
        sha256_add(&stream, bytes, sizeof bytes);
    }
    for (uint64_t i = 0; i < g->volume.n_terms; i++) {
        uint64_t hash;
        const fmt_str text = small_volume_term(&g->volume, i, &hash);
        store_u64(bytes, hash);
        store_u16(bytes + 8, (uint16_t)text.size);
        sha256_add(&stream, bytes, 10);
        sha256_add(&stream, text.data, text.size);
    }
    return sha256_end(&stream, out) ? QN_OK : FAIL(err, QN_INTERNAL, "libcrypto gives no SHA-256");
}

qn_status prove_rename(prove_graph *g, const char *beginning, uint8_t out_digest[SHA256_BYTES]) {
    char urn[PROVE_URN_SIZE];
    QN_TRY(prove_digest(g, out_digest, g->err), g->err, "naming a record");
    prove_about(g, prove_urn(beginning, out_digest, urn));
    for (uint64_t i = 0; i < g->volume.n_quins; i++) {
        const q42_quin *q = &g->volume.quins[i];
        g->volume.quins[i] = q42_quin_make(g->subject, q->predicate, q->object, q->context, q->metadata);
    }
    return prove_settle(g);
}
