/* mac_key.h — secrets for HMAC-SHA256, in files of their own: `mac-sha256:` and 64 hexadecimal digits, for their owner alone.
 *
 * Threading: reentrant.
 * Memory:    values; mac_key_forget overwrites one.
 * Errors:    as signing_key.h.
 */
#ifndef HOST_KEYS_MAC_KEY_H
#define HOST_KEYS_MAC_KEY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define MAC_BYTES 32u

typedef struct mac_key {
    uint8_t bytes[MAC_BYTES];
    uint8_t id[MAC_BYTES]; /* HMAC of "quoin mac key id": tells keys apart and nothing about them */
} mac_key;

/* Makes a random key and its file, which must not be there. */
qn_status mac_key_create(const char *path, mac_key *out_key, error_context *err);
qn_status mac_key_open(const char *path, mac_key *out_key, error_context *err);
void mac_key_forget(mac_key *key);

/* HMAC-SHA256 of these bytes; false when libcrypto refuses. */
bool mac_key_compute(const mac_key *key, const void *data, size_t size, uint8_t out[MAC_BYTES]);
/* True when `mac` is that of these bytes; takes the same time whatever differs. */
bool mac_key_verify(const mac_key *key, const void *data, size_t size, const uint8_t mac[MAC_BYTES]);

#endif
