/* config.c — INI through inih, which hands over section, key and value line by line. */
#include "base/config.h"

#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096

static void free_entry(config_entry *entry) {
    free(entry->section);
    free(entry->key);
    free(entry->value);
}

/* inih wants non-zero for success. */
static int add_entry(void *user, const char *section, const char *key, const char *value, int line) {
    config *c = user;
    config_entry *grown = realloc(c->entries, (c->n_entries + 1) * sizeof *grown);
    if (grown == NULL) {
        return 0;
    }
    c->entries = grown;
    config_entry entry = {strdup(section), strdup(key), strdup(value), (uint32_t)line};
    if (entry.section == NULL || entry.key == NULL || entry.value == NULL) {
        free_entry(&entry);
        return 0;
    }
    c->entries[c->n_entries++] = entry;
    return 1;
}

#if INI_HANDLER_LINENO
#define CONFIG_HANDLER add_entry
#else
static int add_entry_without_line(void *user, const char *section, const char *key, const char *value) {
    return add_entry(user, section, key, value, 0);
}
#define CONFIG_HANDLER add_entry_without_line
#endif

qn_status config_read(const char *path, config *out, error_context *err) {
    memset(out, 0, sizeof *out);
    out->path = strdup(path);
    const int result = out->path == NULL ? -2 : ini_parse(path, CONFIG_HANDLER, out);
    if (result == 0) {
        return QN_OK;
    }
    config_free(out);
    if (result == -1) {
        return FAIL(err, QN_NOT_FOUND, "%s: cannot be opened", path);
    }
    return result < 0 ? FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", path)
                      : FAIL(err, QN_BAD_INPUT, "%s: line %d: is neither [section] nor key = value", path, result);
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
    if (folder != NULL && folder[0] == '/') {
        snprintf(candidate, sizeof candidate, "%s/quoin/quoin.conf", folder);
    } else {
        snprintf(candidate, sizeof candidate, "%s/.config/quoin/quoin.conf", home != NULL ? home : "");
    }
    const qn_status status = read_if_there(candidate, out, err);
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
