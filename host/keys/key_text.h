/* key_text.h — a public key of Ed25519, its id, and its text `ed25519:HEX`.
 *
 * Threading: pure.
 * Errors:    QN_BAD_INPUT, with what stands there; out parameters are untouched.
 */
#ifndef HOST_KEYS_KEY_TEXT_H
#define HOST_KEYS_KEY_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PUBLIC_KEY_BYTES 32u
#define KEY_ID_BYTES 32u
#define SIGNATURE_BYTES 64u
#define KEY_TEXT_SIZE 73u /* "ed25519:", 64 digits, end */
#define KEY_HEX_SIZE 65u

typedef struct public_key {
    uint8_t bytes[PUBLIC_KEY_BYTES];
    uint8_t id[KEY_ID_BYTES]; /* SHA-256 of the bytes */
} public_key;

/* Computes the id. QN_INTERNAL when libcrypto refuses. */
qn_status public_key_make(const uint8_t bytes[PUBLIC_KEY_BYTES], public_key *out_key, error_context *err);

/* Text of `size` characters; upper-case digits are right too. */
qn_status public_key_parse(const char *text, size_t size, public_key *out_key, error_context *err);
const char *public_key_text(const public_key *key, char out[KEY_TEXT_SIZE]); /* returns out */

/* True when `signature` is this key's of these bytes. */
bool public_key_verify(const public_key *key, const void *data, size_t size, const uint8_t signature[SIGNATURE_BYTES]);

/* 2 * size hexadecimal digits; false for anything else. */
bool key_parse_hex(const char *text, size_t size, uint8_t *out);

#endif
