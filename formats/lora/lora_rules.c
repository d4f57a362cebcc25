/* lora_rules.c — the rule table, roles, and the checks that both versions share. */
#include "lora_internal.h"

#include <math.h>

#include "common/checked.h"

static const fmt_rule rules[] = {
#define LORA_RULE(name, id, section, sentence) {id, section, sentence},
#include "rules.def"
#undef LORA_RULE
};

static const struct {
    lora_role role;
    const char *name;
    bool has_layer;
} roles[] = {{LORA_ATTN_K, "attn_k", true},       {LORA_ATTN_V, "attn_v", true},
             {LORA_ATTN_Q, "attn_q", true},       {LORA_ATTN_OUTPUT, "attn_output", true},
             {LORA_FFN_GATE, "ffn_gate", true},   {LORA_FFN_UP, "ffn_up", true},
             {LORA_FFN_DOWN, "ffn_down", true},   {LORA_TOKEN_EMBD, "token_embd", false},
             {LORA_OUTPUT, "output", false},      {LORA_EMBEDDING, "embedding", false},
             {LORA_ATTN_QKV, "attn_qkv", true},   {LORA_FFN_GATE_UP, "ffn_gate_up", true}};
#define N_ROLES (sizeof roles / sizeof roles[0])

const fmt_rule *lora_get_rule(lora_rule_no rule) {
    return &rules[rule];
}

const fmt_rule *lora_rules(uint64_t *out_count) {
    *out_count = LORA_N_RULES;
    return rules;
}

static size_t find_role(lora_role role) {
    size_t i = 0;
    while (i < N_ROLES && roles[i].role != role) {
        i++;
    }
    return i;
}

const char *lora_role_name(lora_role role) {
    const size_t i = find_role(role);
    return i < N_ROLES ? roles[i].name : NULL;
}

bool lora_role_has_layer(lora_role role) {
    const size_t i = find_role(role);
    return i < N_ROLES && roles[i].has_layer;
}

float lora_scale(const lora_entry *entry) {
    return entry->alpha / (float)entry->rank;
}

int lora_compare(const lora_pair *left, const lora_pair *right) {
    if (left->layer != right->layer) {
        return left->layer < right->layer ? -1 : 1;
    }
    return left->role < right->role ? -1 : left->role > right->role;
}

fmt_status lora_check_place(const lora_entry *entry, uint64_t at, uint64_t index, fmt_status refused, fmt_diag *diag) {
    if (lora_role_name(entry->role) == NULL) {
        const diag_place place = {at + LORA_ENTRY_ROLE_AT, index, 0, entry->role};
        return lora_refuse(diag, refused, LORA_R_ROLE, place, "entry %llu has role %u", (unsigned long long)index,
                           entry->role);
    }
    const bool has_layer = lora_role_has_layer(entry->role);
    if (has_layer ? entry->layer >= LORA_MAX_LAYERS : entry->layer != LORA_NO_LAYER) {
        const diag_place place = {at + LORA_ENTRY_LAYER_AT, index, has_layer ? 0 : LORA_NO_LAYER, entry->layer};
        return lora_refuse(diag, refused, LORA_R_LAYER, place, "entry %llu, %s, has layer %u", (unsigned long long)index,
                           lora_role_name(entry->role), entry->layer);
    }
    return FMT_OK;
}

/* The bytes of [rows][width]; false when they do not fit. */
static bool count_bytes(uint64_t rows, uint64_t width, blk_type type, uint64_t *out_bytes) {
    uint64_t elements;
    return checked_mul(rows, width, &elements) && checked_mul(elements, type == BLK_F16 ? 2 : 4, out_bytes);
}

fmt_status lora_check_shape(lora_entry *entry, const lora_places *places, fmt_status refused, fmt_diag *diag) {
    uint64_t sum;
    if (entry->rank == 0) {
        const diag_place place = {places->rank_at, places->index, 1, 0};
        return lora_refuse(diag, refused, LORA_R_RANK, place, "the rank is 0");
    }
    if (!isfinite(entry->alpha)) {
        const diag_place place = {places->alpha_at, places->index, 0, 0};
        return lora_refuse(diag, refused, LORA_R_ALPHA, place, "alpha is %g", (double)entry->alpha);
    }
    if (entry->n_in == 0 || entry->n_out == 0) {
        const diag_place place = {entry->n_in == 0 ? places->in_at : places->out_at, places->index, 1, 0};
        return lora_refuse(diag, refused, LORA_R_DIMS, place, "n_in is %u and n_out %u", entry->n_in, entry->n_out);
    }
    if (entry->type != BLK_F32 && entry->type != BLK_F16) {
        return FMT_OK; /* the next rule's business */
    }
    if (!count_bytes(entry->rank, entry->n_in, entry->type, &entry->a_bytes) ||
        !count_bytes(entry->n_out, entry->rank, entry->type, &entry->b_bytes) ||
        !checked_add(entry->a_bytes, entry->b_bytes, &sum)) {
        const diag_place place = {places->rank_at, places->index, 0, entry->rank};
        return lora_refuse(diag, refused, LORA_R_SIZE, place, "rank %u, n_in %u and n_out %u", entry->rank, entry->n_in,
                           entry->n_out);
    }
    return FMT_OK;
}

bool lora_place_matrices(lora_entry *entry, uint64_t *end) {
    return checked_align(*end, LORA_ALIGNMENT, &entry->a_at) && checked_add(entry->a_at, entry->a_bytes, end) &&
           checked_align(*end, LORA_ALIGNMENT, &entry->b_at) && checked_add(entry->b_at, entry->b_bytes, end);
}
