/* mac_key.c — HMAC-SHA256. */
#include "keys/mac_key.h"

#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "common/sha.h"
#include "keys/key_text.h"
#include "keys/private_file.h"

#define PREFIX "mac-sha256:"
#define PREFIX_SIZE (sizeof PREFIX - 1)
#define ID_TEXT "quoin mac key id"

static bool compute(const uint8_t key[MAC_BYTES], const void *data, size_t size, uint8_t out[MAC_BYTES]) {
    unsigned length = 0;
    return HMAC(EVP_sha256(), key, MAC_BYTES, data, size, out, &length) != NULL && length == MAC_BYTES;
}

static qn_status finish_key(mac_key *key, const char *path, error_context *err) {
    return compute(key->bytes, ID_TEXT, sizeof ID_TEXT - 1, key->id) ? QN_OK
                                                                     : FAIL(err, QN_INTERNAL, "%s: libcrypto refuses HMAC", path);
}

qn_status mac_key_create(const char *path, mac_key *out_key, error_context *err) {
    mac_key key;
    char text[PREFIX_SIZE + KEY_HEX_SIZE + 1], hex[KEY_HEX_SIZE];
    if (RAND_priv_bytes(key.bytes, sizeof key.bytes) != 1) {
        return FAIL(err, QN_INTERNAL, "%s: libcrypto has no random bytes", path);
    }
    sha256_to_hex(key.bytes, hex);
    const int size = snprintf(text, sizeof text, PREFIX "%s\n", hex);
    qn_status status = finish_key(&key, path, err);
    status = status < 0 ? status : private_file_create(path, text, (size_t)size, err);
    if (status >= 0) {
        *out_key = key;
    }
    private_file_forget(text, sizeof text);
    private_file_forget(hex, sizeof hex);
    mac_key_forget(&key);
    return status;
}

qn_status mac_key_open(const char *path, mac_key *out_key, error_context *err) {
    char text[PRIVATE_FILE_SIZE];
    size_t size = 0;
    mac_key key;
    qn_status status = private_file_read(path, text, &size, err);
    if (status >= 0) {
        const size_t wanted = PREFIX_SIZE + 2 * MAC_BYTES;
        const bool is_right = size == wanted + 1 && text[wanted] == '\n' && memcmp(text, PREFIX, PREFIX_SIZE) == 0 &&
                              key_parse_hex(text + PREFIX_SIZE, MAC_BYTES, key.bytes);
        status = is_right ? finish_key(&key, path, err)
                          : FAIL(err, QN_BAD_FILE, "%s: holds no MAC key; one is a line of " PREFIX " and 64 hexadecimal digits", path);
    }
    if (status >= 0) {
        *out_key = key;
    }
    private_file_forget(text, sizeof text);
    mac_key_forget(&key);
    return status;
}

void mac_key_forget(mac_key *key) {
    private_file_forget(key, sizeof *key);
}

bool mac_key_compute(const mac_key *key, const void *data, size_t size, uint8_t out[MAC_BYTES]) {
    return compute(key->bytes, data, size, out);
}

bool mac_key_verify(const mac_key *key, const void *data, size_t size, const uint8_t mac[MAC_BYTES]) {
    uint8_t own[MAC_BYTES];
    return compute(key->bytes, data, size, own) && CRYPTO_memcmp(own, mac, MAC_BYTES) == 0;
}
