/* companion_image.c — grouping statements by key, and writing the keys in the order of their source. */
#include "model/companion_image.h"

#include <stdlib.h>
#include <string.h>

#include "common/diag.h"

#define GGUF_VERSION 3u
#define ALIGNMENT_OF_INDEX 8u

static const fmt_rule rule_conflict = {"companion-value", "19", "one place of a key has one value"};
static const fmt_rule rule_held = {"companion-held", "19",
                                   "the container must hold the tokens and merges that its companion leaves out"};
static const fmt_rule rule_keys = {"companion-key", "19", "there must be a key for each type"};
static const fmt_rule rule_memory = {"companion-memory", "19", "work memory for the keys is needed"};

/* Statements of one predicate that says something of a key. */
typedef struct group {
    uint64_t text_at; /* of the key's name, in the names */
    uint32_t text_size;
    companion_family family;
    uint64_t first, count; /* among the items */
} group;

typedef struct builder {
    const companion_item *items;
    uint64_t n_items;
    const companion_texts *texts;
    const p64_file *container;
    text_buffer names;
    group *groups;
    uint64_t n_groups;
    companion_value *values; /* [n_items], the items without their predicates */
    companion_key *keys;
    uint64_t n_keys;
    text_buffer out;
    fmt_diag *diag;
} builder;

/* -------------------------------------------------------------------------------------------------------- the items */

static int compare_words(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int compare_items(const void *a, const void *b) {
    const companion_item *left = a, *right = b;
    int order = compare_words(left->predicate, right->predicate);
    order = order != 0 ? order : compare_words(left->metadata, right->metadata);
    return order != 0 ? order : compare_words(left->object, right->object);
}

void companion_sort_items(companion_item *items, uint64_t *count) {
    uint64_t kept = 0;
    qsort(items, (size_t)*count, sizeof *items, compare_items);
    for (uint64_t i = 0; i < *count; i++) {
        if (i == 0 || compare_items(&items[i], &items[kept - 1]) != 0) {
            items[kept++] = items[i];
        }
    }
    *count = kept;
}

const companion_item *companion_find_items(const companion_item *items, uint64_t n_items, uint64_t predicate,
                                           uint64_t *out_count) {
    uint64_t low = 0, high = n_items;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (items[middle].predicate < predicate) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint64_t end = low;
    while (end < n_items && items[end].predicate == predicate) {
        end++;
    }
    *out_count = end - low;
    return end > low ? &items[low] : NULL;
}

/* ----------------------------------------------------------------------------------------------------------- groups */

static fmt_status refuse_memory(const builder *b, uint64_t bytes) {
    return diag_refuse(b->diag, FMT_NO_SPACE, &rule_memory, (diag_place){0, FMT_NO_INDEX, bytes, 0},
                       "%llu bytes cannot be had", (unsigned long long)bytes);
}

static fmt_str name_of(const builder *b, const group *g) {
    return (fmt_str){b->names.text + g->text_at, g->text_size};
}

/* One value for each place, or the key could be read in two ways. */
static fmt_status check_places(const builder *b, const group *g) {
    char quoted[DIAG_QUOTE_SIZE];
    for (uint64_t i = g->first + 1; i < g->first + g->count; i++) {
        if (b->items[i].metadata == b->items[i - 1].metadata) {
            return diag_refuse(b->diag, FMT_BAD_FILE, &rule_conflict, (diag_place){0, b->items[i].metadata, 0, 0},
                               "%s%s has two values", companion_prefix(g->family), diag_quote(quoted, name_of(b, g)));
        }
    }
    return FMT_OK;
}

static fmt_status add_group(builder *b, uint64_t first, uint64_t count) {
    fmt_str text, key;
    group g = {.first = first, .count = count, .text_at = b->names.size};
    fmt_status status = b->texts->find(b->texts->ctx, b->items[first].predicate, &text, b->diag);
    if (status != FMT_OK || !companion_split_predicate(text, &g.family, &key)) {
        return status;
    }
    g.text_size = (uint32_t)key.size;
    status = companion_append(&b->names, key.data, key.size, b->diag);
    if (status != FMT_OK) {
        return status;
    }
    b->groups[b->n_groups++] = g;
    return check_places(b, &g);
}

static uint64_t count_predicates(const builder *b) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < b->n_items; i++) {
        n += i == 0 || b->items[i].predicate != b->items[i - 1].predicate;
    }
    return n;
}

