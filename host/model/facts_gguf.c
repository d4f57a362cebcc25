/* facts_gguf.c — typed look-ups in a GGUF file. */
#include "model/facts_gguf.h"

#include <stddef.h>

static fact_result translate(const facts *f, fmt_status status, const fmt_diag *diag, error_context *err) {
    if (status == FMT_OK) {
        return FACT_FOUND;
    }
    if (status == FMT_NOT_FOUND) {
        return FACT_ABSENT;
    }
    error_from_diag(err, status, diag, f->path);
    return FACT_WRONG;
}

static fact_result get_uint(const facts *f, const char *key, uint64_t *out, error_context *err) {
    fmt_diag diag;
    return translate(f, gguf_get_u64(f->ctx, key, out, &diag), &diag, err);
}

static fact_result get_float(const facts *f, const char *key, double *out, error_context *err) {
    fmt_diag diag;
    return translate(f, gguf_get_f64(f->ctx, key, out, &diag), &diag, err);
}

static fact_result get_bool(const facts *f, const char *key, bool *out, error_context *err) {
    fmt_diag diag;
    return translate(f, gguf_get_bool(f->ctx, key, out, &diag), &diag, err);
}

static fact_result get_string(const facts *f, const char *key, fmt_str *out, error_context *err) {
    fmt_diag diag;
    return translate(f, gguf_get_string(f->ctx, key, out, &diag), &diag, err);
}

static fact_result get_uint_at(const facts *f, const char *key, uint64_t index, uint64_t *out, error_context *err) {
    const gguf_kv *kv = gguf_find_kv(f->ctx, key);
    gguf_array array;
    bool flag;
    if (kv == NULL || !gguf_kv_array(kv, &array)) {
        return FACT_ABSENT;
    }
    if (gguf_array_u64(&array, index, out)) {
        return FACT_FOUND;
    }
    if (gguf_array_bool(&array, index, &flag)) {
        *out = flag;
        return FACT_FOUND;
    }
    FAIL(err, QN_BAD_FILE, "%s: key %s has no whole number at index %llu", f->path, key, (unsigned long long)index);
    return FACT_WRONG;
}

static fact_result get_float_at(const facts *f, const char *key, uint64_t index, double *out, error_context *err) {
    const gguf_kv *kv = gguf_find_kv(f->ctx, key);
    gguf_array array;
    if (kv == NULL || !gguf_kv_array(kv, &array) || index >= array.count) {
        return FACT_ABSENT;
    }
    if (gguf_array_f64(&array, index, out)) {
        return FACT_FOUND;
    }
    FAIL(err, QN_BAD_FILE, "%s: key %s has no float at index %llu", f->path, key, (unsigned long long)index);
    return FACT_WRONG;
}

void facts_from_gguf(const gguf_file *file, const char *path, facts *out) {
    *out = (facts){file, path, get_uint, get_float, get_bool, get_string, get_uint_at, get_float_at};
}
