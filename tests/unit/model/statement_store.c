/* statement_store.c — statements in arrays. */
#include "statement_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t keep_text(statement_store *store, const char *text, uint64_t size) {
    const uint64_t hash = q42_hash(text, size);
    for (size_t i = 0; i < store->n_texts; i++) {
        if (store->texts[i].hash == hash) {
            return hash;
        }
    }
    assert_true(store->n_texts < STORE_TEXTS);
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    store->texts[store->n_texts].hash = hash;
    store->texts[store->n_texts].text = copy;
    store->texts[store->n_texts].size = size;
    store->n_texts++;
    return hash;
}

static void add_item(statement_store *store, uint64_t predicate, uint64_t metadata, uint64_t object) {
    assert_true(store->n_items < STORE_ITEMS);
    store->items[store->n_items++] = (companion_item){predicate, metadata, object};
}

fmt_status statement_put(void *ctx, const companion_statement *statement, fmt_diag *diag) {
    statement_store *store = ctx;
    char predicate[Q42_MAX_TERM];
    (void)diag;
    const size_t length = strlen(companion_prefix(statement->family));
    memcpy(predicate, companion_prefix(statement->family), length);
    memcpy(predicate + length, statement->key.data, statement->key.size);
    const uint64_t hash = keep_text(store, predicate, length + statement->key.size);
    add_item(store, hash, statement->metadata,
             statement->is_text ? keep_text(store, statement->text.data, statement->text.size) : statement->object);
    return FMT_OK;
}

void statement_add(statement_store *store, const char *predicate, uint64_t metadata, uint64_t object,
                   const char *text) {
    const uint64_t hash = keep_text(store, predicate, strlen(predicate));
    add_item(store, hash, metadata, text != NULL ? keep_text(store, text, strlen(text)) : object);
}

void statement_drop(statement_store *store, const char *predicate) {
    const uint64_t hash = q42_hash(predicate, strlen(predicate));
    uint64_t kept = 0;
    for (uint64_t i = 0; i < store->n_items; i++) {
        if (store->items[i].predicate != hash) {
            store->items[kept++] = store->items[i];
        }
    }
    store->n_items = kept;
}

uint64_t statement_count(const statement_store *store, const char *predicate) {
    const uint64_t hash = q42_hash(predicate, strlen(predicate));
    uint64_t count = 0;
    for (uint64_t i = 0; i < store->n_items; i++) {
        count += store->items[i].predicate == hash;
    }
    return count;
}

uint64_t statement_object(const statement_store *store, const char *predicate, uint64_t metadata) {
    const uint64_t hash = q42_hash(predicate, strlen(predicate));
    for (uint64_t i = 0; i < store->n_items; i++) {
        if (store->items[i].predicate == hash && store->items[i].metadata == metadata) {
            return store->items[i].object;
        }
    }
    fail_msg("nothing is said about %s at %llu", predicate, (unsigned long long)metadata);
    return 0;
}

static fmt_status find_text(void *ctx, uint64_t hash, fmt_str *out_text, fmt_diag *diag) {
    const statement_store *store = ctx;
    for (size_t i = 0; i < store->n_texts; i++) {
        if (store->texts[i].hash == hash) {
            *out_text = (fmt_str){store->texts[i].text, store->texts[i].size};
            return FMT_OK;
        }
    }
    *diag = (fmt_diag){.rule = "test-text"};
    snprintf(diag->text, sizeof diag->text, "no text has the hash %llx", (unsigned long long)hash);
    return FMT_BAD_FILE;
}

companion_texts statement_texts(statement_store *store) {
    return (companion_texts){store, find_text};
}

void statement_free(statement_store *store) {
    for (size_t i = 0; i < store->n_texts; i++) {
        free(store->texts[i].text);
    }
    free(store);
}
