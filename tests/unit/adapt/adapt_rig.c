/* adapt_rig.c — making adapters in three forms, merging them by hand, and running. */
#include "adapt_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <quoin/gguf.h>

#include "backends/choose.h"
#include "backends/host_services.h"
#include "backends/registry.h"
#include "base/log.h"
#include "base/machine.h"
#include "decode/session.h"

char rig_folder[CORPUS_PATH_SIZE];

int rig_make_folder(void **state) {
    (void)state;
    log_set_level(QN_LOG_ERROR);
    test_make_folder(rig_folder);
    return 0;
}

int rig_remove_folder(void **state) {
    (void)state;
    test_remove_tree(rig_folder);
    return 0;
}

const char *rig_path(const char *name) {
    static char rooms[4][RIG_PATH_SIZE];
    static unsigned next;
    char *room = rooms[next++ % 4];
    snprintf(room, RIG_PATH_SIZE, "%s/%s", rig_folder, name);
    return room;
}

model *rig_open_model(const char *path) {
    model *m = NULL;
    error_context err = {0};
    if (model_open(path, NULL, NULL, &m, &err) != QN_OK) {
        fail_msg("%s", error_text(&err));
    }
    return m;
}

/* ---------------------------------------------------------------- pairs */

static float *make_matrix(rig_pairs *list, uint64_t n) {
    uint32_t random = 99u + list->n * 7919u + (uint32_t)n;
    float *matrix = malloc((size_t)n * sizeof *matrix);
    assert_non_null(matrix);
    for (uint64_t i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        matrix[i] = ldexpf((float)(random >> 24) - 127.5f, -9); /* a quarter at most, exact in F16 */
    }
    return matrix;
}

lora_pair *rig_add(rig_pairs *list, const model *m, lora_role role, uint32_t layer) {
    uint64_t n_in = 0, n_out = 0;
    assert_true(list->n < RIG_MAX_PAIRS && delta_shape(m, role, layer, &n_in, &n_out));
    float *a = make_matrix(list, RIG_RANK * n_in), *b = make_matrix(list, RIG_RANK * n_out + 1);
    list->matrices[2 * list->n] = a;
    list->matrices[2 * list->n + 1] = b;
    list->pairs[list->n] = (lora_pair){role, layer, RIG_RANK, 2.0f, (uint32_t)n_in, (uint32_t)n_out, BLK_F32, a, b};
    return &list->pairs[list->n++];
}

void rig_add_all(rig_pairs *list, const model *m) {
    for (uint32_t layer = 0; layer < TINY_LAYERS; layer++) {
        for (lora_role role = LORA_ATTN_K; role <= LORA_FFN_DOWN; role++) {
            rig_add(list, m, role, layer);
        }
    }
}

void rig_free(rig_pairs *list) {
    for (uint32_t i = 0; i < 2 * list->n; i++) {
        free(list->matrices[i]);
    }
    memset(list, 0, sizeof *list);
}

/* ---------------------------------------------------------------- files */

static bool write_bytes(void *ctx, const void *bytes, uint64_t size) {
    return fwrite(bytes, 1, (size_t)size, ctx) == size;
}

