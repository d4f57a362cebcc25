/* fuzz_companion.c — companion volumes from any bytes, twice over: as a volume, with a container that it is bound to;
 * and as a list of statements, which reach what lies behind parity and checksums. Keys that come out are said again
 * and must come back with the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "model/companion.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_ITEMS = 512, MAX_TEXTS = 600, TEXT_ROOM = 96 };

/* ------------------------------------------------------------------------------------------------------ as a volume */

/* The checksum that the volume asks for, so that it is bound. */
static uint32_t wanted_crc(fmt_span span) {
    static uint8_t room[Q42_BLOCK_BYTES];
    static const char predicate[] = "lm:p64MetadataCrc";
    const q42_pattern pattern = {.bound = Q42_BOUND_PREDICATE, .predicate = q42_hash(predicate, sizeof predicate - 1)};
    q42_volume volume;
    q42_scan scan;
    q42_quin quin;
    uint64_t crc = 0;
    fmt_diag diag;
    if (q42_open(span, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag) == FMT_OK) {
        q42_scan_begin(&scan, &volume, &pattern, room);
        if (q42_scan_next(&scan, &quin, &diag) == FMT_OK) {
            companion_get_integer(quin.object, &crc);
        }
    }
    return (uint32_t)crc;
}

static void read_as_volume(fmt_span span, uint16_t flags, fmt_mode mode) {
    const p64_file container = {.metadata_crc = wanted_crc(span), .header.flags = flags};
    const companion_options options = {.path = "fuzz.q42", .mode = mode};
    error_context err = {0};
    companion c;
    const qn_status status = companion_read(span, "fuzz.p64", &container, &options, &c, &err);
    REQUIRE(status == QN_OK || error_text(&err)[0] != '\0');
    REQUIRE(c.state != COMPANION_BOUND || c.image.file.n_kv > 0 || status != QN_OK);
    companion_close(&c);
}

/* ---------------------------------------------------------------------------------------------------- as statements */

typedef struct text_store {
    struct {
        uint64_t hash;
        uint32_t size;
        char *text; /* owned */
    } texts[MAX_TEXTS];
    uint32_t n_texts;
    companion_item items[MAX_ITEMS];
    uint64_t n_items;
} text_store;

static uint64_t keep_text(text_store *s, const char *text, uint64_t size) {
    const uint64_t hash = q42_hash(text, size);
    for (uint32_t i = 0; i < s->n_texts; i++) {
        if (s->texts[i].hash == hash) {
            return hash;
        }
    }
    if (s->n_texts < MAX_TEXTS) {
        char *copy = malloc(size + 1);
        REQUIRE(copy != NULL);
        memcpy(copy, text, size);
        s->texts[s->n_texts].hash = hash;
        s->texts[s->n_texts].size = (uint32_t)size;
        s->texts[s->n_texts++].text = copy;
    }
    return hash;
}

static fmt_status find_text(void *ctx, uint64_t hash, fmt_str *out_text, fmt_diag *diag) {
    const text_store *s = ctx;
    for (uint32_t i = 0; i < s->n_texts; i++) {
        if (s->texts[i].hash == hash) {
            *out_text = (fmt_str){s->texts[i].text, s->texts[i].size};
            return FMT_OK;
        }
    }
    *diag = (fmt_diag){.rule = "fuzz", .text = "no such text"};
    return FMT_BAD_FILE;
}

static void free_texts(text_store *s) {
    for (uint32_t i = 0; i < s->n_texts; i++) {
        free(s->texts[i].text);
    }
}

