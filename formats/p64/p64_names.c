/* p64_names.c — sections 6.1 to 6.3: roles, the names that give them, and the hash that keeps the source name. */
#include <stdio.h>
#include <string.h>

#include "common/fnv.h"
#include "p64_layout.h"

typedef struct role_row {
    p64_role role;
    const char *suffix; /* GGUF name without "blk.L." and ".weight"; null when no GGUF name gives this role */
    const char *text;
} role_row;

/* Layer roles in the order of the layer-major table. */
static const role_row layer_roles[] = {
    {P64_ROLE_ATTN_NORM, "attn_norm", "attention norm"},
    {P64_ROLE_ATTN_Q, "attn_q", "attention Q"},
    {P64_ROLE_ATTN_K, "attn_k", "attention K"},
    {P64_ROLE_ATTN_V, "attn_v", "attention V"},
    {P64_ROLE_ATTN_OUTPUT, "attn_output", "attention output"},
    {P64_ROLE_FFN_NORM, "ffn_norm", "FFN norm"},
    {P64_ROLE_ATTN_SUB_NORM, NULL, "attention sub-norm"},
    {P64_ROLE_FFN_SUB_NORM, NULL, "FFN sub-norm"},
    {P64_ROLE_FFN_GATE, "ffn_gate", "FFN gate"},
    {P64_ROLE_FFN_UP, "ffn_up", "FFN up"},
    {P64_ROLE_FFN_DOWN, "ffn_down", "FFN down"},
    {P64_ROLE_MOE_ROUTER, "ffn_gate_inp", "MoE router"},
    {P64_ROLE_MOE_GATE, "ffn_gate_exps", "MoE expert gate"},
    {P64_ROLE_MOE_UP, "ffn_up_exps", "MoE expert up"},
    {P64_ROLE_MOE_DOWN, "ffn_down_exps", "MoE expert down"},
    {P64_ROLE_MOE_SHARED_GATE, "ffn_gate_shexp", "MoE shared gate"},
    {P64_ROLE_MOE_SHARED_UP, "ffn_up_shexp", "MoE shared up"},
    {P64_ROLE_MOE_SHARED_DOWN, "ffn_down_shexp", "MoE shared down"},
};

static const role_row global_roles[] = {
    {P64_ROLE_TOKEN_EMBD, "token_embd", "token embedding"},
    {P64_ROLE_OUTPUT, "output", "output head"},
    {P64_ROLE_OUTPUT_NORM, "output_norm", "final norm"},
};

static const role_row vision_roles[] = {
    {P64_ROLE_VISION_CONV, NULL, "vision conv2d"},
    {P64_ROLE_VISION_NORM, NULL, "vision batch-norm"},
    {P64_ROLE_VISION_DENSE, NULL, "vision fully-connected"},
};

#define N_LAYER_ROLES (sizeof layer_roles / sizeof layer_roles[0])
#define N_GLOBAL_ROLES (sizeof global_roles / sizeof global_roles[0])
#define N_VISION_ROLES (sizeof vision_roles / sizeof vision_roles[0])

static uint32_t find_row(const role_row *rows, size_t count, p64_role role) {
    for (size_t i = 0; i < count; i++) {
        if (rows[i].role == role) {
            return (uint32_t)i;
        }
    }
    return UINT32_MAX;
}

uint32_t p64_layer_role_rank(p64_role role) {
    return find_row(layer_roles, N_LAYER_ROLES, role);
}

uint32_t p64_global_role_rank(p64_role role) {
    return find_row(global_roles, N_GLOBAL_ROLES, role);
}

const char *p64_role_name(p64_role role) {
    uint32_t row = p64_layer_role_rank(role);
    if (row != UINT32_MAX) {
        return layer_roles[row].text;
    }
    row = p64_global_role_rank(role);
    if (row != UINT32_MAX) {
        return global_roles[row].text;
    }
    row = find_row(vision_roles, N_VISION_ROLES, role);
    return row != UINT32_MAX ? vision_roles[row].text : "unknown";
}

