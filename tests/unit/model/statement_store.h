/* statement_store.h — what a companion says, kept in memory as items and texts, for tests that need no volume.
 *
 *     statement_store store = {0};
 *     companion_say_key(kv, 0, false, statement_put, &store, &diag);
 *     companion_image_build(store.items, store.n_items, &texts, container, &image, &diag);
 */
#ifndef TEST_STATEMENT_STORE_H
#define TEST_STATEMENT_STORE_H
#include <stddef.h>
#include <stdint.h>

#include "model/companion_image.h"

enum { STORE_ITEMS = 4096, STORE_TEXTS = 2048 };

typedef struct statement_store {
    companion_item items[STORE_ITEMS];
    uint64_t n_items;
    struct {
        uint64_t hash;
        char *text; /* owned */
        uint64_t size;
    } texts[STORE_TEXTS];
    size_t n_texts;
    size_t n_searched;
} statement_store;

/* A companion_put_fn: the statement becomes an item, its texts are kept. */
fmt_status statement_put(void *store, const companion_statement *statement, fmt_diag *diag);

/* Adds a statement in words. `text` is the object when it is not null. */
void statement_add(statement_store *store, const char *predicate, uint64_t metadata, uint64_t object, const char *text);

/* Takes all statements of this predicate away. */
void statement_drop(statement_store *store, const char *predicate);

/* The object of the only statement with this predicate and metadata; fails the test when there is none. */
uint64_t statement_object(const statement_store *store, const char *predicate, uint64_t metadata);
uint64_t statement_count(const statement_store *store, const char *predicate);

/* The store as texts of an image. */
companion_texts statement_texts(statement_store *store);

void statement_free(statement_store *store);

#endif
