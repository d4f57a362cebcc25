/* cf_blobs.c — a list of blobs, and the ways in which a store can disappoint. */
#include "core/cf_blobs.h"

#include <stdlib.h>
#include <string.h>

#include "core/cf_host.h"

#define RANDOM_BYTES 777u

struct cf_blob {
    cf_blob *next;
    uint64_t bytes;
    unsigned char *data;
    char key[];
};

static cf_blob *find_blob(const cf_blobs *blobs, const char *key) {
    cf_blob *blob = blobs->first;
    while (blob != NULL && strcmp(blob->key, key) != 0) {
        blob = blob->next;
    }
    return blob;
}

/* Bytes that nobody put there. */
static uint64_t give_noise(void *data, uint64_t room) {
    const uint64_t n = room < RANDOM_BYTES ? room : RANDOM_BYTES;
    uint32_t state = 12345;
    for (uint64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        ((unsigned char *)data)[i] = (unsigned char)(state >> 24);
    }
    return RANDOM_BYTES;
}

uint64_t cf_blobs_get(const cf_blobs *blobs, const char *key, void *data, uint64_t room) {
    const cf_blob *blob = blobs->mode == CF_BLOBS_NONE ? NULL : find_blob(blobs, key);
    if (blobs->mode == CF_BLOBS_RANDOM) {
        return give_noise(data, room);
    }
    if (blob == NULL) {
        return 0;
    }
    const uint64_t bytes = blobs->mode == CF_BLOBS_SHORT ? blob->bytes / 2 : blob->bytes;
    const uint64_t n = room < bytes ? room : bytes;
    if (n > 0) {
        memcpy(data, blob->data, n);
    }
    for (uint64_t i = 0; blobs->mode == CF_BLOBS_GARBLED && i < n; i += 5) {
        ((unsigned char *)data)[i] ^= 0x55;
    }
    return bytes;
}

qn_status cf_blobs_put(cf_blobs *blobs, const char *key, const void *data, uint64_t bytes) {
    cf_blob *blob = find_blob(blobs, key);
    const size_t key_bytes = strlen(key) + 1;
    if (blobs->mode == CF_BLOBS_FULL) {
        return QN_NO_HOST_MEM;
    }
    unsigned char *copy = malloc(bytes + 1);
    if (blob == NULL && copy != NULL && (blob = calloc(1, sizeof *blob + key_bytes)) != NULL) {
        memcpy(blob->key, key, key_bytes);
        blob->next = blobs->first;
        blobs->first = blob;
        blobs->n++;
    }
    if (blob == NULL || copy == NULL) {
        free(copy);
        return QN_NO_HOST_MEM;
    }
    if (bytes > 0) {
        memcpy(copy, data, bytes);
    }
    free(blob->data);
    blob->data = copy;
    blob->bytes = bytes;
    return QN_OK;
}

void cf_blobs_free(cf_blobs *blobs) {
    while (blobs->first != NULL) {
        cf_blob *blob = blobs->first;
        blobs->first = blob->next;
        free(blob->data);
        free(blob);
    }
    blobs->n = 0;
}
