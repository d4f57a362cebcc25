/* prompt_words.c — the words of a prompt, and names that stand in it. */
#include "ground/prompt_words.h"

#include <string.h>

enum { MOST_NAME_WORDS = 16, COMMON_WEIGHT = 1, BASE_WEIGHT = 8, MOST_WEIGHT = 32, IRI_WEIGHT = 64 };

void word_set_put(word_set *set, uint32_t number) {
    set->bits[number / 64] |= UINT64_C(1) << (number % 64);
}

void word_set_add(word_set *a, const word_set *b) {
    for (uint32_t i = 0; i < PROMPT_MAX_DISTINCT / 64; i++) {
        a->bits[i] |= b->bits[i];
    }
}

uint32_t prompt_words_weigh(const prompt_words *words, const word_set *set) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < words->n_distinct; i++) {
        sum += (set->bits[i / 64] >> (i % 64) & 1) != 0 ? words->weights[i] : 0;
    }
    return sum;
}

static uint16_t find_word(const prompt_words *words, const text_word *word, uint32_t *out_slot) {
    uint32_t slot = (uint32_t)word->hash & (PROMPT_SLOTS - 1);
    while (words->slots[slot] != 0 && !text_word_equals(&words->distinct[words->slots[slot] - 1], word)) {
        slot = (slot + 1) & (PROMPT_SLOTS - 1);
    }
    *out_slot = slot;
    return words->slots[slot] != 0 ? (uint16_t)(words->slots[slot] - 1) : PROMPT_NO_WORD;
}

static uint8_t weigh(const text_word *word) {
    const uint32_t weight = BASE_WEIGHT + word->size;
    return text_word_is_common(word) ? COMMON_WEIGHT : weight > MOST_WEIGHT ? MOST_WEIGHT : (uint8_t)weight;
}

/* Number of the word, which may be new. */
static uint16_t number_word(prompt_words *words, const text_word *word) {
    uint32_t slot;
    const uint16_t known = find_word(words, word, &slot);
    if (known != PROMPT_NO_WORD || words->n_distinct == PROMPT_MAX_DISTINCT) {
        return known;
    }
    const uint16_t number = (uint16_t)words->n_distinct++;
    words->distinct[number] = *word;
    words->weights[number] = weigh(word);
    words->first[number] = PROMPT_NO_WORD;
    words->slots[slot] = (uint16_t)(number + 1);
    return number;
}

static void append_word(prompt_words *words, uint16_t number) {
    if (words->n_words < PROMPT_MAX_WORDS) {
        words->sequence[words->n_words++] = number;
    }
}

/* Links the places of each word, the last one first, so that `first` ends up as the earliest. */
static void link_places(prompt_words *words) {
    for (uint32_t place = words->n_words; place-- > 0;) {
        const uint16_t number = words->sequence[place];
        words->next[place] = number != PROMPT_NO_WORD ? words->first[number] : PROMPT_NO_WORD;
        if (number != PROMPT_NO_WORD) {
            words->first[number] = (uint16_t)place;
        }
    }
}

/* ------------------------------------------------------------------------------------------------- IRIs */

static bool ends_iri(char byte) {
    return (unsigned char)byte <= ' ' || strchr("<>\"{}|\\^`", byte) != NULL;
}

/* Bytes of the IRI that begins at `at` without brackets, 0 when none does. The punctuation of the sentence behind it is no part of it. */
static uint64_t measure_iri(const char *at, const char *end) {
    static const char *const schemes[] = {"http://", "https://", "urn:", "did:"};
    const char *stop = at;
    uint64_t n_scheme = 0;
    for (uint32_t i = 0; i < 4 && n_scheme == 0; i++) {
        const size_t size = strlen(schemes[i]);
        n_scheme = (size_t)(end - at) > size && memcmp(at, schemes[i], size) == 0 ? size : 0;
    }
    while (n_scheme > 0 && stop < end && !ends_iri(*stop)) {
        stop++;
    }
    while (stop > at && strchr(".,;:!?)]'", stop[-1]) != NULL) {
        stop--;
    }
    return (uint64_t)(stop - at) > n_scheme ? (uint64_t)(stop - at) : 0;
}

