/* sha.c — SHA-256 through libcrypto's EVP interface. */
#include "sha.h"

#include <openssl/evp.h>
#include <string.h>

bool sha256_begin(sha256_stream *stream) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    stream->context = context;
    stream->is_failed = context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1;
    if (stream->is_failed) {
        sha256_abandon(stream);
    }
    return !stream->is_failed;
}

void sha256_add(sha256_stream *stream, const void *data, uint64_t size) {
    if (!stream->is_failed && size != 0 && EVP_DigestUpdate(stream->context, data, (size_t)size) != 1) {
        stream->is_failed = true;
    }
}

bool sha256_end(sha256_stream *stream, uint8_t out[SHA256_BYTES]) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    const bool is_done = !stream->is_failed && stream->context != NULL &&
                         EVP_DigestFinal_ex(stream->context, digest, &size) == 1 && size == SHA256_BYTES;
    sha256_abandon(stream);
    if (is_done) {
        memcpy(out, digest, SHA256_BYTES);
    }
    return is_done;
}

void sha256_abandon(sha256_stream *stream) {
    EVP_MD_CTX_free(stream->context);
    stream->context = NULL;
}

bool sha256_digest(const void *data, uint64_t size, uint8_t out[SHA256_BYTES]) {
    sha256_stream stream;
    if (!sha256_begin(&stream)) {
        return false;
    }
    sha256_add(&stream, data, size);
    return sha256_end(&stream, out);
}

void sha256_to_hex(const uint8_t digest[SHA256_BYTES], char out[SHA256_HEX_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * SHA256_BYTES] = '\0';
}
