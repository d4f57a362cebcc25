/* prove_signature.c — the layout of a detached signature, and what is signed. */
#include "prove/prove_signature.h"

#include <string.h>

#include "common/endian.h"
#include "prove/prove_words.h"

enum { VERSION = 1, VERSION_AT = 8, ZERO_AT = 12, ID_AT = 16, KEY_AT = 48, DIGEST_AT = 80, SIGNATURE_AT = 112 };
#define MAGIC "Q42PSIG"
#define MESSAGE_BYTES (sizeof PROVE_PROFILE + SHA256_BYTES)

static void make_message(const uint8_t digest[SHA256_BYTES], uint8_t out[MESSAGE_BYTES]) {
    memcpy(out, PROVE_PROFILE, sizeof PROVE_PROFILE);
    memcpy(out + sizeof PROVE_PROFILE, digest, SHA256_BYTES);
}

qn_status prove_sign_digest(const signing_key *key, const uint8_t digest[SHA256_BYTES], uint8_t out[SIGNATURE_BYTES],
                            error_context *err) {
    uint8_t message[MESSAGE_BYTES];
    make_message(digest, message);
    return signing_key_sign(key, message, sizeof message, out, err);
}

bool prove_verify_digest(const public_key *key, const uint8_t digest[SHA256_BYTES], const uint8_t signature[SIGNATURE_BYTES]) {
    uint8_t message[MESSAGE_BYTES];
    make_message(digest, message);
    return public_key_verify(key, message, sizeof message, signature);
}

qn_status prove_signature_make(const signing_key *key, const uint8_t digest[SHA256_BYTES], uint8_t out[PROVE_SIGNATURE_BYTES],
                               error_context *err) {
    const public_key *who = signing_key_public(key);
    memset(out, 0, PROVE_SIGNATURE_BYTES);
    memcpy(out, MAGIC, sizeof MAGIC);
    store_u32(out + VERSION_AT, VERSION);
    memcpy(out + ID_AT, who->id, sizeof who->id);
    memcpy(out + KEY_AT, who->bytes, sizeof who->bytes);
    memcpy(out + DIGEST_AT, digest, SHA256_BYTES);
    return prove_sign_digest(key, digest, out + SIGNATURE_AT, err);
}

qn_status prove_signature_parse(fmt_span bytes, const char *path, prove_signature *out, error_context *err) {
    prove_signature read;
    if (bytes.size != PROVE_SIGNATURE_BYTES || memcmp(bytes.data, MAGIC, sizeof MAGIC) != 0) {
        return FAIL(err, QN_BAD_FILE, "%s: is no signature of a provenance volume: it has %llu bytes, and one has %u that begin with " MAGIC,
                    path, (unsigned long long)bytes.size, PROVE_SIGNATURE_BYTES);
    }
    if (load_u32(bytes.data + VERSION_AT) != VERSION || load_u32(bytes.data + ZERO_AT) != 0) {
        return FAIL(err, QN_BAD_FILE, "%s: byte %d: version %u; this program reads version %d", path, VERSION_AT,
                    load_u32(bytes.data + VERSION_AT), VERSION);
    }
    QN_TRY(public_key_make(bytes.data + KEY_AT, &read.key, err), err, "reading %s", path);
    if (memcmp(read.key.id, bytes.data + ID_AT, sizeof read.key.id) != 0) {
        return FAIL(err, QN_BAD_FILE, "%s: byte %d: the key id is not that of the key at byte %d", path, ID_AT, KEY_AT);
    }
    memcpy(read.digest, bytes.data + DIGEST_AT, sizeof read.digest);
    memcpy(read.signature, bytes.data + SIGNATURE_AT, sizeof read.signature);
    *out = read;
    return QN_OK;
}
