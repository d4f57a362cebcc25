/* pretokenize.c — the cutting rules by name, and the walk through their stages. */
#include "text/pretokenize.h"

#include <string.h>

#include "text/pre_stages.h"

enum { MAX_STAGES = 6 };

struct pretokenizer {
    pre_stage_fn *stages[MAX_STAGES + 1]; /* ends with null */
    bool takes_whole_words;
};

static const pretokenizer gpt2_rule = {{pre_gpt2}, false};
static const pretokenizer digit_gpt2_rule = {{pre_number, pre_gpt2}, false};
static const pretokenizer llama3_rule = {{pre_llama3}, false};
static const pretokenizer llama3_whole_rule = {{pre_llama3}, true};
static const pretokenizer qwen2_rule = {{pre_qwen2}, false};
static const pretokenizer qwen35_rule = {{pre_qwen35}, false};
static const pretokenizer tekken_rule = {{pre_tekken}, true};
static const pretokenizer gpt4o_rule = {{pre_gpt4o}, false};
static const pretokenizer falcon_rule = {{pre_falcon_punctuation, pre_gpt2, pre_three_ascii_digits}, false};
static const pretokenizer deepseek_llm_rule = {
    {pre_newline, pre_deepseek_letters, pre_deepseek_punctuation, pre_trailing_space, pre_cjk, pre_number_run}, false};
static const pretokenizer deepseek_coder_rule = {
    {pre_newline, pre_space_letters, pre_space_punctuation, pre_cjk, pre_number}, false};
static const pretokenizer deepseek3_rule = {{pre_one_to_three_numbers, pre_cjk_kana, pre_deepseek3}, false};

/* Names as they stand in model files. The first ones are told in messages; the others are names of the same rules. */
static const struct {
    const char *name;
    const pretokenizer *rule;
} rules[] = {
    {"gpt-2", &gpt2_rule}, {"llama-bpe", &llama3_whole_rule}, {"smollm", &digit_gpt2_rule}, {"qwen2", &qwen2_rule},
    {"qwen35", &qwen35_rule}, {"tekken", &tekken_rule}, {"gpt-4o", &gpt4o_rule}, {"falcon", &falcon_rule},
    {"starcoder", &digit_gpt2_rule}, {"mpt", &gpt2_rule}, {"refact", &digit_gpt2_rule},
    {"command-r", &digit_gpt2_rule}, {"deepseek-llm", &deepseek_llm_rule}, {"deepseek-coder", &deepseek_coder_rule},
    {"deepseek-v3", &deepseek3_rule}, {"deepseek-r1-qwen", &qwen2_rule},

    {"olmo", &gpt2_rule}, {"jais", &gpt2_rule}, {"phi-2", &gpt2_rule}, {"roberta-bpe", &gpt2_rule},
    {"trillion", &gpt2_rule}, {"exaone4", &gpt2_rule}, {"granite-docling", &gpt2_rule}, {"modern-bert", &gpt2_rule},
    {"gigachat", &gpt2_rule}, {"mellum", &gpt2_rule}, {"codeshell", &digit_gpt2_rule}, {"exaone", &digit_gpt2_rule},
    {"minerva-7b", &digit_gpt2_rule}, {"llama3", &llama3_whole_rule}, {"llama-v3", &llama3_whole_rule},
    {"falcon3", &llama3_whole_rule}, {"falcon-h1", &llama3_whole_rule}, {"pixtral", &llama3_whole_rule},
    {"lfm2", &llama3_whole_rule}, {"glm4", &llama3_whole_rule}, {"chatglm-bpe", &llama3_rule}, {"dbrx", &llama3_rule},
    {"smaug-bpe", &llama3_rule}, {"stablelm2", &qwen2_rule}, {"megrez", &qwen2_rule}, {"hunyuan", &qwen2_rule},
    {"llama4", &gpt4o_rule},
};

const pretokenizer *pretokenizer_find(fmt_str name) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strlen(rules[i].name) == name.size && memcmp(rules[i].name, name.data, name.size) == 0) {
            return rules[i].rule;
        }
    }
    return NULL;
}

const char *pretokenizer_names(void) {
    return "gpt-2, llama-bpe, smollm, qwen2, qwen35, tekken, gpt-4o, falcon, starcoder, mpt, refact, command-r, deepseek-llm, "
           "deepseek-coder, deepseek-v3, deepseek-r1-qwen";
}

bool pretokenizer_takes_whole_words(const pretokenizer *pre) {
    return pre->takes_whole_words;
}

typedef struct cutter {
    const uint8_t *table;
    pretokenizer_word_fn *word;
    void *ctx;
} cutter;

/* Cuts [at, end) by *stage and hands the pieces to the stage behind it; the last one's pieces are words. The depth is the
 * number of stages, at most MAX_STAGES. */
static qn_status cut_piece(const cutter *c, pre_stage_fn *const *stage, const uint8_t *at, const uint8_t *end) {
    if (*stage == NULL) {
        return c->word(c->ctx, at, (size_t)(end - at));
    }
    const uint8_t *gap = at;
    while (at < end) {
        bool is_match;
        const uint8_t *next = at + (*stage)(c->table, at, end, &is_match);
        if (is_match) {
            qn_status status = QN_OK;
            if (gap < at) {
                status = cut_piece(c, stage + 1, gap, at);
            }
            if (status >= 0) {
                status = cut_piece(c, stage + 1, at, next);
            }
            if (status < 0) {
                return status;
            }
            gap = next;
        }
        at = next;
    }
    return gap < end ? cut_piece(c, stage + 1, gap, end) : QN_OK;
}

qn_status pretokenizer_cut(const pretokenizer *pre, const uint8_t *table, const uint8_t *text, size_t size,
                           pretokenizer_word_fn *word, void *ctx) {
    const cutter c = {table, word, ctx};
    return size > 0 ? cut_piece(&c, pre->stages, text, text + size) : QN_OK;
}
