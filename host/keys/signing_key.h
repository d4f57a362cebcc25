/* signing_key.h — private keys of Ed25519 in files: PEM PKCS#8, sealed by a passphrase or not, for their owner alone.
 *
 * There is no built-in key and no default file.
 *
 * Threading: reentrant; an opened key may sign on several threads.
 * Memory:    an opened key is owned by the caller until signing_key_close, which overwrites it.
 * Errors:    QN_DENIED for a file that others can read, QN_BAD_FILE for one that holds no such key, QN_BAD_INPUT for a wrong or missing
 *            passphrase.
 *
 *     public_key who;
 *     QN_TRY(signing_key_create("agent.key", NULL, &who, err), err, "making a key");
 *     QN_TRY(signing_key_open("agent.key", NULL, &key, err), err, "signing");
 *     QN_TRY(signing_key_sign(key, digest, 32, signature, err), err, "signing");
 *     signing_key_close(key);
 */
#ifndef HOST_KEYS_SIGNING_KEY_H
#define HOST_KEYS_SIGNING_KEY_H
#include "keys/key_text.h"

typedef struct signing_key signing_key;

/* Makes a new key and its file, which must not be there. `passphrase` may be null; with one the file is sealed (scrypt, AES-256). */
qn_status signing_key_create(const char *path, const char *passphrase, public_key *out_public, error_context *err);

/* `passphrase` may be null. */
qn_status signing_key_open(const char *path, const char *passphrase, signing_key **out_key, error_context *err);
void signing_key_close(signing_key *key); /* null is legal */

const public_key *signing_key_public(const signing_key *key);
qn_status signing_key_sign(const signing_key *key, const void *data, size_t size, uint8_t out_signature[SIGNATURE_BYTES],
                           error_context *err);

#endif
