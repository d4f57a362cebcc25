/* pre_stages.h — the scanners from which cutting rules are made (internal to pretokenize.c).
 *
 * A stage stands at `at` in a piece that ends at `end` (at < end) and says how many bytes belong together. With *is_match they
 * are a word of their own; without, they join what was not matched around them, and that gap is a word. The comment of
 * each stage gives the regular expression that it does the work of.
 *
 * Threading: pure.
 */
#ifndef HOST_PRE_STAGES_H
#define HOST_PRE_STAGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/unicode_class.h"

typedef size_t pre_stage_fn(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match);

/* Whole rules (pre_words.c): every byte is matched. */
pre_stage_fn pre_gpt2, pre_llama3, pre_qwen2, pre_qwen35, pre_tekken, pre_gpt4o;

/* Parts of rules (pre_parts.c). */
pre_stage_fn pre_number, pre_three_ascii_digits, pre_one_to_three_numbers, pre_newline, pre_falcon_punctuation,
    pre_space_letters, pre_space_punctuation, pre_deepseek_letters, pre_deepseek_punctuation, pre_trailing_space, pre_cjk,
    pre_number_run, pre_cjk_kana, pre_deepseek3;

/* First position in [at, end) whose class shares no bit with `mask`. */
static inline const uint8_t *pre_skip(const uint8_t *table, const uint8_t *at, const uint8_t *end, unsigned mask) {
    unsigned size;
    while (at < end && (unicode_class_at(table, at, &size) & mask) != 0) {
        at += size;
    }
    return at;
}

/* First position in [at, end) whose class shares a bit with `mask`. */
static inline const uint8_t *pre_skip_until(const uint8_t *table, const uint8_t *at, const uint8_t *end, unsigned mask) {
    unsigned size;
    while (at < end && (unicode_class_at(table, at, &size) & mask) == 0) {
        at += size;
    }
    return at;
}

static inline bool pre_is_newline(uint8_t byte) {
    return byte == '\n' || byte == '\r';
}

/* \s+(?!\S)|\s+ at a white-space character: the run, without its last character when text follows. */
size_t pre_white_space(const uint8_t *table, const uint8_t *at, const uint8_t *end);

/* \s*[\r\n]+|\s+(?!\S)|\s+ at a white-space character. */
size_t pre_lines_or_space(const uint8_t *table, const uint8_t *at, const uint8_t *end);

#endif
