/* set_members.c — the manifest of a root, and the names STEM.segment-NNNNN.q42 and STEM.lex-NNNNN.q42 in it. */
#include "graph/set_members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <quoin/q42.h>

#include "base/atomic_file.h"
#include "base/mapped_file.h"

enum { MOST_DIGITS = 9 };

int set_stem_size(const char *root) {
    const size_t size = strlen(root);
    const bool has_suffix = size > 4 && strcmp(root + size - 4, ".q42") == 0;
    return (int)(has_suffix ? size - 4 : size);
}

static bool skip(fmt_str *text, const char *word, uint64_t size) {
    if (text->size < size || memcmp(text->data, word, size) != 0) {
        return false;
    }
    text->data += size;
    text->size -= size;
    return true;
}

/* Is it STEM.segment-NNNNN.q42 or STEM.lex-NNNNN.q42? */
static bool read_number(fmt_str name, const char *stem, uint64_t stem_size, uint32_t *out_number) {
    uint64_t digits = 0;
    uint32_t number = 0;
    if (!skip(&name, stem, stem_size) || (!skip(&name, ".segment-", 9) && !skip(&name, ".lex-", 5))) {
        return false;
    }
    for (; digits < name.size && digits < MOST_DIGITS && name.data[digits] >= '0' && name.data[digits] <= '9'; digits++) {
        number = number * 10 + (uint32_t)(name.data[digits] - '0');
    }
    *out_number = number;
    return digits >= 5 && name.size - digits == 4 && memcmp(name.data + digits, ".q42", 4) == 0;
}

bool set_member_number(const char *root, fmt_str name, uint32_t *out_number) {
    const char *slash = strrchr(root, '/');
    const int folder_size = slash != NULL ? (int)(slash - root) + 1 : 0;
    return read_number(name, root + folder_size, (uint64_t)(set_stem_size(root) - folder_size), out_number);
}

static bool add_path(set_members *members, const char *root, int folder_size, fmt_str name) {
    if (members->n == members->room) {
        const uint32_t room = members->room == 0 ? 16 : 2 * members->room;
        char **paths = realloc(members->paths, room * sizeof *paths);
        if (paths == NULL) {
            return false;
        }
        members->paths = paths;
        members->room = room;
    }
    const size_t size = (size_t)folder_size + name.size + 1;
    char *path = malloc(size);
    if (path == NULL) {
        return false;
    }
    snprintf(path, size, "%.*s%.*s", folder_size, root, (int)name.size, name.data);
    members->paths[members->n++] = path;
    return true;
}

static bool add_members(set_members *members, const char *root, const q42_manifest *manifest) {
    const char *slash = strrchr(root, '/');
    const int folder_size = slash != NULL ? (int)(slash - root) + 1 : 0;
    q42_manifest_walk walk = {0};
    q42_segment record;
    uint32_t number;
    while (q42_manifest_next(manifest, &walk, &record)) {
        if (set_member_number(root, record.locator, &number)) {
            members->next_number = number >= members->next_number ? number + 1 : members->next_number;
            if (!add_path(members, root, folder_size, record.locator)) {
                return false;
            }
        }
    }
    return true;
}

bool set_members_is_volume(const char *root) {
    error_context ignored = {0};
    mapped_file file;
    q42_volume volume;
    fmt_diag diag;
    if (mapped_file_open(root, &file, &ignored) != QN_OK) {
        return false;
    }
    const bool is_volume = q42_open(file.span, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag) == FMT_OK;
    mapped_file_close(&file);
    return is_volume;
}

bool set_members_read(const char *root, set_members *out_members) {
    error_context ignored = {0};
    mapped_file file;
    q42_volume volume;
    fmt_diag diag;
    bool is_read = true;
    *out_members = (set_members){0};
    if (mapped_file_open(root, &file, &ignored) != QN_OK) {
        return true;
    }
    if (q42_open(file.span, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag) == FMT_OK &&
        (volume.header.flags & Q42_FLAG_VOLUME_ROOT) != 0) {
        is_read = add_members(out_members, root, &volume.manifest);
    }
    mapped_file_close(&file);
    return is_read;
}

static bool is_taken(const char *root, const char *kind, uint32_t number) {
    char path[ATOMIC_PATH_SIZE + 40];
    struct stat facts;
    snprintf(path, sizeof path, "%.*s.%s-%05u.q42", set_stem_size(root), root, kind, number);
    return lstat(path, &facts) == 0;
}

void set_members_step_over(const char *root, set_members *members) {
    while (is_taken(root, "lex", members->next_number) || is_taken(root, "segment", members->next_number)) {
        members->next_number++;
    }
}

void set_members_remove(const set_members *members) {
    for (uint32_t i = 0; i < members->n; i++) {
        unlink(members->paths[i]);
    }
}

void set_members_free(set_members *members) {
    for (uint32_t i = 0; i < members->n; i++) {
        free(members->paths[i]);
    }
    free(members->paths);
    *members = (set_members){0};
}