void rig_write_v2(const char *path, const rig_pairs *list, const model *m) {
    uint8_t base[LORA_DIGEST_BYTES];
    fmt_diag diag;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(adapter_digest_model(m, base, NULL), QN_OK);
    if (lora_write(base, list->pairs, list->n, write_bytes, file, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
    assert_int_equal(fclose(file), 0);
}

void rig_write_v1(const char *path, const lora_pair *pair) {
    fmt_diag diag;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    if (lora_write_v1(1, pair, write_bytes, file, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
    assert_int_equal(fclose(file), 0);
}

static const char *gguf_name(const lora_pair *pair, char which, char name[96]) {
    const char *role = pair->role == LORA_FFN_GATE_UP ? "ffn_up" : lora_role_name(pair->role);
    if (pair->layer == LORA_NO_LAYER) {
        snprintf(name, 96, "%s.weight.lora_%c", role, which);
    } else {
        snprintf(name, 96, "blk.%u.%s.weight.lora_%c", pair->layer, role, which);
    }
    return name;
}

static void write_elements(gguf_writer *w, const float *values, uint64_t n, blk_type type) {
    if (type == BLK_F32) {
        gguf_write_data(w, values, n * sizeof *values);
        return;
    }
    uint64_t bytes = 0;
    assert_int_equal(blk_tensor_bytes(type, 1, (const uint64_t[]){n}, &bytes), FMT_OK);
    void *encoded = malloc((size_t)bytes);
    assert_non_null(encoded);
    assert_int_equal(blk_encode(type, values, n, encoded, NULL), FMT_OK);
    gguf_write_data(w, encoded, bytes);
    free(encoded);
}

static gguf_tensor_spec make_spec(const lora_pair *p, char which, const rig_gguf *how, char name[96]) {
    const bool is_table = p->role == LORA_TOKEN_EMBD;
    gguf_tensor_spec spec = {.name = gguf_name(p, which, name), .type = how->element_type, .rank = 2, .dims = {1, 1, 1, 1}};
    spec.dims[0] = which == 'b' || is_table ? p->rank : p->n_in;
    spec.dims[1] = which == 'b' ? p->n_out : is_table ? p->n_in : p->rank;
    if (how->rename_from != NULL && strcmp(how->rename_from, spec.name) == 0) {
        spec.name = how->rename_to;
    }
    return spec;
}

void rig_write_gguf(const char *path, const rig_pairs *list, const rig_gguf *how) {
    static char names[2 * RIG_MAX_PAIRS][96];
    gguf_tensor_spec specs[2 * RIG_MAX_PAIRS + 1];
    uint32_t n = 0;
    gguf_writer w;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (uint32_t i = 0; i < list->n; i++) {
        specs[n] = make_spec(&list->pairs[i], 'a', how, names[n]);
        n++;
        specs[n] = make_spec(&list->pairs[i], 'b', how, names[n]);
        n++;
    }
    if (how->extra != NULL) {
        specs[n++] = (gguf_tensor_spec){.name = how->extra, .type = BLK_F32, .rank = 1, .dims = {16, 1, 1, 1}};
    }
    gguf_write_begin(&w, gguf_write_to_file, file, 32, how->is_alora ? 5 : 4, specs, n);
    gguf_write_string(&w, "general.architecture", how->arch != NULL ? how->arch : "llama");
    gguf_write_string(&w, "general.type", how->type != NULL ? how->type : "adapter");
    gguf_write_string(&w, "adapter.type", how->adapter_type != NULL ? how->adapter_type : "lora");
    gguf_write_float(&w, "adapter.lora.alpha", GGUF_F32, how->alpha);
    if (how->is_alora) {
        const uint32_t token = 1;
        gguf_write_array_begin(&w, "adapter.alora.invocation_tokens", GGUF_U32, 1);
        gguf_write_elements(&w, &token, 1);
    }
    for (uint32_t i = 0; i < list->n; i++) {
        const lora_pair *p = &list->pairs[i];
        write_elements(&w, p->a, (uint64_t)p->rank * p->n_in, how->element_type);
        write_elements(&w, p->b, (uint64_t)p->rank * p->n_out, how->element_type);
    }
    if (how->extra != NULL) {
        const float zeros[16] = {0};
        gguf_write_data(&w, zeros, sizeof zeros);
    }
    assert_int_equal(gguf_write_end(&w), FMT_OK);
    assert_int_equal(fclose(file), 0);
}

/* ---------------------------------------------------------------- merging */

typedef struct merge {
    const rig_pairs *list;
    float strength;
} merge;

/* values += s B A, for rows [first, first + height) of the pair; in f64, rounded once. */
static void add_product(const lora_pair *p, float strength, uint64_t first, uint64_t height, float *values) {
    const float *a = p->a, *b = p->b;
    const double scale = (double)p->alpha / p->rank * (double)strength;
    for (uint64_t row = 0; row < height; row++) {
        for (uint64_t column = 0; column < p->n_in; column++) {
            double sum = 0.0;
            for (uint32_t k = 0; k < p->rank; k++) {
                sum += (double)b[(first + row) * p->rank + k] * (double)a[(uint64_t)k * p->n_in + column];
            }
            values[row * p->n_in + column] = (float)((double)values[row * p->n_in + column] + scale * sum);
        }
    }
}

/* The table: E[t] += s B A[t]. */
static void add_table(const lora_pair *p, float strength, float *values) {
    const float *a = p->a, *b = p->b;
    const double scale = (double)p->alpha / p->rank * (double)strength;
    for (uint64_t token = 0; token < p->n_in; token++) {
        for (uint64_t i = 0; i < p->n_out; i++) {
            double sum = 0.0;
            for (uint32_t k = 0; k < p->rank; k++) {
                sum += (double)b[i * p->rank + k] * (double)a[token * p->rank + k];
            }
            values[token * p->n_out + i] = (float)((double)values[token * p->n_out + i] + scale * sum);
        }
    }
}

/* Where the rows of a role begin in a tensor of Phi-3, which has several in one; false: not in this tensor. */
static bool find_rows(const lora_pair *p, const char *suffix, uint64_t *out_first) {
    const uint64_t q = TINY_WIDTH, k = TINY_KV_HEADS * (TINY_WIDTH / TINY_HEADS);
    *out_first = 0;
    if (strcmp(suffix, "attn_qkv.weight") == 0) {
        *out_first = p->role == LORA_ATTN_K ? q : p->role == LORA_ATTN_V ? q + k : 0;
        return p->role == LORA_ATTN_Q || p->role == LORA_ATTN_K || p->role == LORA_ATTN_V || p->role == LORA_ATTN_QKV;
    }
    return false;
}

static void merge_pair(const merge *by, const lora_pair *p, const char *suffix, uint64_t height, float *values) {
    char own[64];
    uint64_t first = 0;
    snprintf(own, sizeof own, "%s.weight", lora_role_name(p->role));
    const bool is_both = strcmp(suffix, "ffn_up.weight") == 0 && height == 2 * TINY_FF; /* gate, then up */
    if (is_both && (p->role == LORA_FFN_GATE || p->role == LORA_FFN_UP || p->role == LORA_FFN_GATE_UP)) {
        add_product(p, by->strength, 0, p->n_out, values + (p->role == LORA_FFN_UP ? (uint64_t)TINY_FF * p->n_in : 0));
    } else if (!is_both && strcmp(suffix, own) == 0) {
        add_product(p, by->strength, 0, p->n_out, values);
    } else if (find_rows(p, suffix, &first)) {
        add_product(p, by->strength, 0, p->n_out, values + first * p->n_in);
    }
}

static void edit(void *ctx, const char *name, uint64_t width, uint64_t height, float *values) {
    const merge *by = ctx;
    unsigned layer = 0;
    int used = 0;
    (void)width;
    const bool is_in_layer = sscanf(name, "blk.%u.%n", &layer, &used) == 1;
    for (uint32_t i = 0; i < by->list->n; i++) {
        const lora_pair *p = &by->list->pairs[i];
        if (is_in_layer && p->layer == layer) {
            merge_pair(by, p, name + used, height, values);
        } else if (p->role == LORA_TOKEN_EMBD && strcmp(name, "token_embd.weight") == 0) {
            add_table(p, by->strength, values);
        }
    }
}

void rig_write_merged(const char *path, const char *arch, const rig_pairs *list, float strength) {
    merge by = {list, strength};
    tiny_model_write(path, arch, &(tiny_change){.edit = edit, .edit_ctx = &by});
}

/* ---------------------------------------------------------------- running */

typedef struct stack {
    qn_machine machine;
    team *workers;
    host_services services;
    registry backends;
    backend on;
    plan *p;
    session *s;
    error_context err;
} stack;

static void must(const stack *k, qn_status status) {
    if (status < 0) {
        fail_msg("%s", error_text(&k->err));
    }
}

static bool open_backend(stack *k, const char *name) {
    const char *const folders[] = {ADAPT_PLUGINS};
    const registry_options where = {.plugin_dirs = folders, .n_plugin_dirs = 1};
    const backend_request request = {.text = name};
    bool was_named;
    must(k, machine_detect(&k->machine, &k->err));
    must(k, team_create(1, &k->workers, &k->err));
    host_services_init(&k->services, &k->machine, k->workers);
    registry_discover(&where, &k->backends);
    if (registry_find(&k->backends, name) < 0) {
        team_destroy(k->workers);
        return false;
    }
    must(k, backend_choose(&k->backends, &k->services, &request, &k->on, &was_named, &k->err));
    return true;
}

bool rig_run(const char *backend_name, const model *m, const adapter_set *set, uint32_t chunk, rig_logits *out) {
    static const uint32_t prompt[RIG_TOKENS] = {1, 70, 104, 101, 35, 119, 108, 103, 100};
    static stack k;
    memset(&k, 0, sizeof k);
    if (!open_backend(&k, backend_name)) {
        return false;
    }
    const plan_options options = {.n_ctx = 32,
                                  .max_chunk = 16,
                                  .numeric = QN_NUMERIC_F32ACC,
                                  .state_format = QN_FORMAT_F32,
                                  .deltas = set != NULL ? set->deltas : NULL,
                                  .n_deltas = set != NULL ? set->n_deltas : 0};
    must(&k, plan_create(m, &k.on, &options, &k.p, &k.err));
    must(&k, session_create(k.p, &k.s, &k.err));
    for (uint32_t at = 0; at < RIG_TOKENS; at += chunk) {
        must(&k, session_append(k.s, prompt + at, RIG_TOKENS - at < chunk ? RIG_TOKENS - at : chunk, &k.err));
    }
    memcpy(out->last, k.s->logits, sizeof out->last);
    for (size_t i = 0; i < TINY_VOCABULARY; i++) {
        assert_true(isfinite(out->last[i]));
    }
    session_destroy(k.s);
    plan_destroy(k.p);
    backend_close(&k.on);
    team_destroy(k.workers);
    return true;
}

double rig_distance(const rig_logits *a, const rig_logits *b) {
    double most = 0.0, apart = 0.0;
    for (size_t i = 0; i < TINY_VOCABULARY; i++) {
        most = fmax(most, fabs((double)a->last[i]));
        apart = fmax(apart, fabs((double)a->last[i] - (double)b->last[i]));
    }
    return apart / most;
}

void rig_assert_close(const rig_logits *a, const rig_logits *b, const char *what) {
    const double apart = rig_distance(a, b);
    if (!(apart < 2e-5)) {
        fail_msg("%s: logits are %g apart", what, apart);
    }
}