static fmt_status find_groups(builder *b) {
    const uint64_t n = count_predicates(b);
    fmt_status status = FMT_OK;
    b->groups = calloc((size_t)n + 1, sizeof *b->groups);
    b->values = calloc((size_t)b->n_items + 1, sizeof *b->values);
    b->keys = calloc((size_t)n + 1, sizeof *b->keys);
    if (b->groups == NULL || b->values == NULL || b->keys == NULL) {
        return refuse_memory(b, n * (sizeof *b->groups + sizeof *b->keys) + b->n_items * sizeof *b->values);
    }
    for (uint64_t first = 0, end; first < b->n_items && status == FMT_OK; first = end) {
        for (end = first; end < b->n_items && b->items[end].predicate == b->items[first].predicate; end++) {
            b->values[end] = (companion_value){b->items[end].metadata, b->items[end].object};
        }
        status = add_group(b, first, end - first);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- keys */

static int compare_texts(fmt_str a, fmt_str b) {
    const int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order != 0 ? order : compare_words(a.size, b.size);
}

/* qsort has no context: groups are ordered through keys, which know their names. */
static int compare_names(const void *a, const void *b) {
    return compare_texts(((const companion_key *)a)->key, ((const companion_key *)b)->key);
}

static uint64_t place_of(const companion_key *key) {
    return key->said[COMPANION_TYPE].count != 0 ? key->said[COMPANION_TYPE].values[0].metadata : UINT64_MAX;
}

static int compare_keys(const void *a, const void *b) {
    const int order = compare_words(place_of(a), place_of(b));
    return order != 0 ? order : compare_names(a, b);
}

/* A key for each group, then those of one name are joined. */
static void join_keys(builder *b) {
    for (uint64_t i = 0; i < b->n_groups; i++) {
        const group *g = &b->groups[i];
        b->keys[i].key = name_of(b, g);
        b->keys[i].said[g->family].values = b->values + g->first;
        b->keys[i].said[g->family].count = g->count;
    }
    qsort(b->keys, (size_t)b->n_groups, sizeof *b->keys, compare_names);
    for (uint64_t i = 0; i < b->n_groups; i++) {
        if (b->n_keys == 0 || compare_names(&b->keys[i], &b->keys[b->n_keys - 1]) != 0) {
            b->keys[b->n_keys++] = b->keys[i];
            continue;
        }
        for (companion_family f = 0; f < COMPANION_N_FAMILIES; f++) {
            if (b->keys[i].said[f].count != 0) {
                b->keys[b->n_keys - 1].said[f] = b->keys[i].said[f];
            }
        }
    }
    qsort(b->keys, (size_t)b->n_keys, sizeof *b->keys, compare_keys);
}

/* ---------------------------------------------------------------------------------------- what the container holds */

static bool is_held(const companion_key *key) {
    bool has_value = key->said[COMPANION_LEN].count != 0;
    for (companion_family f = 0; f < COMPANION_N_VALUE_FAMILIES; f++) {
        has_value = has_value || key->said[f].count != 0;
    }
    return !has_value && companion_is_held_key(key->key);
}

static fmt_status append_merge(builder *b, uint64_t *at) {
    fmt_str left, right;
    p64_next_merge(b->container, at, &left, &right);
    fmt_status status = companion_append_number(&b->out, left.size + 1 + right.size, 8, b->diag);
    if (status == FMT_OK) {
        status = companion_append(&b->out, left.data, left.size, b->diag);
    }
    if (status == FMT_OK) {
        status = companion_append(&b->out, " ", 1, b->diag);
    }
    return status == FMT_OK ? companion_append(&b->out, right.data, right.size, b->diag) : status;
}

static fmt_status append_held_elements(builder *b, bool are_tokens, uint32_t count) {
    uint64_t at = b->container->tokenizer.merges_at;
    fmt_status status = FMT_OK;
    for (uint32_t i = 0; i < count && status == FMT_OK; i++) {
        status = are_tokens ? companion_append_string(&b->out, p64_get_token(b->container, i), b->diag)
                            : append_merge(b, &at);
    }
    return status;
}

static fmt_status append_held_key(builder *b, const companion_key *key) {
    const p64_tokenizer *section = &b->container->tokenizer;
    const bool are_tokens = key->key.size == strlen(COMPANION_TOKENS_KEY) &&
                            memcmp(key->key.data, COMPANION_TOKENS_KEY, key->key.size) == 0;
    const uint32_t count = are_tokens ? section->n_tokens : section->n_merges;
    uint64_t type = GGUF_ARRAY;
    char quoted[DIAG_QUOTE_SIZE];
    if (!section->is_present || key->said[COMPANION_TYPE].count != 1 ||
        !companion_get_integer(key->said[COMPANION_TYPE].values[0].object, &type) || type != GGUF_STRING) {
        return diag_refuse(b->diag, FMT_BAD_FILE, &rule_held, (diag_place){0, FMT_NO_INDEX, GGUF_STRING, type},
                           "key %s has no value, and the container has none either", diag_quote(quoted, key->key));
    }
    fmt_status status = companion_append_string(&b->out, key->key, b->diag);
    if (status == FMT_OK) {
        status = companion_append_number(&b->out, GGUF_ARRAY, 4, b->diag);
    }
    if (status == FMT_OK) {
        status = companion_append_number(&b->out, GGUF_STRING, 4, b->diag);
    }
    if (status == FMT_OK) {
        status = companion_append_number(&b->out, count, 8, b->diag);
    }
    return status == FMT_OK ? append_held_elements(b, are_tokens, count) : status;
}

/* -------------------------------------------------------------------------------------------------------- the image */

static fmt_status append_all(builder *b) {
    fmt_status status = companion_append(&b->out, "GGUF", 4, b->diag);
    if (status == FMT_OK) {
        status = companion_append_number(&b->out, GGUF_VERSION, 4, b->diag);
    }
    if (status == FMT_OK) {
        status = companion_append_number(&b->out, 0, 8, b->diag);
    }
    if (status == FMT_OK) {
        status = companion_append_number(&b->out, b->n_keys, 8, b->diag);
    }
    for (uint64_t i = 0; i < b->n_keys && status == FMT_OK; i++) {
        const companion_key *key = &b->keys[i];
        status = is_held(key) ? append_held_key(b, key) : companion_read_key(key, b->texts, &b->out, b->diag);
    }
    return status;
}

static fmt_status open_image(builder *b, companion_image *out_image) {
    const fmt_span span = {(const uint8_t *)b->out.text, b->out.size};
    companion_image image = {.bytes = b->out};
    uint64_t bytes = 0;
    fmt_status status = gguf_scratch_size(span, &bytes, b->diag);
    if (status != FMT_OK) {
        return status;
    }
    image.scratch = malloc((size_t)bytes + ALIGNMENT_OF_INDEX);
    if (image.scratch == NULL) {
        return refuse_memory(b, bytes);
    }
    status = gguf_open(span, image.scratch, bytes, &image.file, b->diag);
    if (status == FMT_OK) {
        *out_image = image;
        b->out = (text_buffer){0}; /* moved */
    } else {
        free(image.scratch);
    }
    return status;
}

static fmt_status build(builder *b, companion_image *out_image) {
    fmt_status status = find_groups(b);
    if (status != FMT_OK) {
        return status;
    }
    join_keys(b);
    if (b->n_keys == 0) {
        return diag_refuse(b->diag, FMT_BAD_FILE, &rule_keys, (diag_place){0, FMT_NO_INDEX, 1, 0}, "it says no key");
    }
    status = append_all(b);
    return status == FMT_OK ? open_image(b, out_image) : status;
}

fmt_status companion_image_build(const companion_item *items, uint64_t n_items, const companion_texts *texts,
                                 const p64_file *container, companion_image *out_image, fmt_diag *diag) {
    builder b = {.items = items, .n_items = n_items, .texts = texts, .container = container, .diag = diag};
    const fmt_status status = build(&b, out_image);
    text_buffer_free(&b.names);
    text_buffer_free(&b.out);
    free(b.groups);
    free(b.values);
    free(b.keys);
    return status;
}

void companion_image_free(companion_image *image) {
    text_buffer_free(&image->bytes);
    free(image->scratch);
    *image = (companion_image){0};
}
