/* prove_consent.c — the text of a consent, its digest and its signature. */
#include "prove/prove_consent.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/decimal.h"
#include "base/mapped_file.h"
#include "base/text_buffer.h"
#include "prove/prove_signature.h"

#define MAX_TIME ((UINT64_C(1) << 60) - 1)
#define SIGNATURE_PREFIX "ed25519:"
#define SIGNATURE_TEXT_SIZE (sizeof SIGNATURE_PREFIX + 2 * SIGNATURE_BYTES)

typedef struct consent_line {
    const char *path;
    uint32_t number;
    char *name, *value;
} consent_line;

/* --------------------------------------------------------------------------------------------------------------- digest */

static void say_contents(prove_graph *g, const prove_consent *c) {
    char key[KEY_TEXT_SIZE];
    prove_say_word(g, Q42M_TYPE, 0, "q42m:Consent");
    prove_say_word(g, "q42m:grantedBy", 0, c->granted_by);
    prove_say_word(g, "q42m:grantedTo", 0, c->granted_to);
    for (uint32_t i = 0; i < c->n_scopes; i++) {
        prove_say_word(g, "q42m:scope", i, c->scopes[i]);
    }
    prove_say_integer(g, "q42m:validFrom", 0, c->valid_from);
    prove_say_integer(g, "q42m:validUntil", 0, c->valid_until);
    if (c->is_keyed) {
        prove_say_word(g, "q42m:signatureKey", 0, public_key_text(&c->key, key));
    }
}

static qn_status name_consent(prove_consent *c, error_context *err) {
    prove_graph g;
    prove_begin(&g, 0, err);
    prove_about_record(&g);
    say_contents(&g, c);
    qn_status status = prove_settle(&g);
    status = status < 0 ? status : prove_digest(&g, c->digest, err);
    prove_end(&g);
    return status;
}

static const char *print_signature(const uint8_t signature[SIGNATURE_BYTES], char out[SIGNATURE_TEXT_SIZE]) {
    char hex[SHA256_HEX_SIZE];
    size_t at = sizeof SIGNATURE_PREFIX - 1;
    memcpy(out, SIGNATURE_PREFIX, at);
    for (size_t i = 0; i < SIGNATURE_BYTES; i += SHA256_BYTES) {
        sha256_to_hex(signature + i, hex);
        memcpy(out + at, hex, sizeof hex);
        at += sizeof hex - 1;
    }
    return out;
}

static bool parse_signature(fmt_str text, uint8_t out[SIGNATURE_BYTES]) {
    return text.size == SIGNATURE_TEXT_SIZE - 1 && memcmp(text.data, SIGNATURE_PREFIX, sizeof SIGNATURE_PREFIX - 1) == 0 &&
           key_parse_hex(text.data + sizeof SIGNATURE_PREFIX - 1, SIGNATURE_BYTES, out);
}

void prove_say_consent(prove_graph *g, const prove_consent *c) {
    char text[SIGNATURE_TEXT_SIZE], urn[PROVE_URN_SIZE];
    prove_about(g, prove_urn(PROVE_CONSENT, c->digest, urn));
    say_contents(g, c);
    if (c->is_signed) {
        prove_say_word(g, "q42m:signature", 0, print_signature(c->signature, text));
    }
}

/* ----------------------------------------------------------------------------------------------------------------- text */

static qn_status refuse_line(const consent_line *l, const char *why, error_context *err) {
    return FAIL(err, QN_BAD_INPUT, "%s: line %u: \"%.100s\": %s", l->path, l->number, l->name, why);
}

static qn_status set_time(const consent_line *l, uint64_t *out, error_context *err) {
    return decimal_read_whole(l->value, MAX_TIME, out) ? QN_OK : refuse_line(l, "must be a time in milliseconds since 1970", err);
}

static qn_status set_once(const consent_line *l, const char **out, error_context *err) {
    if (*out != NULL) {
        return refuse_line(l, "stands there twice", err);
    }
    *out = l->value;
    return QN_OK;
}

