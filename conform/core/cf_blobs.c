/* cf_blobs.c — a list of blobs, and the ways in which a store can disappoint. */
#include "core/cf_blobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/cf_blob_files.h"
#include "core/cf_host.h"

#define RANDOM_BYTES 777u

typedef struct cf_blob cf_blob;
struct cf_blob {
    cf_blob *next;
    uint64_t bytes;
    unsigned char *data;
    char key[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cf_blob *first_blob;
static uint64_t n_blobs;

static cf_blob *find_blob(const char *key) {
    cf_blob *blob = first_blob;
    while (blob != NULL && strcmp(blob->key, key) != 0) {
        blob = blob->next;
    }
    return blob;
}

/* The blob with this key, made when there is none; null without memory. */
static cf_blob *take_blob(const char *key) {
    const size_t key_bytes = strlen(key) + 1;
    cf_blob *blob = find_blob(key);
    if (blob == NULL && (blob = calloc(1, sizeof *blob + key_bytes)) != NULL) {
        memcpy(blob->key, key, key_bytes);
        blob->next = first_blob;
        first_blob = blob;
        n_blobs++;
    }
    return blob;
}

/* The same, taking over `data`. */
static cf_blob *keep_blob(const char *key, unsigned char *data, uint64_t bytes) {
    cf_blob *blob = take_blob(key);
    if (blob == NULL) {
        free(data);
        return NULL;
    }
    free(blob->data);
    blob->data = data;
    blob->bytes = bytes;
    return blob;
}

/* What this process knows, or another left. */
static const cf_blob *look_for_blob(const char *key) {
    const cf_blob *blob = find_blob(key);
    uint64_t bytes = 0;
    unsigned char *data = blob == NULL ? cf_blob_file_read(key, &bytes) : NULL;
    return data != NULL ? keep_blob(key, data, bytes) : blob;
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

static uint64_t give_blob(uint32_t mode, const cf_blob *blob, void *data, uint64_t room) {
    const uint64_t bytes = mode == CF_BLOBS_SHORT ? blob->bytes / 2 : blob->bytes;
    const uint64_t n = room < bytes ? room : bytes;
    if (n > 0) {
        memcpy(data, blob->data, n);
    }
    for (uint64_t i = 0; mode == CF_BLOBS_GARBLED && i < n; i += 5) {
        ((unsigned char *)data)[i] ^= 0x55;
    }
    return bytes;
}

uint64_t cf_blobs_get(uint32_t mode, const char *key, void *data, uint64_t room) {
    if (mode == CF_BLOBS_RANDOM) {
        return give_noise(data, room);
    }
    pthread_mutex_lock(&lock);
    const cf_blob *blob = mode == CF_BLOBS_NONE ? NULL : look_for_blob(key);
    const uint64_t bytes = blob == NULL ? 0 : give_blob(mode, blob, data, room);
    pthread_mutex_unlock(&lock);
    return bytes;
}

qn_status cf_blobs_put(uint32_t mode, const char *key, const void *data, uint64_t bytes) {
    unsigned char *copy = mode == CF_BLOBS_FULL ? NULL : malloc(bytes + 1);
    if (copy == NULL) {
        return QN_NO_HOST_MEM;
    }
    if (bytes > 0) {
        memcpy(copy, data, bytes);
    }
    pthread_mutex_lock(&lock);
    const bool is_kept = keep_blob(key, copy, bytes) != NULL;
    cf_blob_file_write(key, data, bytes);
    pthread_mutex_unlock(&lock);
    return is_kept ? QN_OK : QN_NO_HOST_MEM;
}

uint64_t cf_blobs_count(void) {
    pthread_mutex_lock(&lock);
    const uint64_t n = n_blobs;
    pthread_mutex_unlock(&lock);
    return n;
}
