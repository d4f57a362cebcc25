/* comparison.c — which numbers are compared, and how each counts. */
#include "bench/comparison.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A number of the object; a list of them is compared element by element where `key` agrees. */
typedef struct number {
    const char *name;
    const char *path[3];    /* keys from the outside in */
    bool is_time;           /* less is faster */
} number;

static const number numbers[] = {
    {"load", {"load", "total_s"}, true},
    {"load: open", {"load", "open_s"}, true},
    {"load: verify", {"load", "verify_s"}, true},
    {"load: bind", {"load", "bind_s"}, true},
    {"first token", {"load", "first_token_s"}, true},
    {"prefill", {"prefill_tokens_per_s", "median"}, false},
    {"tokenizer", {"tokenizer", "bytes_per_s"}, false},
    {"detokenizing", {"detokenize_us_per_token"}, true},
    {"sampling, greedy", {"sampling", "greedy_us"}, true},
    {"sampling, top-k 40 and top-p", {"sampling", "top_us"}, true},
    {"read ceiling", {"read_ceiling_bytes_per_s"}, false},
    {"int8 peak", {"peaks", "int8", "operations_per_s"}, false},
    {"f32 peak", {"peaks", "f32", "operations_per_s"}, false},
};

static const json_t *find_path(const json_t *object, const char *const path[3]) {
    for (int i = 0; i < 3 && path[i] != NULL && object != NULL; i++) {
        object = json_object_get(object, path[i]);
    }
    return object;
}

static void add_row(json_t *rows, const char *name, const json_t *earlier, const json_t *now, bool is_time) {
    const double before = json_number_value(earlier), after = json_number_value(now);
    if (json_is_number(earlier) && json_is_number(now) && before > 0.0 && after > 0.0) {
        json_array_append_new(rows, json_pack("{s:s, s:f, s:f, s:f}", "name", name, "before", before, "now", after, "speed",
                                              is_time ? before / after : after / before));
    }
}

/* Decoding is a list by depth. */
static void add_depths(json_t *rows, const json_t *earlier, const json_t *now) {
    for (size_t i = 0; i < json_array_size(now); i++) {
        const json_t *row = json_array_get(now, i);
        const json_int_t depth = json_integer_value(json_object_get(row, "depth"));
        for (size_t k = 0; k < json_array_size(earlier); k++) {
            const json_t *other = json_array_get(earlier, k);
            if (json_integer_value(json_object_get(other, "depth")) == depth) {
                static const char *const path[3] = {"tokens_per_s", "median"};
                char name[48];
                snprintf(name, sizeof name, "decode at depth %lld", (long long)depth);
                add_row(rows, name, find_path(other, path), find_path(row, path), false);
            }
        }
    }
}

qn_status comparison_read(const char *path, json_t **out_earlier, error_context *err) {
    json_error_t where;
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return FAIL(err, QN_IO, "%s: cannot be opened", path);
    }
    json_t *object = json_loadf(f, 0, &where);
    fclose(f);
    if (object == NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %d, column %d: %s; --compare takes what `quoin bench --json` wrote", path, where.line,
                    where.column, where.text);
    }
    if (!json_is_object(object) || json_object_get(object, "decode_tokens_per_s") == NULL) {
        json_decref(object);
        return FAIL(err, QN_BAD_INPUT, "%s: has no decode_tokens_per_s; --compare takes what `quoin bench --json` wrote", path);
    }
    *out_earlier = object;
    return QN_OK;
}

json_t *comparison_make(const json_t *earlier, const json_t *now) {
    json_t *rows = json_array();
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && rows != NULL; i++) {
        add_row(rows, numbers[i].name, find_path(earlier, numbers[i].path), find_path(now, numbers[i].path), numbers[i].is_time);
        if (strcmp(numbers[i].name, "prefill") == 0) {
            add_depths(rows, json_object_get(earlier, "decode"), json_object_get(now, "decode"));
        }
    }
    return rows;
}

void comparison_caution(const json_t *earlier, const json_t *now, char *text, size_t room) {
    static const number facts[] = {{"model", {"model"}, false},
                                   {"backend", {"backend", "name"}, false},
                                   {"device", {"backend", "device"}, false},
                                   {"numeric class", {"backend", "numeric"}, false},
                                   {"number of threads", {"backend", "threads"}, false},
                                   {"prompt length", {"prompt_length"}, false},
                                   {"decode length", {"decode_length"}, false}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof facts / sizeof facts[0] && used < room; i++) {
        const json_t *before = find_path(earlier, facts[i].path), *after = find_path(now, facts[i].path);
        if (before != NULL && after != NULL && !json_equal(before, after)) {
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "another ", facts[i].name);
        }
    }
}
