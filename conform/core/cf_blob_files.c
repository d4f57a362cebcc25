/* cf_blob_files.c — a folder of blobs, named by a hash of their keys. */
#include "core/cf_blob_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES (UINT64_C(256) << 20)

/* False where no folder is named. */
static bool name_file(const char *key, char *out, size_t room) {
    const char *folder = getenv(CF_BLOB_FOLDER);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = key; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    }
    const int n = folder == NULL ? -1 : snprintf(out, room, "%s/%016llx", folder, (unsigned long long)hash);
    return n > 0 && (size_t)n < room;
}

static unsigned char *read_all(FILE *file, uint64_t *out_bytes) {
    const long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    unsigned char *data = size < 0 || (uint64_t)size > MOST_BYTES ? NULL : malloc((size_t)size + 1);
    rewind(file);
    if (data != NULL && fread(data, 1, (size_t)size, file) != (size_t)size) {
        free(data);
        data = NULL;
    }
    *out_bytes = data == NULL ? 0 : (uint64_t)size;
    return data;
}

unsigned char *cf_blob_file_read(const char *key, uint64_t *out_bytes) {
    char path[4096];
    const size_t head = strlen(key) + 1;
    FILE *file = name_file(key, path, sizeof path) ? fopen(path, "rb") : NULL;
    if (file == NULL) {
        return NULL;
    }
    unsigned char *data = read_all(file, out_bytes);
    fclose(file);
    if (data == NULL || *out_bytes < head || memcmp(data, key, head) != 0) {
        free(data);
        return NULL;
    }
    *out_bytes -= head;
    memmove(data, data + head, (size_t)*out_bytes);
    return data;
}

void cf_blob_file_write(const char *key, const void *data, uint64_t bytes) {
    char path[4096], part[4120];
    const size_t head = strlen(key) + 1;
    if (!name_file(key, path, sizeof path)) {
        return;
    }
    snprintf(part, sizeof part, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(part, "wb");
    if (file == NULL) {
        return;
    }
    bool is_whole = fwrite(key, 1, head, file) == head && (bytes == 0 || fwrite(data, 1, (size_t)bytes, file) == bytes);
    is_whole = fclose(file) == 0 && is_whole;
    if (!is_whole || rename(part, path) != 0) {
        remove(part);
    }
}
