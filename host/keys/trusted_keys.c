/* trusted_keys.c — the list of keys and names. */
#include "keys/trusted_keys.h"

#include <stdlib.h>
#include <string.h>

#include <quoin/q42.h>

typedef struct reading {
    trusted_keys keys;
    const char *path;
} reading;

static bool has_blank(const char *text, size_t size) {
    return memchr(text, ' ', size) != NULL || memchr(text, '\t', size) != NULL;
}

static qn_status take_key(void *ctx, const public_key *key, const char *rest, size_t rest_size, uint32_t line, error_context *err) {
    reading *r = ctx;
    if (rest_size == 0 || has_blank(rest, rest_size)) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %u: behind the key stands one name without blanks", r->path, line);
    }
    if (trusted_keys_find(&r->keys, key->id) != NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %u: this key stands there already, as %s; a key has one name", r->path, line,
                    trusted_keys_find(&r->keys, key->id)->name);
    }
    trusted_key *grown = realloc(r->keys.items, (r->keys.n_items + 1) * sizeof *grown);
    char *name = strndup(rest, rest_size);
    r->keys.items = grown != NULL ? grown : r->keys.items;
    if (grown == NULL || name == NULL) {
        free(name);
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    r->keys.items[r->keys.n_items++] = (trusted_key){*key, name, q42_hash(rest, rest_size)};
    return QN_OK;
}

static qn_status finish_reading(reading *r, qn_status status, trusted_keys *out_keys) {
    if (status < 0) {
        trusted_keys_free(&r->keys);
        return status;
    }
    *out_keys = r->keys;
    return QN_OK;
}

qn_status trusted_keys_read(const char *path, trusted_keys *out_keys, error_context *err) {
    reading r = {.path = path};
    return finish_reading(&r, key_lines_read(path, take_key, &r, err), out_keys);
}

qn_status trusted_keys_parse(fmt_span text, const char *path, trusted_keys *out_keys, error_context *err) {
    reading r = {.path = path};
    return finish_reading(&r, key_lines_parse(text, path, take_key, &r, err), out_keys);
}

void trusted_keys_free(trusted_keys *keys) {
    for (size_t i = 0; i < keys->n_items; i++) {
        free(keys->items[i].name);
    }
    free(keys->items);
    revocations_free(&keys->revoked);
    memset(keys, 0, sizeof *keys);
}

const trusted_key *trusted_keys_find(const trusted_keys *keys, const uint8_t id[KEY_ID_BYTES]) {
    for (size_t i = 0; i < keys->n_items; i++) {
        if (memcmp(keys->items[i].key.id, id, KEY_ID_BYTES) == 0) {
            return &keys->items[i];
        }
    }
    return NULL;
}