/* True when text[0..size) is `stem` followed by ".weight". */
static bool is_weight_of(const char *text, uint64_t size, const char *stem) {
    const size_t length = strlen(stem);
    return size == length + 7 && memcmp(text, stem, length) == 0 && memcmp(text + length, ".weight", 7) == 0;
}

/* Reads `beginning`, then "L." with L in decimal without leading zeros; answers the bytes used, 0 when it is not there. */
static uint64_t parse_layer(const char *name, uint64_t size, const char *beginning, uint32_t *out_layer) {
    const uint64_t digits = strlen(beginning);
    if (size < digits + 2 || memcmp(name, beginning, digits) != 0) {
        return 0;
    }
    uint64_t at = digits, layer = 0;
    while (at < size && at < digits + 10 && name[at] >= '0' && name[at] <= '9') {
        layer = layer * 10 + (uint64_t)(name[at] - '0');
        at++;
    }
    const bool has_leading_zero = name[digits] == '0' && at > digits + 1;
    if (at == digits || has_leading_zero || layer >= UINT32_MAX || at >= size || name[at] != '.') {
        return 0;
    }
    *out_layer = (uint32_t)layer;
    return at + 1;
}

p64_role p64_role_of_gguf_name(const char *name, uint64_t size, uint32_t n_layer, uint32_t *out_layer) {
    uint32_t layer = 0;
    *out_layer = P64_NO_LAYER;
    for (size_t i = 0; i < N_GLOBAL_ROLES; i++) {
        if (is_weight_of(name, size, global_roles[i].suffix)) {
            return global_roles[i].role;
        }
    }
    const uint64_t used = parse_layer(name, size, "blk.", &layer);
    if (used == 0 || layer >= n_layer) {
        return P64_ROLE_UNKNOWN;
    }
    for (size_t i = 0; i < N_LAYER_ROLES; i++) {
        if (layer_roles[i].suffix != NULL && is_weight_of(name + used, size - used, layer_roles[i].suffix)) {
            *out_layer = layer;
            return layer_roles[i].role;
        }
    }
    return P64_ROLE_UNKNOWN;
}

/* Hugging Face's names without ".weight": behind "model.layers.L.", and global ones. */
static const struct {
    const char *stem;
    p64_role role;
} hf_layer_names[] = {
    {"self_attn.q_proj", P64_ROLE_ATTN_Q},
    {"self_attn.k_proj", P64_ROLE_ATTN_K},
    {"self_attn.v_proj", P64_ROLE_ATTN_V},
    {"self_attn.o_proj", P64_ROLE_ATTN_OUTPUT},
    {"mlp.gate_proj", P64_ROLE_FFN_GATE},
    {"mlp.up_proj", P64_ROLE_FFN_UP},
    {"mlp.down_proj", P64_ROLE_FFN_DOWN},
    {"input_layernorm", P64_ROLE_ATTN_NORM},
    {"post_attention_layernorm", P64_ROLE_FFN_NORM},
    {"mlp.gate", P64_ROLE_MOE_ROUTER},
    {"mlp.shared_expert.gate_proj", P64_ROLE_MOE_SHARED_GATE},
    {"mlp.shared_expert.up_proj", P64_ROLE_MOE_SHARED_UP},
    {"mlp.shared_expert.down_proj", P64_ROLE_MOE_SHARED_DOWN},
}, hf_global_names[] = {
    {"model.embed_tokens", P64_ROLE_TOKEN_EMBD},
    {"lm_head", P64_ROLE_OUTPUT},
    {"model.norm", P64_ROLE_OUTPUT_NORM},
};