static qn_status take_line(prove_consent *c, const consent_line *l, error_context *err) {
    if (strcmp(l->name, "granted_by") == 0) {
        return set_once(l, &c->granted_by, err);
    }
    if (strcmp(l->name, "granted_to") == 0) {
        return set_once(l, &c->granted_to, err);
    }
    if (strcmp(l->name, "scope") == 0) {
        if (c->n_scopes == CONSENT_MAX_SCOPES) {
            return refuse_line(l, "there are 64 scopes already", err);
        }
        c->scopes[c->n_scopes++] = l->value;
        return QN_OK;
    }
    if (strcmp(l->name, "valid_from") == 0 || strcmp(l->name, "valid_until") == 0) {
        return set_time(l, l->name[6] == 'f' ? &c->valid_from : &c->valid_until, err);
    }
    if (strcmp(l->name, "key") == 0) {
        c->is_keyed = true;
        QN_TRY(public_key_parse(l->value, strlen(l->value), &c->key, err), err, "%s: line %u", l->path, l->number);
        return QN_OK;
    }
    if (strcmp(l->name, "signature") == 0) {
        c->is_signed = parse_signature((fmt_str){l->value, strlen(l->value)}, c->signature);
        return c->is_signed ? QN_OK : refuse_line(l, "must be ed25519: and 128 hexadecimal digits", err);
    }
    return refuse_line(l, "unknown; known are granted_by, granted_to, scope, valid_from, valid_until, key and signature", err);
}

static char *trim(char *text) {
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n > 0 && strchr(" \t\r", text[n - 1]) != NULL; n--) {
        text[n - 1] = '\0';
    }
    return text;
}

static qn_status take_text(prove_consent *c, const char *path, error_context *err) {
    consent_line l = {.path = path};
    for (char *at = c->text, *next; at != NULL; at = next) {
        next = strchr(at, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        l.number++;
        l.name = trim(at);
        if (l.name[0] == '\0' || l.name[0] == '#') {
            continue;
        }
        char *sign = strchr(l.name, '=');
        if (sign == NULL) {
            return refuse_line(&l, "a line is `name = value`", err);
        }
        *sign = '\0';
        l.name = trim(l.name);
        l.value = trim(sign + 1);
        QN_TRY(take_line(c, &l, err), err, "reading a consent");
    }
    return QN_OK;
}

static qn_status check_whole(const prove_consent *c, const char *path, error_context *err) {
    if (c->granted_by == NULL || c->granted_to == NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s: a consent says who grants it and to whom: %s is missing", path,
                    c->granted_by == NULL ? "granted_by" : "granted_to");
    }
    if (c->valid_until <= c->valid_from) {
        return FAIL(err, QN_BAD_INPUT, "%s: valid_until is %" PRIu64 ", valid_from %" PRIu64 ": it would never be valid", path,
                    c->valid_until, c->valid_from);
    }
    if (c->is_signed && !c->is_keyed) {
        return FAIL(err, QN_BAD_INPUT, "%s: there is a signature and no key", path);
    }
    return QN_OK;
}

qn_status prove_consent_parse(fmt_str text, const char *path, prove_consent *out, error_context *err) {
    memset(out, 0, sizeof *out);
    if (text.size > CONSENT_MAX_BYTES || (text.size > 0 && memchr(text.data, 0, text.size) != NULL)) {
        return FAIL(err, QN_BAD_INPUT, "%s: is no consent: a text of at most %u bytes", path, CONSENT_MAX_BYTES);
    }
    out->text = malloc(text.size + 1);
    if (out->text == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to read it", path);
    }
    if (text.size > 0) {
        memcpy(out->text, text.data, text.size);
    }
    out->text[text.size] = '\0';
    qn_status status = take_text(out, path, err);
    status = status < 0 ? status : check_whole(out, path, err);
    status = status < 0 ? status : name_consent(out, err);
    if (status < 0) {
        prove_consent_free(out);
    }
    return status;
}

void prove_consent_free(prove_consent *consent) {
    free(consent->text);
    memset(consent, 0, sizeof *consent);
}

qn_status prove_consent_read(const char *path, prove_consent *out, error_context *err) {
    mapped_file file;
    memset(out, 0, sizeof *out);
    QN_TRY(mapped_file_open(path, &file, err), err, "reading %s", path);
    const qn_status status = prove_consent_parse((fmt_str){(const char *)file.span.data, file.span.size}, path, out, err);
    mapped_file_close(&file);
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- signing */

static void put(text_buffer *text, bool *is_whole, const char *name, const char *value) {
    *is_whole = *is_whole && text_buffer_append(text, name, strlen(name)) && text_buffer_append(text, " = ", 3) &&
                text_buffer_append(text, value, strlen(value)) && text_buffer_append(text, "\n", 1);
}

static bool print_consent(const prove_consent *c, text_buffer *text) {
    char number[24], key[KEY_TEXT_SIZE], signature[SIGNATURE_TEXT_SIZE];
    bool is_whole = true;
    put(text, &is_whole, "granted_by", c->granted_by);
    put(text, &is_whole, "granted_to", c->granted_to);
    for (uint32_t i = 0; i < c->n_scopes; i++) {
        put(text, &is_whole, "scope", c->scopes[i]);
    }
    snprintf(number, sizeof number, "%" PRIu64, c->valid_from);
    put(text, &is_whole, "valid_from", number);
    snprintf(number, sizeof number, "%" PRIu64, c->valid_until);
    put(text, &is_whole, "valid_until", number);
    put(text, &is_whole, "key", public_key_text(&c->key, key));
    put(text, &is_whole, "signature", print_signature(c->signature, signature));
    return is_whole;
}

static qn_status replace_file(const char *path, const text_buffer *text, error_context *err) {
    atomic_file file;
    fmt_diag diag;
    fmt_status status = atomic_file_create(&file, path, true, 0, &diag);
    if (status == FMT_OK) {
        status = atomic_file_write(&file, 0, text->text, text->size, &diag);
        status = status == FMT_OK ? atomic_file_commit(&file, &diag) : status;
        atomic_file_abort(&file);
    }
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, path);
}