/* The next statement of the input: six bytes and what they ask for. */
static size_t read_statement(text_store *s, const uint8_t *at, size_t left) {
    static const char *const keys[] = {"a", "general.architecture", "tokenizer.ggml.scores",
                                       "tokenizer.ggml.token_type", COMPANION_TOKENS_KEY, COMPANION_MERGES_KEY};
    char predicate[TEXT_ROOM];
    size_t used = 6;
    if (left < used) {
        return left;
    }
    const companion_family family = at[0] % COMPANION_N_FAMILIES;
    const char *prefix = companion_prefix(family), *key = keys[at[1] % 6];
    const size_t n_prefix = strlen(prefix), n_key = strlen(key);
    memcpy(predicate, prefix, n_prefix);
    memcpy(predicate + n_prefix, key, n_key);
    const uint64_t metadata = (uint64_t)(at[2] & 15) | (uint64_t)(at[2] >> 6) << 32;
    uint64_t object = companion_integer((uint64_t)at[4] << (at[5] & 56));
    if (at[3] % 4 == 1) {
        object = companion_boolean(at[4] & 1);
    } else if (at[3] % 4 >= 2) {
        const size_t wanted = at[4] % 40u, size = wanted < left - used ? wanted : left - used;
        object = keep_text(s, (const char *)at + used, size);
        used += size;
    }
    s->items[s->n_items++] = (companion_item){keep_text(s, predicate, n_prefix + n_key), metadata, object};
    return used;
}

static fmt_status say_again(void *ctx, const companion_statement *statement, fmt_diag *diag) {
    text_store *s = ctx;
    char predicate[TEXT_ROOM];
    const size_t n_prefix = strlen(companion_prefix(statement->family));
    (void)diag;
    REQUIRE(n_prefix + statement->key.size <= sizeof predicate && s->n_items < MAX_ITEMS);
    memcpy(predicate, companion_prefix(statement->family), n_prefix);
    memcpy(predicate + n_prefix, statement->key.data, statement->key.size);
    const uint64_t hash = keep_text(s, predicate, n_prefix + statement->key.size);
    s->items[s->n_items++] = (companion_item){
        hash, statement->metadata,
        statement->is_text ? keep_text(s, statement->text.data, statement->text.size) : statement->object};
    return FMT_OK;
}

static uint64_t count_elements(const gguf_file *file) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < file->n_kv; i++) {
        gguf_array array = {.count = 1};
        gguf_kv_array(&file->kvs[i], &array);
        n += array.count + 2;
    }
    return n;
}

static void require_round_trip(const companion_image *image) {
    static const p64_file empty = {0};
    text_store *s = calloc(1, sizeof *s);
    companion_image again;
    fmt_diag diag;
    REQUIRE(s != NULL);
    for (uint64_t i = 0; i < image->file.n_kv; i++) {
        REQUIRE(companion_say_key(&image->file.kvs[i], (uint32_t)i, false, say_again, s, &diag) == FMT_OK);
    }
    const companion_texts texts = {s, find_text};
    companion_sort_items(s->items, &s->n_items);
    REQUIRE(companion_image_build(s->items, s->n_items, &texts, &empty, &again, &diag) == FMT_OK);
    REQUIRE(again.bytes.size == image->bytes.size &&
            memcmp(again.bytes.text, image->bytes.text, again.bytes.size) == 0);
    companion_image_free(&again);
    free_texts(s);
    free(s);
}

static void read_as_statements(const uint8_t *data, size_t size) {
    static const p64_file empty = {0};
    text_store *s = calloc(1, sizeof *s);
    companion_image image = {0};
    fmt_diag diag = {.rule = ""};
    REQUIRE(s != NULL);
    for (size_t at = 0; at < size && s->n_items < MAX_ITEMS;) {
        at += read_statement(s, data + at, size - at);
    }
    const companion_texts texts = {s, find_text};
    companion_sort_items(s->items, &s->n_items);
    if (companion_image_build(s->items, s->n_items, &texts, &empty, &image, &diag) == FMT_OK) {
        REQUIRE(image.file.n_tensors == 0);
        if (count_elements(&image.file) < MAX_ITEMS) {
            require_round_trip(&image);
        }
    } else {
        REQUIRE(diag.text[0] != '\0');
    }
    companion_image_free(&image);
    free_texts(s);
    free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fmt_span span = {data, size};
    read_as_volume(span, 0, FMT_MODE_DEFAULT);
    read_as_volume(span, P64_FLAG_RAW, FMT_MODE_STRICT);
    read_as_statements(data, size < 4096 ? size : 4096);
    return 0;
}
