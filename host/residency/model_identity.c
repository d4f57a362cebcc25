/* model_identity.c — comparing. */
#include "residency/model_identity.h"

#include <string.h>

model_identity model_identity_of(const mapped_file *file, const uint8_t *digest) {
    model_identity identity = {.device = file->device, .inode = file->inode, .size = file->span.size, .modified_ns = file->modified_ns};
    if (digest != NULL) {
        identity.has_digest = true;
        memcpy(identity.digest, digest, sizeof identity.digest);
    }
    return identity;
}

bool model_identity_equal(const model_identity *a, const model_identity *b) {
    const bool is_one_file =
        a->device == b->device && a->inode == b->inode && a->size == b->size && a->modified_ns == b->modified_ns;
    return is_one_file && (!a->has_digest || !b->has_digest || memcmp(a->digest, b->digest, sizeof a->digest) == 0);
}
