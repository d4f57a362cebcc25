/* config.h — reading one INI file: sections, keys, values, with line numbers for messages.
 *
 * Threading: one thread at a time.
 * Memory:    values are owned by the config until config_free.
 */
#ifndef HOST_CONFIG_H
#define HOST_CONFIG_H
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"

typedef struct config_entry {
    char *section, *key, *value;
    uint32_t line;
} config_entry;

typedef struct config {
    char *path;            /* null when no file was read */
    config_entry *entries; /* in file order */
    uint32_t n_entries;
} config;

/* Reads `path`. QN_NOT_FOUND when there is none; QN_BAD_INPUT with path and line when it is no INI file. */
qn_status config_read(const char *path, config *out, error_context *err);

/* The text of such a file, which `path` names in messages. */
qn_status config_parse(fmt_str text, const char *path, config *out, error_context *err);

/* Reads `path` when given (it must exist), otherwise the first that exists of $XDG_CONFIG_HOME/quoin/quoin.conf (or
 * ~/.config/…) and /etc/quoin/quoin.conf; none is fine. */
qn_status config_find(const char *path, config *out, error_context *err);
void config_free(config *c);

#endif
