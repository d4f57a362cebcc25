/* gguf_rules.c — the rule table and the names of the value types. */
#include "gguf_internal.h"

static const fmt_rule rules[] = {
#define GGUF_RULE(name, id, section, sentence) {id, section, sentence},
#include "rules.def"
#undef GGUF_RULE
};

/* Indexed by gguf_type; the names are those of the GGUF document. */
static const struct {
    const char *name;
    uint32_t size;
    gguf_class class;
} types[] = {
    {"uint8", 1, GGUF_INTEGERS}, {"int8", 1, GGUF_INTEGERS},   {"uint16", 2, GGUF_INTEGERS},
    {"int16", 2, GGUF_INTEGERS}, {"uint32", 4, GGUF_INTEGERS}, {"int32", 4, GGUF_INTEGERS},
    {"float32", 4, GGUF_FLOATS}, {"bool", 1, GGUF_BOOLS},      {"string", 0, GGUF_STRINGS},
    {"array", 0, GGUF_ARRAYS},   {"uint64", 8, GGUF_INTEGERS}, {"int64", 8, GGUF_INTEGERS},
    {"float64", 8, GGUF_FLOATS},
};

const fmt_rule *gguf_get_rule(gguf_rule_no rule) {
    return &rules[rule];
}

const fmt_rule *gguf_rules(uint64_t *out_count) {
    *out_count = GGUF_N_RULES;
    return rules;
}

const char *gguf_type_name(gguf_type type) {
    return type <= GGUF_F64 ? types[type].name : "unknown";
}

uint32_t gguf_type_size(gguf_type type) {
    return type <= GGUF_F64 ? types[type].size : 0;
}

gguf_class gguf_type_class(gguf_type type) {
    return type <= GGUF_F64 ? types[type].class : GGUF_ANY;
}
