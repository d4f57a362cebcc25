/* test_blobs.c — a list of blobs. */
#include "test_blobs.h"

#include <stdlib.h>
#include <string.h>

typedef struct blob {
    struct blob *next;
    uint64_t bytes;
    char *key;
    char data[];
} blob;

static blob *blobs;
static bool are_kept;

void test_blobs_begin(void) {
    are_kept = true;
}

bool test_blobs_are_kept(void) {
    return are_kept;
}

static void free_blob(blob *b) {
    free(b->key);
    free(b);
}

void test_blobs_end(void) {
    while (blobs != NULL) {
        blob *next = blobs->next;
        free_blob(blobs);
        blobs = next;
    }
    are_kept = false;
}

/* Where the blob of this key is linked, or the list's end. */
static blob **find_link(const char *key) {
    blob **at = &blobs;
    while (*at != NULL && strcmp((*at)->key, key) != 0) {
        at = &(*at)->next;
    }
    return at;
}

uint64_t QN_CALL test_blobs_get(void *ctx, const char *key, void *data, uint64_t room) {
    const blob *found = *find_link(key);
    (void)ctx;
    if (found != NULL && room > 0) {
        memcpy(data, found->data, room < found->bytes ? room : found->bytes);
    }
    return found != NULL ? found->bytes : 0;
}

qn_status QN_CALL test_blobs_put(void *ctx, const char *key, const void *data, uint64_t bytes) {
    blob **at = find_link(key), *made = malloc(sizeof *made + bytes);
    char *copy = strdup(key);
    (void)ctx;
    if (made == NULL || copy == NULL) {
        free(made);
        free(copy);
        return QN_NO_HOST_MEM;
    }
    made->next = *at != NULL ? (*at)->next : NULL;
    made->bytes = bytes;
    made->key = copy;
    memcpy(made->data, data, bytes);
    if (*at != NULL) {
        free_blob(*at);
    }
    *at = made;
    return QN_OK;
}
