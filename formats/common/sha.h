/* sha.h — SHA-256, and SHA-1 where a foreign format asks for it, through libcrypto, whole or in pieces.
 *
 * Threading: one thread at a time per stream.
 * Memory:    libcrypto allocates a stream's state; sha256_end or sha256_abandon gives it back.
 * Errors:    false only when libcrypto refuses (out of memory, or a provider that forbids the algorithm).
 *
 *     sha256_stream stream;
 *     uint8_t digest[SHA256_BYTES];
 *     if (!sha256_begin(&stream)) { ... }
 *     sha256_add(&stream, data, size);
 *     if (!sha256_end(&stream, digest)) { ... }
 */
#ifndef FMT_SHA_H
#define FMT_SHA_H
#include <stdbool.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_HEX_SIZE 65

typedef struct sha256_stream {
    void *context;  /* libcrypto's; null outside begin..end */
    bool is_failed; /* sticky: sha256_end then answers false */
} sha256_stream;

/* Digest of `size` bytes; `data` may be null when size is 0. `out` is untouched on error. */
bool sha256_digest(const void *data, uint64_t size, uint8_t out[SHA256_BYTES]);

/* On false nothing is left to free. */
bool sha256_begin(sha256_stream *stream);

void sha256_add(sha256_stream *stream, const void *data, uint64_t size);

/* Ends the stream, whatever it returns. `out` is untouched on error. */
bool sha256_end(sha256_stream *stream, uint8_t out[SHA256_BYTES]);

/* Ends the stream without a result; harmless on one that has ended. */
void sha256_abandon(sha256_stream *stream);

/* SHA-1: for torrents only, never for trust. The same four steps. */
#define SHA1_BYTES 20
typedef sha256_stream sha1_stream;
bool sha1_digest(const void *data, uint64_t size, uint8_t out[SHA1_BYTES]);
bool sha1_begin(sha1_stream *stream);
void sha1_add(sha1_stream *stream, const void *data, uint64_t size);
bool sha1_end(sha1_stream *stream, uint8_t out[SHA1_BYTES]);
void sha1_abandon(sha1_stream *stream);

/* Lower-case hexadecimal, terminated. */
void sha256_to_hex(const uint8_t digest[SHA256_BYTES], char out[SHA256_HEX_SIZE]);

#endif
