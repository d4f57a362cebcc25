/* sha.c — SHA-256 and SHA-1 through libcrypto's EVP interface. */
#include "sha.h"

#include <openssl/evp.h>
#include <string.h>

static bool begin_with(sha256_stream *stream, const EVP_MD *kind) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    stream->context = context;
    stream->is_failed = context == NULL || EVP_DigestInit_ex(context, kind, NULL) != 1;
    if (stream->is_failed) {
        sha256_abandon(stream);
    }
    return !stream->is_failed;
}

bool sha256_begin(sha256_stream *stream) {
    return begin_with(stream, EVP_sha256());
}

void sha256_add(sha256_stream *stream, const void *data, uint64_t size) {
    if (!stream->is_failed && size != 0 && EVP_DigestUpdate(stream->context, data, (size_t)size) != 1) {
        stream->is_failed = true;
    }
}

static bool end_with(sha256_stream *stream, uint8_t *out, unsigned wanted) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    const bool is_done = !stream->is_failed && stream->context != NULL &&
                         EVP_DigestFinal_ex(stream->context, digest, &size) == 1 && size == wanted;
    sha256_abandon(stream);
    if (is_done) {
        memcpy(out, digest, wanted);
    }
    return is_done;
}

bool sha256_end(sha256_stream *stream, uint8_t out[SHA256_BYTES]) {
    return end_with(stream, out, SHA256_BYTES);
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

bool sha1_begin(sha1_stream *stream) {
    return begin_with(stream, EVP_sha1());
}

void sha1_add(sha1_stream *stream, const void *data, uint64_t size) {
    sha256_add(stream, data, size);
}

bool sha1_end(sha1_stream *stream, uint8_t out[SHA1_BYTES]) {
    return end_with(stream, out, SHA1_BYTES);
}

void sha1_abandon(sha1_stream *stream) {
    sha256_abandon(stream);
}

bool sha1_digest(const void *data, uint64_t size, uint8_t out[SHA1_BYTES]) {
    sha1_stream stream;
    if (!sha1_begin(&stream)) {
        return false;
    }
    sha1_add(&stream, data, size);
    return sha1_end(&stream, out);
}

void sha256_to_hex(const uint8_t digest[SHA256_BYTES], char out[SHA256_HEX_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * SHA256_BYTES] = '\0';
}
