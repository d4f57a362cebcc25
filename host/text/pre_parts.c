/* pre_parts.c — stages that take single kinds of characters out of the text, and the rules of the DeepSeek family. */
#include "text/pre_stages.h"

typedef struct code_range {
    uint32_t first, last;
} code_range;

static uint32_t decode_at(const uint8_t *at, unsigned size) {
    switch (size) {
    case 1: return at[0];
    case 2: return (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
    case 3: return (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    default: return (at[0] & 0x07u) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6 | (at[3] & 0x3fu);
    }
}

/* `ranges` ascend and do not touch. */
static bool is_in_ranges(const code_range *ranges, size_t n_ranges, uint32_t code) {
    size_t low = 0, high = n_ranges;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ranges[middle].last < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n_ranges && ranges[low].first <= code;
}

static const uint8_t *skip_ranges(const uint8_t *table, const uint8_t *at, const uint8_t *end, const code_range *ranges,
                                  size_t n_ranges) {
    unsigned size;
    while (at < end) {
        unicode_class_at(table, at, &size);
        if (!is_in_ranges(ranges, n_ranges, decode_at(at, size))) {
            break;
        }
        at += size;
    }
    return at;
}

/* A match up to `next`, or one character that is none. */
static size_t match_or_pass(const uint8_t *table, const uint8_t *at, const uint8_t *next, bool *is_match) {
    unsigned size;
    *is_match = next > at;
    if (*is_match) {
        return (size_t)(next - at);
    }
    unicode_class_at(table, at, &size);
    return size;
}

/* \p{N} */
size_t pre_number(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    unsigned size;
    *is_match = (unicode_class_at(table, at, &size) & UNICODE_NUMBER) != 0;
    return *is_match ? size : (size_t)(pre_skip_until(table, at + size, end, UNICODE_NUMBER) - at);
}

/* \p{N}+ */
size_t pre_number_run(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    return match_or_pass(table, at, pre_skip(table, at, end, UNICODE_NUMBER), is_match);
}

/* \p{N}{1,3} */
size_t pre_one_to_three_numbers(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    const uint8_t *next = at;
    unsigned size;
    for (int i = 0; i < 3 && next < end && (unicode_class_at(table, next, &size) & UNICODE_NUMBER) != 0; i++) {
        next += size;
    }
    return match_or_pass(table, at, next, is_match);
}

/* [0-9][0-9][0-9] */
size_t pre_three_ascii_digits(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    const uint8_t *next = at;
    while (next < end && next - at < 3 && *next >= '0' && *next <= '9') {
        next++;
    }
    return match_or_pass(table, at, next - at == 3 ? next : at, is_match);
}

/* [\r\n] */
size_t pre_newline(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    unsigned size;
    (void)end;
    unicode_class_at(table, at, &size);
    *is_match = pre_is_newline(*at);
    return size;
}

static bool is_falcon_punctuation(unsigned class, uint8_t lead) {
    switch (lead) {
    case '$': case '+': case '<': case '=': case '>': case '^': case '~': case '|': case '`': return true;
    default: return (class & UNICODE_PUNCTUATION) != 0;
    }
}

/* [\p{P}\$\+<=>\^~\|`]+ */
size_t pre_falcon_punctuation(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    const uint8_t *next = at;
    while (next < end) {
        unsigned size;
        const unsigned class = unicode_class_at(table, next, &size);
        if (!is_falcon_punctuation(class, *next)) {
            break;
        }
        next += size;
    }
    return match_or_pass(table, at, next, is_match);
}

/* Where the body of \s?X begins: behind one white-space character, if there is one and something follows it. */
static const uint8_t *skip_one_space(const uint8_t *table, const uint8_t *at, const uint8_t *end) {
    unsigned size;
    const bool is_space = (unicode_class_at(table, at, &size) & UNICODE_SPACE) != 0;
    return is_space && at + size < end ? at + size : at;
}

static size_t scan_spaced_class(const uint8_t *table, const uint8_t *at, const uint8_t *end, unsigned mask, bool *is_match) {
    const uint8_t *body = skip_one_space(table, at, end);
    const uint8_t *next = pre_skip(table, body, end, mask);
    return match_or_pass(table, at, next > body ? next : at, is_match);
}

/* \s?\p{L}+ */
size_t pre_space_letters(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    return scan_spaced_class(table, at, end, UNICODE_LETTER, is_match);
}

/* \s?\p{P}+ */
size_t pre_space_punctuation(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    return scan_spaced_class(table, at, end, UNICODE_PUNCTUATION, is_match);
}

/* The cased letters that DeepSeek's rule lists one by one (an older list than today's Unicode, so it cannot be computed). */
static const code_range cased_letters[] = {
    {0x00041, 0x0005a}, {0x00061, 0x0007a}, {0x000b5, 0x000b5}, {0x000c0, 0x000d6}, {0x000d8, 0x000f6}, {0x000f8, 0x001ba},
    {0x001bc, 0x001bf}, {0x001c4, 0x00293}, {0x00295, 0x002af}, {0x00370, 0x00373}, {0x00376, 0x00377}, {0x0037b, 0x0037d},
    {0x0037f, 0x0037f}, {0x00386, 0x00386}, {0x00388, 0x0038a}, {0x0038c, 0x0038c}, {0x0038e, 0x003a1}, {0x003a3, 0x003f5},
    {0x003f7, 0x00481}, {0x0048a, 0x0052f}, {0x00531, 0x00556}, {0x010a0, 0x010c5}, {0x013a0, 0x013f5}, {0x013f8, 0x013fd},
    {0x01c90, 0x01cba}, {0x01cbd, 0x01cbf}, {0x01d00, 0x01d2b}, {0x01d6b, 0x01d77}, {0x01d79, 0x01d9a}, {0x01e00, 0x01f15},
    {0x01f18, 0x01f1d}, {0x01f20, 0x01f45}, {0x01f48, 0x01f4d}, {0x01f50, 0x01f57}, {0x01f59, 0x01f59}, {0x01f5b, 0x01f5b},
    {0x01f5d, 0x01f5d}, {0x01f5f, 0x01f7d}, {0x01f80, 0x01fb4}, {0x01fb6, 0x01fbc}, {0x01fbe, 0x01fbe}, {0x01fc2, 0x01fc4},
    {0x01fc6, 0x01fcc}, {0x01fd0, 0x01fd3}, {0x01fd6, 0x01fdb}, {0x01fe0, 0x01fec}, {0x01ff2, 0x01ff4}, {0x01ff6, 0x01ffc},
    {0x02102, 0x02102}, {0x02107, 0x02107}, {0x0210a, 0x02113}, {0x02115, 0x02115}, {0x02119, 0x0211d}, {0x02124, 0x02124},
    {0x02126, 0x02126}, {0x02128, 0x02128}, {0x0212a, 0x0212d}, {0x0212f, 0x02134}, {0x02139, 0x02139}, {0x0213c, 0x0213f},
    {0x02145, 0x02149}, {0x0214e, 0x0214e}, {0x02183, 0x02184}, {0x02c00, 0x02c7b}, {0x02c7e, 0x02ce4}, {0x02ceb, 0x02cee},
    {0x02cf2, 0x02cf3}, {0x0a640, 0x0a66d}, {0x0a680, 0x0a69b}, {0x0a722, 0x0a76f}, {0x0a771, 0x0a787}, {0x0a78b, 0x0a78e},
    {0x0ab70, 0x0abbf}, {0x0fb00, 0x0fb06}, {0x0fb13, 0x0fb17}, {0x0ff21, 0x0ff3a}, {0x0ff41, 0x0ff5a}, {0x10400, 0x1044f},
    {0x104b0, 0x104d3}, {0x104d8, 0x104fb}, {0x10c80, 0x10cb2}, {0x10cc0, 0x10cf2}, {0x118a0, 0x118df}, {0x1e900, 0x1e943}};

/* [!-/:-~！-／：-～‘-‟　-。] : from ':' on the range runs through the ASCII letters, as published. */
static const code_range deepseek_punctuation[] = {
    {0x0021, 0x002f}, {0x003a, 0x007e}, {0x2018, 0x201f}, {0x3000, 0x3002}, {0xff01, 0xff0f}, {0xff1a, 0xff5e}};

/* [一-龥ࠀ-一가-퟿] and [一-龥぀-ゟ゠-ヿ] */
static const code_range cjk[] = {{0x0800, 0x9fa5}, {0xac00, 0xd7ff}};
static const code_range cjk_kana[] = {{0x3040, 0x30ff}, {0x4e00, 0x9fa5}};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* \s?[cased letters]+ */
size_t pre_deepseek_letters(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    const uint8_t *body = skip_one_space(table, at, end);
    const uint8_t *next = skip_ranges(table, body, end, cased_letters, COUNT_OF(cased_letters));
    return match_or_pass(table, at, next > body ? next : at, is_match);
}

/* \s?[punctuation]+ ; U+3000 is white space and punctuation in one */
size_t pre_deepseek_punctuation(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    const uint8_t *body = skip_one_space(table, at, end);
    const uint8_t *next = skip_ranges(table, body, end, deepseek_punctuation, COUNT_OF(deepseek_punctuation));
    if (next == body) { /* the space was none, or it is itself the punctuation */
        next = skip_ranges(table, at, body, deepseek_punctuation, COUNT_OF(deepseek_punctuation));
    }
    return match_or_pass(table, at, next, is_match);
}

/* \s+$ */
size_t pre_trailing_space(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    const uint8_t *next = pre_skip(table, at, end, UNICODE_SPACE);
    if (next > at) {
        *is_match = next == end;
        return (size_t)(next - at);
    }
    return match_or_pass(table, at, at, is_match);
}

/* [一-龥ࠀ-一가-퟿]+ */
size_t pre_cjk(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    return match_or_pass(table, at, skip_ranges(table, at, end, cjk, COUNT_OF(cjk)), is_match);
}

/* [一-龥぀-ゟ゠-ヿ]+ */
size_t pre_cjk_kana(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    return match_or_pass(table, at, skip_ranges(table, at, end, cjk_kana, COUNT_OF(cjk_kana)), is_match);
}

static bool is_ascii_letter(uint8_t byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_ascii_punctuation(uint8_t byte) {
    return byte > ' ' && byte < 0x7f && !is_ascii_letter(byte) && !(byte >= '0' && byte <= '9');
}

/* [ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ */
size_t pre_deepseek3(const uint8_t *table, const uint8_t *at, const uint8_t *end, bool *is_match) {
    enum { WORD = UNICODE_LETTER | UNICODE_MARK, SIGN = UNICODE_PUNCTUATION | UNICODE_SYMBOL };
    *is_match = true;
    if (is_ascii_punctuation(*at) && end - at > 1 && is_ascii_letter(at[1])) {
        const uint8_t *next = at + 2;
        while (next < end && is_ascii_letter(*next)) {
            next++;
        }
        return (size_t)(next - at);
    }
    unsigned size, next_size = 0;
    const unsigned class = unicode_class_at(table, at, &size);
    if ((class & WORD) != 0) {
        return (size_t)(pre_skip(table, at + size, end, WORD) - at);
    }
    const unsigned next_class = at + size < end ? unicode_class_at(table, at + size, &next_size) : 0;
    if ((class & SIGN) == 0 && !pre_is_newline(*at) && (next_class & WORD) != 0) {
        return (size_t)(pre_skip(table, at + size + next_size, end, WORD) - at);
    }
    if ((class & SIGN) != 0 || (*at == ' ' && (next_class & SIGN) != 0)) {
        const uint8_t *next = pre_skip(table, at + size, end, SIGN);
        while (next < end && pre_is_newline(*next)) {
            next++;
        }
        return (size_t)(next - at);
    }
    if ((class & UNICODE_SPACE) != 0) {
        return pre_lines_or_space(table, at, end);
    }
    *is_match = false;
    return size;
}
