/* gguf_to_p64.c — sections 6.2 and 10 of the P64 document: what a GGUF file holds, in the words of a container. */
#include <string.h>

#include "common/diag.h"
#include "convert/convert.h"
#include "model/container_facts.h"

typedef unsigned long long ull;

#define RELEASE_BEHIND (UINT64_C(4) << 20)

static const fmt_rule rule_text = {"convert-key", "10", "a container's tokenizer needs another type here"};
static const fmt_rule rule_count = {"convert-count", "6", "a container counts its tensors in 32 bits"};
static const fmt_rule rule_merge = {"convert-merge", "10", "a merge is two parts with a space between them"};

/* -------------------------------------------------------------------------------------------------------- tokenizer */

static void start_walk(string_walk *w, gguf_array array) {
    *w = (string_walk){.array = array, .iter = gguf_iterate(&array)};
}

static fmt_str walk_to(string_walk *w, uint64_t index) {
    if (index + 1 < w->iter.index) {
        w->iter = gguf_iterate(&w->array);
    }
    while (w->iter.index <= index && gguf_next_string(&w->iter, &w->last)) {
    }
    return w->last;
}

/* Reads an array of strings that may be absent. */
static fmt_status find_strings(const gguf_file *file, const char *key, string_walk *out, fmt_diag *diag) {
    gguf_array array = {0};
    const fmt_status status = gguf_get_array(file, key, GGUF_STRINGS, &array, diag);
    if (status == FMT_OK) {
        start_walk(out, array);
    }
    return status == FMT_NOT_FOUND ? FMT_OK : status;
}

static void split_merge(fmt_str merge, fmt_str *left, fmt_str *right) {
    const char *space = merge.size > 0 ? memchr(merge.data, ' ', merge.size) : NULL;
    const uint64_t at = space != NULL ? (uint64_t)(space - merge.data) : merge.size;
    *left = (fmt_str){merge.data, at};
    *right = space != NULL ? (fmt_str){space + 1, merge.size - at - 1} : (fmt_str){merge.data, 0};
}

static fmt_status check_merges(gguf_source *s, uint32_t count, fmt_diag *diag) {
    for (uint32_t i = 0; i < count; i++) {
        fmt_str left, right, merge = walk_to(&s->merges, i);
        split_merge(merge, &left, &right);
        if (left.size == 0 || right.size == 0) {
            char text[DIAG_QUOTE_SIZE];
            return diag_refuse(diag, FMT_BAD_FILE, &rule_merge, (diag_place){0, i, 0, 0},
                               "element %u of key \"tokenizer.ggml.merges\" is %s", i, diag_quote(text, merge));
        }
    }
    return FMT_OK;
}

static fmt_status find_tokenizer(gguf_source *s, fmt_diag *diag) {
    p64_source_tokenizer *t = &s->source.tokenizer;
    if (gguf_find_kv(s->file, "tokenizer.ggml.tokens") == NULL) {
        return FMT_OK;
    }
    fmt_status status = find_strings(s->file, "tokenizer.ggml.tokens", &s->tokens, diag);
    if (status == FMT_OK) {
        status = find_strings(s->file, "tokenizer.ggml.merges", &s->merges, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    if (s->tokens.array.count > UINT32_MAX || s->merges.array.count > UINT32_MAX) {
        return diag_refuse(
            diag, FMT_LIMIT, &rule_text, (diag_place){0, FMT_NO_INDEX, UINT32_MAX, s->tokens.array.count},
            "the tokenizer has %llu tokens and %llu merges", (ull)s->tokens.array.count, (ull)s->merges.array.count);
    }
    t->is_present = true;
    t->n_tokens = (uint32_t)s->tokens.array.count;
    t->n_merges = (uint32_t)s->merges.array.count;
    status = container_specials(s->file, t, diag);
    return status == FMT_OK ? check_merges(s, t->n_merges, diag) : status;
}

/* ----------------------------------------------------------------------------------------------- the writer's calls */

static void get_tensor(void *ctx, uint32_t index, p64_source_tensor *out) {
    const gguf_source *s = ctx;
    const gguf_tensor *t = &s->file->tensors[index];
    *out = (p64_source_tensor){.name = t->name,
                               .dtype = t->type,
                               .rank = t->rank,
                               .dims = {t->dims[0], t->dims[1], t->dims[2], t->dims[3]},
                               .source_offset = t->offset,
                               .bytes = t->size};
    out->role = p64_role_of_gguf_name(t->name.data, t->name.size, s->source.hparams.n_layer, &out->layer);
}

static const uint8_t *get_bytes(void *ctx, uint32_t index, uint64_t offset, uint64_t size, void *room) {
    gguf_source *s = ctx;
    (void)room;
    if (s->mapping != NULL) {
        /* The system maps pages around the one that is asked for, so some behind the last read came back. */
        const uint64_t begin = s->read_at > RELEASE_BEHIND ? s->read_at - RELEASE_BEHIND : 0;
        mapped_file_dont_need(s->mapping, begin, s->read_at + s->read_size - begin);
    }
    s->read_at = s->file->tensors[index].at + offset;
    s->read_size = size;
    return s->file->span.data + s->read_at;
}

static fmt_str get_token(void *ctx, uint32_t id) {
    gguf_source *s = ctx;
    return walk_to(&s->tokens, id);
}

static void get_merge(void *ctx, uint32_t index, fmt_str *out_left, fmt_str *out_right) {
    gguf_source *s = ctx;
    split_merge(walk_to(&s->merges, index), out_left, out_right);
}

fmt_status gguf_source_init(gguf_source *out, const gguf_file *file, fmt_diag *diag) {
    *out = (gguf_source){.file = file};
    if (file->n_tensors > UINT32_MAX) {
        return diag_refuse(diag, FMT_LIMIT, &rule_count, (diag_place){0, FMT_NO_INDEX, UINT32_MAX, file->n_tensors},
                           "the source has %llu tensors", (ull)file->n_tensors);
    }
    out->source.ctx = out;
    out->source.n_tensors = (uint32_t)file->n_tensors;
    out->source.get_tensor = get_tensor;
    out->source.get_bytes = get_bytes;
    out->source.get_token = get_token;
    out->source.get_merge = get_merge;
    const fmt_status status = container_hparams(file, &out->source.hparams, diag);
    return status == FMT_OK ? find_tokenizer(out, diag) : status;
}
