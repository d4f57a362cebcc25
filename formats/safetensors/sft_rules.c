/* sft_rules.c — the rule table and the table of element types. */
#include <string.h>

#include "sft_internal.h"

static const fmt_rule rules[] = {
#define SFT_RULE(name, id, section, sentence) {id, section, sentence},
#include "rules.def"
#undef SFT_RULE
};

#define NO_BLOCK UINT32_MAX

/* Indexed by sft_dtype. */
static const struct {
    const char *name;
    uint32_t bits;
    blk_type block;
} dtypes[SFT_N_DTYPES] = {
    {"BOOL", 8, NO_BLOCK},    {"F4", 4, NO_BLOCK},      {"F6_E2M3", 6, NO_BLOCK}, {"F6_E3M2", 6, NO_BLOCK},
    {"U8", 8, NO_BLOCK},      {"I8", 8, BLK_I8},        {"F8_E5M2", 8, NO_BLOCK}, {"F8_E4M3", 8, NO_BLOCK},
    {"F8_E8M0", 8, NO_BLOCK}, {"I16", 16, BLK_I16},     {"U16", 16, NO_BLOCK},    {"F16", 16, BLK_F16},
    {"BF16", 16, BLK_BF16},   {"I32", 32, BLK_I32},     {"U32", 32, NO_BLOCK},    {"F32", 32, BLK_F32},
    {"C64", 64, NO_BLOCK},    {"F64", 64, BLK_F64},     {"I64", 64, BLK_I64},     {"U64", 64, NO_BLOCK},
};

const fmt_rule *sft_get_rule(sft_rule_no rule) {
    return &rules[rule];
}

const fmt_rule *sft_rules(uint64_t *out_count) {
    *out_count = SFT_N_RULES;
    return rules;
}

sft_dtype sft_find_dtype(const char *name) {
    sft_dtype dtype = 0;
    while (dtype < SFT_N_DTYPES && strcmp(dtypes[dtype].name, name) != 0) {
        dtype++;
    }
    return dtype;
}

const char *sft_dtype_name(sft_dtype dtype) {
    return dtype < SFT_N_DTYPES ? dtypes[dtype].name : "unknown";
}

uint32_t sft_dtype_bits(sft_dtype dtype) {
    return dtype < SFT_N_DTYPES ? dtypes[dtype].bits : 0;
}

bool sft_dtype_to_block(sft_dtype dtype, blk_type *out_type) {
    if (dtype >= SFT_N_DTYPES || dtypes[dtype].block == NO_BLOCK) {
        return false;
    }
    *out_type = dtypes[dtype].block;
    return true;
}