static p64_role find_hf_role(const char *name, uint64_t size, uint32_t *out_layer) {
    uint32_t layer = 0;
    for (size_t i = 0; i < sizeof hf_global_names / sizeof hf_global_names[0]; i++) {
        if (is_weight_of(name, size, hf_global_names[i].stem)) {
            return hf_global_names[i].role;
        }
    }
    const uint64_t used = parse_layer(name, size, "model.layers.", &layer);
    for (size_t i = 0; used > 0 && i < sizeof hf_layer_names / sizeof hf_layer_names[0]; i++) {
        if (is_weight_of(name + used, size - used, hf_layer_names[i].stem)) {
            *out_layer = layer;
            return hf_layer_names[i].role;
        }
    }
    return P64_ROLE_UNKNOWN;
}

/* Sub-norms have a role in this profile alone. */
static p64_role find_sub_norm_role(const char *name, uint64_t size, uint32_t *out_layer) {
    uint32_t layer = 0;
    const uint64_t used = parse_layer(name, size, "blk.", &layer);
    const bool is_attn = used > 0 && is_weight_of(name + used, size - used, "attn_sub_norm");
    const bool is_ffn = used > 0 && is_weight_of(name + used, size - used, "ffn_sub_norm");
    if (is_attn || is_ffn) {
        *out_layer = layer;
    }
    return is_attn ? P64_ROLE_ATTN_SUB_NORM : is_ffn ? P64_ROLE_FFN_SUB_NORM : P64_ROLE_UNKNOWN;
}

p64_role p64_role_of_raw_name(const char *name, uint64_t size, uint32_t *out_layer) {
    static const char prefix[] = "language_model.";
    const uint64_t skip = size >= sizeof prefix - 1 && memcmp(name, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1
                                                                                                  : 0;
    const p64_role role = p64_role_of_gguf_name(name, size, P64_NO_LAYER, out_layer);
    if (role != P64_ROLE_UNKNOWN) {
        return role;
    }
    const p64_role hf_role = find_hf_role(name + skip, size - skip, out_layer);
    return hf_role != P64_ROLE_UNKNOWN ? hf_role : find_sub_norm_role(name, size, out_layer);
}

bool p64_is_llama_name(const char *name, uint64_t size, uint32_t n_layer) {
    uint32_t layer;
    return p64_role_of_gguf_name(name, size, n_layer, &layer) <= P64_ROLE_OUTPUT_NORM ||
           is_weight_of(name, size, "rope_freqs");
}

void p64_hex_name(uint64_t hash, char out[P64_HEX_NAME_BYTES + 1]) {
    snprintf(out, P64_HEX_NAME_BYTES + 1, "tensor.%016llx", (unsigned long long)hash);
}

bool p64_name_matches_hash(uint16_t flags, p64_role role, fmt_str name, uint64_t hash) {
    const bool is_raw = (flags & P64_FLAG_RAW) != 0;
    if (is_raw && role != P64_ROLE_UNKNOWN) {
        return true;
    }
    const bool is_short = is_raw || (role >= P64_ROLE_VISION_CONV && role <= P64_ROLE_VISION_DENSE);
    const uint64_t full = fnv1a64(name.data, name.size);
    if ((is_short ? full & FNV_Q_MASK : full) == hash) {
        return true;
    }
    char hex[P64_HEX_NAME_BYTES + 1];
    p64_hex_name(hash, hex);
    return name.size == P64_HEX_NAME_BYTES && memcmp(name.data, hex, P64_HEX_NAME_BYTES) == 0;
}

fmt_status p64_check_strings(p64_reader *r) {
    const p64_header *h = &r->file->header;
    const uint64_t at = h->string_table_at;
    if (at < h->manifold_at && r->span.data[at] != 0) {
        return p64_strictly(r, P64_R_STRING_TABLE_START, (p64_at){at, FMT_NO_INDEX, 0, r->span.data[at]},
                            "The string table begins with %02x instead of 00", r->span.data[at]);
    }
    return FMT_OK;
}