static void add_iri(prompt_words *words, fmt_str iri) {
    if (words->n_iris == PROMPT_MAX_IRIS || words->n_distinct == PROMPT_MAX_DISTINCT) {
        return;
    }
    const uint16_t number = (uint16_t)words->n_distinct++; /* not in the table: no word of a name equals it */
    memset(&words->distinct[number], 0, sizeof words->distinct[number]);
    words->weights[number] = IRI_WEIGHT;
    words->first[number] = PROMPT_NO_WORD;
    words->iris[words->n_iris] = iri;
    words->iri_words[words->n_iris++] = number;
    append_word(words, number);
}

/* <iri> with any scheme. */
static uint64_t measure_bracketed(const char *at, const char *end) {
    const char *stop = at + 1;
    bool has_colon = false;
    while (stop < end && !ends_iri(*stop)) {
        has_colon = has_colon || *stop == ':';
        stop++;
    }
    return has_colon && stop < end && *stop == '>' ? (uint64_t)(stop - at) + 1 : 0;
}

/* ------------------------------------------------------------------------------------------------- reading */

static void add_words(prompt_words *words, const char *at, const char *end) {
    word_reader reader;
    text_word word;
    word_reader_init(&reader, at, (uint64_t)(end - at));
    while (word_reader_next(&reader, &word)) {
        append_word(words, number_word(words, &word));
    }
}

void prompt_words_read(prompt_words *words, const char *text, uint64_t size) {
    const char *at = text, *const end = text + size;
    memset(words, 0, sizeof *words);
    if (size > PROMPT_MAX_BYTES) {
        at = end - PROMPT_MAX_BYTES;
        while (at < end && ((unsigned char)*at & 0xc0) == 0x80) {
            at++;
        }
    }
    const char *begin = at; /* of words that were not read yet */
    while (at < end) {
        const uint64_t bracketed = *at == '<' ? measure_bracketed(at, end) : 0;
        const bool may_begin = bracketed == 0 && (at == text || strchr(" \t\r\n(\"'[,;", at[-1]) != NULL);
        const uint64_t plain = may_begin ? measure_iri(at, end) : 0;
        const uint64_t n = bracketed > 0 ? bracketed : plain;
        if (n > 0) {
            add_words(words, begin, at);
            add_iri(words, bracketed > 0 ? (fmt_str){at + 1, n - 2} : (fmt_str){at, n});
            begin = at + n;
        }
        at += n > 0 ? n : 1;
    }
    add_words(words, begin, end);
    link_places(words);
}

/* ------------------------------------------------------------------------------------------------- names */

/* Numbers of a name's words; 0 when one of them is not in the prompt, or there are none or too many. */
static uint32_t read_name(const prompt_words *words, word_reader *reader, uint16_t numbers[MOST_NAME_WORDS]) {
    text_word word;
    uint32_t n = 0, slot;
    while (word_reader_next(reader, &word)) {
        const uint16_t number = n < MOST_NAME_WORDS ? find_word(words, &word, &slot) : PROMPT_NO_WORD;
        if (number == PROMPT_NO_WORD) {
            return 0;
        }
        numbers[n++] = number;
    }
    return n;
}

bool prompt_words_match(const prompt_words *words, word_reader *reader, word_set *out_set, uint32_t *out_place) {
    uint16_t numbers[MOST_NAME_WORDS];
    const uint32_t n = read_name(words, reader, numbers);
    bool is_telling = false;
    word_set set = {{0}};
    for (uint32_t i = 0; i < n; i++) {
        is_telling = is_telling || (words->weights[numbers[i]] > COMMON_WEIGHT && words->distinct[numbers[i]].size > 1);
        word_set_put(&set, numbers[i]);
    }
    /* a sign of Han is a word of one character, but of three bytes */
    for (uint32_t place = is_telling ? words->first[numbers[0]] : PROMPT_NO_WORD; place != PROMPT_NO_WORD; place = words->next[place]) {
        if (n <= words->n_words - place && memcmp(words->sequence + place, numbers, n * sizeof *numbers) == 0) {
            *out_set = set;
            *out_place = place;
            return true;
        }
    }
    return false;
}
