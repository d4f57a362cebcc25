/* facts_p64.c — what a P64 alone tells, under the keys of an assumed architecture. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "model/facts_gguf.h"

#define ASSUMED_EPSILON 1e-5

typedef struct p64_key {
    const char *suffix;
    uint64_t value;
} p64_key;

/* The part of a key behind "ARCH.", or null when it is another architecture's. */
static const char *suffix_of(const p64_facts *source, const char *key) {
    const size_t length = strlen(source->arch);
    return strncmp(key, source->arch, length) == 0 && key[length] == '.' ? key + length + 1 : NULL;
}

static fact_result get_uint(const facts *f, const char *key, uint64_t *out, error_context *err) {
    const p64_facts *source = f->ctx;
    const p64_hparams *h = &source->file->hparams;
    const p64_key keys[] = {{"block_count", h->n_layer},
                            {"embedding_length", h->n_embd},
                            {"attention.head_count", h->n_head},
                            {"attention.head_count_kv", h->n_kv_head},
                            {"feed_forward_length", source->n_ff},
                            {"attention.key_length", h->head_dim},
                            {"attention.sliding_window", h->sliding_window}};
    const char *suffix = suffix_of(source, key);
    if (suffix != NULL && strcmp(suffix, "feed_forward_length") == 0 && source->n_ff == 0) {
        FAIL(err, QN_BAD_FILE,
             "%s: tensor blk.0.ffn_up.weight is missing; its rows tell how wide the feed-forward part is", f->path);
        return FACT_WRONG;
    }
    for (size_t i = 0; suffix != NULL && i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i].suffix, suffix) == 0 && keys[i].value > 0) {
            *out = keys[i].value;
            return FACT_FOUND;
        }
    }
    return FACT_ABSENT;
}

static fact_result get_float(const facts *f, const char *key, double *out, error_context *err) {
    const p64_facts *source = f->ctx;
    const p64_hparams *h = &source->file->hparams;
    const char *suffix = suffix_of(source, key);
    (void)err;
    if (suffix == NULL) {
        return FACT_ABSENT;
    }
    if (strcmp(suffix, "attention.layer_norm_rms_epsilon") == 0) {
        *out = ASSUMED_EPSILON;
    } else if (strcmp(suffix, "rope.freq_base") == 0 && h->rope_freq_base != 0.0f) {
        *out = (double)h->rope_freq_base;
    } else if (strcmp(suffix, "rope.scale_linear") == 0 && h->rope_scale != 0.0f) {
        *out = (double)h->rope_scale;
    } else if (strcmp(suffix, "final_logit_softcapping") == 0 && h->logit_softcap != 0.0f) {
        *out = (double)h->logit_softcap;
    } else {
        return FACT_ABSENT;
    }
    return FACT_FOUND;
}

static fact_result get_no_bool(const facts *f, const char *key, bool *out, error_context *err) {
    (void)f;
    (void)key;
    (void)out;
    (void)err;
    return FACT_ABSENT;
}

static fact_result get_string(const facts *f, const char *key, fmt_str *out, error_context *err) {
    const p64_facts *source = f->ctx;
    (void)err;
    if (strcmp(key, "general.architecture") != 0) {
        return FACT_ABSENT;
    }
    *out = (fmt_str){source->arch, strlen(source->arch)};
    return FACT_FOUND;
}

static fact_result get_no_element(const facts *f, const char *key, uint64_t index, uint64_t *out, error_context *err) {
    (void)f;
    (void)key;
    (void)index;
    (void)out;
    (void)err;
    return FACT_ABSENT;
}

static fact_result get_no_float(const facts *f, const char *key, uint64_t index, double *out, error_context *err) {
    (void)f;
    (void)key;
    (void)index;
    (void)out;
    (void)err;
    return FACT_ABSENT;
}

void facts_from_p64(const p64_facts *source, const char *path, facts *out) {
    *out = (facts){source, path, get_uint, get_float, get_no_bool, get_string, get_no_element, get_no_float};
}
