/* config.c — INI through inih, which hands over section, key and value line by line. */
#include "base/config.h"

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define MAX_BYTES (4u << 20) /* a device has no end */

static void free_entry(config_entry *entry) {
    free(entry->section);
    free(entry->key);
    free(entry->value);
}

/* Where the reader stands. inih tells handlers the line only when it was built so; counting here works with any. */
typedef struct reading {
    config *into;
    FILE *stream;
    uint32_t line;
    bool is_within_line; /* the last piece did not end its line */
    size_t bytes;        /* of all pieces, each with its final zero: pieces of zeros alone count too */
} reading;

/* As fgets, counting lines; the end comes at MAX_BYTES at the latest. */
static char *read_piece(char *piece, int room, void *user) {
    reading *r = user;
    char *read = r->bytes < MAX_BYTES ? fgets(piece, room, r->stream) : NULL;
    if (read != NULL) {
        r->bytes += strlen(piece) + 1;
        r->line += r->is_within_line ? 0 : 1;
        r->is_within_line = strchr(piece, '\n') == NULL;
    }
    return read;
}

/* inih wants non-zero for success. */
static int add_entry(reading *r, const char *section, const char *key, const char *value) {
    config *c = r->into;
    config_entry *grown = realloc(c->entries, (c->n_entries + 1) * sizeof *grown);
    if (grown == NULL) {
        return 0;
    }
    c->entries = grown;
    config_entry entry = {strdup(section), strdup(key), strdup(value), r->line};
    if (entry.section == NULL || entry.key == NULL || entry.value == NULL) {
        free_entry(&entry);
        return 0;
    }
    c->entries[c->n_entries++] = entry;
    return 1;
}

#if INI_HANDLER_LINENO
static int handle_entry(void *user, const char *section, const char *key, const char *value, int line) {
    (void)line;
    return add_entry(user, section, key, value);
}
#else
static int handle_entry(void *user, const char *section, const char *key, const char *value) {
    return add_entry(user, section, key, value);
}
#endif

/* Takes the stream over. */
static qn_status read_stream(FILE *stream, const char *path, config *out, error_context *err) {
    reading r = {.into = out, .stream = stream};
    out->path = strdup(path);
    const int result = out->path == NULL ? -2 : ini_parse_stream(read_piece, &r, handle_entry, &r);
    const bool is_readable = !ferror(r.stream);
    const int number = errno;
    fclose(r.stream);
    if (result == 0 && is_readable && r.bytes < MAX_BYTES) {
        return QN_OK;
    }
    config_free(out);
    if (r.bytes >= MAX_BYTES) {
        return FAIL(err, QN_LIMIT, "%s: longer than %u MiB; no configuration is", path, MAX_BYTES >> 20);
    }
    if (!is_readable) {
        return error_from_errno(err, number, path, "cannot read the configuration");
    }
    return result < 0 ? FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", path)
                      : FAIL(err, QN_BAD_INPUT, "%s: line %d: is neither [section] nor key = value", path, result);
}

qn_status config_read(const char *path, config *out, error_context *err) {
    FILE *stream = fopen(path, "re");
    memset(out, 0, sizeof *out);
    return stream != NULL ? read_stream(stream, path, out, err) : error_from_errno(err, errno, path, "cannot open the configuration");
}

qn_status config_parse(fmt_str text, const char *path, config *out, error_context *err) {
    static const char nothing[] = "\n";
    FILE *stream = fmemopen((void *)(uintptr_t)(text.size > 0 ? text.data : nothing), text.size > 0 ? text.size : 1, "r");
    memset(out, 0, sizeof *out);
    return stream != NULL ? read_stream(stream, path, out, err) : FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", path);
}

static qn_status read_if_there(const char *path, config *out, error_context *err) {
    return access(path, F_OK) == 0 ? config_read(path, out, err) : QN_OK;
}

qn_status config_find(const char *path, config *out, error_context *err) {
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char candidate[PATH_SIZE];
    memset(out, 0, sizeof *out);
    if (path != NULL) {
        return config_read(path, out, err);
    }
    const bool has_folder = folder != NULL && folder[0] == '/', has_home = home != NULL && home[0] == '/';
    qn_status status = QN_OK;
    if (has_folder || has_home) {
        snprintf(candidate, sizeof candidate, "%s%s/quoin/quoin.conf", has_folder ? folder : home,
                 has_folder ? "" : "/.config");
        status = read_if_there(candidate, out, err);
    }
    return status < 0 || out->path != NULL ? status : read_if_there("/etc/quoin/quoin.conf", out, err);
}

void config_free(config *c) {
    for (uint32_t i = 0; i < c->n_entries; i++) {
        free_entry(&c->entries[i]);
    }
    free(c->entries);
    free(c->path);
    memset(c, 0, sizeof *c);
}
