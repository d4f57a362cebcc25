/* model_identity.h — which file a model is.
 *
 * Threading: pure. Memory: values.
 */
#ifndef HOST_MODEL_IDENTITY_H
#define HOST_MODEL_IDENTITY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/mapped_file.h"

#define MODEL_DIGEST_BYTES 32u

typedef struct model_identity {
    uint64_t device, inode, size;
    int64_t modified_ns;
    bool has_digest;
    uint8_t digest[MODEL_DIGEST_BYTES]; /* SHA-256 of the file, when somebody knows it */
} model_identity;

/* Of a file that is mapped: what it was when it was opened. digest: [MODEL_DIGEST_BYTES], or null. */
model_identity model_identity_of(const mapped_file *file, const uint8_t *digest);

/* The same file, unchanged. Digests are compared when both are known; names never. */
bool model_identity_equal(const model_identity *a, const model_identity *b);

#endif
