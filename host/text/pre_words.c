/* pre_words.c — the cutting rules of GPT-2 and of those after it, each a scanner over one word. */
#include "text/pre_stages.h"

/* Size of one of 's 't 'm 'd 're 've 'll at `at`, or 0. */
static size_t find_contraction(const uint8_t *at, const uint8_t *end, bool any_case) {
    if (*at != '\'' || end - at < 2) {
        return 0;
    }
    const uint8_t fold = any_case ? 0x20 : 0;
    const uint8_t first = at[1] | fold;
    if (first == 's' || first == 't' || first == 'm' || first == 'd') {
        return 2;
    }
    if (end - at < 3) {
        return 0;
    }
    const uint8_t second = at[2] | fold;
    return (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l') ? 3 : 0;
}

size_t pre_white_space(const uint8_t *table, const uint8_t *at, const uint8_t *end) {
    const uint8_t *run = at, *last = at;
    unsigned size;
    while (run < end && (unicode_class_at(table, run, &size) & UNICODE_SPACE) != 0) {
        last = run;
        run += size;
    }
    return (size_t)((run == end || last == at ? run : last) - at);
}

size_t pre_lines_or_space(const uint8_t *table, const uint8_t *at, const uint8_t *end) {
    const uint8_t *run = at, *after_newline = NULL;
    unsigned size;
    while (run < end && (unicode_class_at(table, run, &size) & UNICODE_SPACE) != 0) {
        if (pre_is_newline(*run)) {
            after_newline = run + 1;
        }
        run += size;
    }
    return after_newline != NULL ? (size_t)(after_newline - at) : pre_white_space(table, at, end);
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
size_t pre_gpt2(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    *is_match = true;
    const size_t contraction = find_contraction(at, end, false);
    if (contraction > 0) {
        return contraction;
    }
    const uint8_t *body = *at == ' ' && end - at > 1 ? at + 1 : at;
    unsigned size;
    const unsigned class = unicode_class_at(table, body, &size);
    if ((class & UNICODE_SPACE) != 0) {
        return pre_white_space(table, at, end);
    }
    const uint8_t *next = body + size;
    if ((class & UNICODE_LETTER) != 0) {
        next = pre_skip(table, next, end, UNICODE_LETTER);
    } else if ((class & UNICODE_NUMBER) != 0) {
        next = pre_skip(table, next, end, UNICODE_NUMBER);
    } else {
        next = pre_skip_until(table, next, end, UNICODE_SPACE | UNICODE_LETTER | UNICODE_NUMBER);
    }
    return (size_t)(next - at);
}

/* What the rules after GPT-2 differ in. */
typedef struct word_rule {
    unsigned letters;  /* classes that make up words */
    unsigned n_digits; /* longest run of numbers that stays together */
    bool takes_slash;  /* a slash may stand among the line breaks behind punctuation */
} word_rule;

/* \p{N}{1,n}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ where no word begins */
static size_t scan_non_word(const uint8_t *table, const uint8_t *at, const uint8_t *end, const word_rule *rule) {
    unsigned size;
    unsigned class = unicode_class_at(table, at, &size);
    if ((class & UNICODE_NUMBER) != 0) {
        const uint8_t *next = at;
        for (unsigned i = 0; i < rule->n_digits && next < end; i++) {
            if ((unicode_class_at(table, next, &size) & UNICODE_NUMBER) == 0) {
                break;
            }
            next += size;
        }
        return (size_t)(next - at);
    }
    const uint8_t *body = at;
    if (*at == ' ' && end - at > 1) {
        body = at + 1;
        class = unicode_class_at(table, body, &size);
    }
    const unsigned stop = UNICODE_SPACE | UNICODE_NUMBER | UNICODE_LETTER | rule->letters;
    if ((class & stop) != 0) {
        return pre_lines_or_space(table, at, end);
    }
    const uint8_t *next = pre_skip_until(table, body, end, stop);
    while (next < end && (pre_is_newline(*next) || (rule->takes_slash && *next == '/'))) {
        next++;
    }
    return (size_t)(next - at);
}

/* (?i:'s|...)|[^\r\n\p{L}\p{N}]?LETTERS+|and the rest */
static size_t scan_word(const uint8_t *table, const uint8_t *at, const uint8_t *end, const word_rule *rule) {
    const size_t contraction = find_contraction(at, end, true);
    if (contraction > 0) {
        return contraction;
    }
    unsigned size, next_size;
    const unsigned class = unicode_class_at(table, at, &size);
    if ((class & rule->letters) != 0) {
        return (size_t)(pre_skip(table, at + size, end, rule->letters) - at);
    }
    const bool may_lead = (class & UNICODE_NUMBER) == 0 && !pre_is_newline(*at);
    if (may_lead && at + size < end && (unicode_class_at(table, at + size, &next_size) & rule->letters) != 0) {
        return (size_t)(pre_skip(table, at + size + next_size, end, rule->letters) - at);
    }
    return scan_non_word(table, at, end, rule);
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ */
size_t pre_llama3(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    static const word_rule rule = {UNICODE_LETTER, 3, false};
    *is_match = true;
    return scan_word(table, at, end, &rule);
}

/* The same with \p{N}. */
size_t pre_qwen2(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    static const word_rule rule = {UNICODE_LETTER, 1, false};
    *is_match = true;
    return scan_word(table, at, end, &rule);
}

/* The same with \p{N}, and marks are part of words. */
size_t pre_qwen35(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    static const word_rule rule = {UNICODE_LETTER | UNICODE_MARK, 1, false};
    *is_match = true;
    return scan_word(table, at, end, &rule);
}

enum {
    HEAD_CLASSES = UNICODE_UPPER | UNICODE_OTHER_LETTER | UNICODE_MARK,
    TAIL_CLASSES = UNICODE_LOWER | UNICODE_OTHER_LETTER | UNICODE_MARK
};

/* End of HEAD*TAIL+ at `at`, or null. The head is greedy and gives back no more than it must. */
static const uint8_t *find_tailed_word(const uint8_t *table, const uint8_t *at, const uint8_t *end) {
    const uint8_t *after_shared = NULL; /* behind the last character that may stand in head and tail */
    unsigned size, class;
    while (at < end && ((class = unicode_class_at(table, at, &size)) & HEAD_CLASSES) != 0) {
        at += size;
        if ((class & TAIL_CLASSES) != 0) {
            after_shared = at;
        }
    }
    const uint8_t *tail_end = pre_skip(table, at, end, TAIL_CLASSES);
    return tail_end > at ? tail_end : after_shared;
}

/* [^\r\n\p{L}\p{N}]?HEAD*TAIL+|[^\r\n\p{L}\p{N}]?HEAD+TAIL* ; 0 when neither is there */
static size_t scan_cased_word(const uint8_t *table, const uint8_t *at, const uint8_t *end) {
    unsigned size;
    const unsigned class = unicode_class_at(table, at, &size);
    const bool may_lead = (class & (UNICODE_LETTER | UNICODE_NUMBER)) == 0 && !pre_is_newline(*at);
    const uint8_t *word = may_lead ? at + size : at;
    const uint8_t *word_end = find_tailed_word(table, word, end);
    if (word_end == NULL && may_lead) {
        word_end = find_tailed_word(table, at, end); /* a mark may be a word by itself */
    }
    if (word_end == NULL) {
        word_end = pre_skip(table, word, end, HEAD_CLASSES);
        if (word_end == word) {
            return 0;
        }
    }
    return (size_t)(word_end - at);
}

/* The cased word, \p{N}, then as above with [\r\n/]* behind punctuation. */
size_t pre_tekken(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    static const word_rule rule = {UNICODE_LETTER, 1, true};
    *is_match = true;
    const size_t word = scan_cased_word(table, at, end);
    return word > 0 ? word : scan_non_word(table, at, end, &rule);
}

/* The same with \p{N}{1,3}, and a contraction belongs to the word before it. */
size_t pre_gpt4o(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    static const word_rule rule = {UNICODE_LETTER, 3, true};
    *is_match = true;
    const size_t word = scan_cased_word(table, at, end);
    if (word == 0) {
        return scan_non_word(table, at, end, &rule);
    }
    return at + word < end ? word + find_contraction(at + word, end, true) : word;
}