qn_status prove_consent_sign(const char *path, const signing_key *key, prove_consent *out, error_context *err) {
    text_buffer text = {0};
    QN_TRY(prove_consent_read(path, out, err), err, "signing a consent");
    out->key = *signing_key_public(key);
    out->is_keyed = out->is_signed = true;
    qn_status status = name_consent(out, err);
    status = status < 0 ? status : prove_sign_digest(key, out->digest, out->signature, err);
    if (status >= 0 && !print_consent(out, &text)) {
        status = FAIL(err, QN_NO_HOST_MEM, "%s: no memory to sign it", path);
    }
    status = status < 0 ? status : replace_file(path, &text, err);
    text_buffer_free(&text);
    if (status < 0) {
        prove_consent_free(out);
    }
    return status;
}

/* --------------------------------------------------------------------------------------------------- from a volume again */

/* A terminated copy in consent->text, whose room is enough for all texts of the volume that it can have. */
static const char *keep_text(char **at, fmt_str text) {
    char *begin = *at;
    memcpy(begin, text.data, text.size);
    begin[text.size] = '\0';
    *at = begin + text.size + 1;
    return begin;
}

static qn_status load_texts(const prove_reading *r, uint64_t subject, prove_consent *c, char *at, error_context *err) {
    fmt_str text;
    if (!prove_get_text(r, subject, "q42m:grantedBy", 0, &text) || text.size > PROVE_MAX_TEXT) {
        return FAIL(err, QN_BAD_FILE, "the consent says nothing in q42m:grantedBy");
    }
    c->granted_by = keep_text(&at, text);
    if (!prove_get_text(r, subject, "q42m:grantedTo", 0, &text) || text.size > PROVE_MAX_TEXT) {
        return FAIL(err, QN_BAD_FILE, "the consent says nothing in q42m:grantedTo");
    }
    c->granted_to = keep_text(&at, text);
    while (c->n_scopes < CONSENT_MAX_SCOPES && prove_get_text(r, subject, "q42m:scope", c->n_scopes, &text) && text.size <= PROVE_MAX_TEXT) {
        c->scopes[c->n_scopes++] = keep_text(&at, text);
    }
    if (!prove_get_integer(r, subject, "q42m:validFrom", 0, &c->valid_from) ||
        !prove_get_integer(r, subject, "q42m:validUntil", 0, &c->valid_until)) {
        return FAIL(err, QN_BAD_FILE, "the consent has no q42m:validFrom and q42m:validUntil");
    }
    c->is_keyed = prove_get_text(r, subject, "q42m:signatureKey", 0, &text);
    if (c->is_keyed) {
        QN_TRY(public_key_parse(text.data, text.size, &c->key, err), err, "reading the consent's key");
    }
    c->is_signed = prove_get_text(r, subject, "q42m:signature", 0, &text);
    return !c->is_signed || parse_signature(text, c->signature) ? QN_OK : FAIL(err, QN_BAD_FILE, "the consent's signature is no ed25519: text");
}

qn_status prove_consent_load(const prove_reading *r, uint64_t subject, prove_consent *out, error_context *err) {
    fmt_str name;
    uint8_t said[SHA256_BYTES];
    memset(out, 0, sizeof *out);
    out->text = malloc((CONSENT_MAX_SCOPES + 2) * (PROVE_MAX_TEXT + 1));
    if (out->text == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory to read a consent");
    }
    qn_status status = load_texts(r, subject, out, out->text, err);
    status = status < 0 ? status : name_consent(out, err);
    if (status >= 0 && (!prove_find_text(r, subject, &name) || !prove_text_digest(name, PROVE_CONSENT, said) ||
                        memcmp(said, out->digest, sizeof said) != 0)) {
        status = FAIL(err, QN_BAD_FILE, "the consent's name is not the digest of what it says");
    }
    if (status < 0) {
        prove_consent_free(out);
    }
    return status;
}
