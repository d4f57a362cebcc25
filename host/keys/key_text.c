/* key_text.c — public keys. */
#include "keys/key_text.h"

#include <string.h>

#include <openssl/evp.h>

#include "common/sha.h"

#define PREFIX "ed25519:"
#define PREFIX_SIZE (sizeof PREFIX - 1)

static int digit_value(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool key_parse_hex(const char *text, size_t size, uint8_t *out) {
    for (size_t i = 0; i < size; i++) {
        const int high = digit_value(text[2 * i]), low = high < 0 ? -1 : digit_value(text[2 * i + 1]);
        if (low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

qn_status public_key_make(const uint8_t bytes[PUBLIC_KEY_BYTES], public_key *out_key, error_context *err) {
    public_key key;
    memcpy(key.bytes, bytes, sizeof key.bytes);
    if (!sha256_digest(bytes, PUBLIC_KEY_BYTES, key.id)) {
        return FAIL(err, QN_INTERNAL, "libcrypto refuses to compute SHA-256");
    }
    *out_key = key;
    return QN_OK;
}

qn_status public_key_parse(const char *text, size_t size, public_key *out_key, error_context *err) {
    uint8_t bytes[PUBLIC_KEY_BYTES];
    if (size != KEY_TEXT_SIZE - 1 || memcmp(text, PREFIX, PREFIX_SIZE) != 0 || !key_parse_hex(text + PREFIX_SIZE, sizeof bytes, bytes)) {
        return FAIL(err, QN_BAD_INPUT, "%.*s: is no public key; one is ed25519: and 64 hexadecimal digits",
                    (int)(size < 100 ? size : 100), text);
    }
    return public_key_make(bytes, out_key, err);
}

const char *public_key_text(const public_key *key, char out[KEY_TEXT_SIZE]) {
    memcpy(out, PREFIX, PREFIX_SIZE);
    sha256_to_hex(key->bytes, out + PREFIX_SIZE);
    return out;
}

bool public_key_verify(const public_key *key, const void *data, size_t size, const uint8_t signature[SIGNATURE_BYTES]) {
    EVP_PKEY *one = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key->bytes, sizeof key->bytes);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool is_right = one != NULL && context != NULL && EVP_DigestVerifyInit(context, NULL, NULL, NULL, one) == 1 &&
                          EVP_DigestVerify(context, signature, SIGNATURE_BYTES, data, size) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(one);
    return is_right;
}
