/* fuzz_ground_text.c — prompts, names, points and answers of any bytes. The first byte says how the rest is cut in two: a prompt and a name. What
 * is demanded: a name's form is one line of UTF-8 that can be read as nothing but text and is not too long; a name that stands in a prompt has
 * words there; a prompt's own words, as a name, stand in it; marks of an answer are numbers of one to four digits at a bracket; a point that
 * is read is finite. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "ground/citations.h"
#include "ground/invalidations.h"
#include "ground/prompt_words.h"
#include "ground/tensor10d.h"
#include "ground/term_names.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *text, size_t size) {
    text_buffer out = {.text = NULL};
    REQUIRE(term_name_escape(text, size, &out));
    REQUIRE(out.size <= TERM_NAME_MAX);
    REQUIRE(utf8_first_invalid(out.text, out.size) == UTF8_ALL_VALID);
    for (size_t i = 0; i < out.size; i++) {
        const unsigned char byte = (unsigned char)out.text[i];
        REQUIRE(byte >= 0x20 && byte != 0x7f && strchr("<>[]", byte) == NULL);
    }
    text_buffer_free(&out);
}

static void check_words(const char *prompt, size_t n_prompt, const char *name, size_t n_name) {
    static prompt_words words;
    word_reader reader;
    word_set set;
    uint32_t place = 0;
    prompt_words_read(&words, prompt, n_prompt);
    REQUIRE(words.n_words <= PROMPT_MAX_WORDS && words.n_distinct <= PROMPT_MAX_DISTINCT);
    word_reader_init(&reader, name, n_name);
    if (prompt_words_match(&words, &reader, &set, &place)) {
        REQUIRE(place < words.n_words);
        REQUIRE(prompt_words_weigh(&words, &set) > 0);
    }
    for (uint32_t i = 0; i < words.n_iris; i++) {
        REQUIRE(words.iris[i].data >= prompt && words.iris[i].data + words.iris[i].size <= prompt + n_prompt);
    }
}

static void check_marks(const char *text, size_t size) {
    citation found[64];
    const uint32_t n = citations_find(text, size, found, 64);
    for (uint32_t i = 0; i < n; i++) {
        REQUIRE(found[i].number >= 1 && found[i].number <= 9999);
        REQUIRE(found[i].at < size && text[found[i].at] == '[');
        for (uint32_t k = 0; k < i; k++) {
            REQUIRE(found[k].number != found[i].number);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data + (size > 0 ? 1 : 0);
    const size_t n = size > 0 ? size - 1 : 0, cut = n * (size > 0 ? data[0] : 0) / 256;
    tensor10d point;
    int64_t ms;
    check_name(text, n);
    check_words(text, cut, text + cut, n - cut);
    check_marks(text, n);
    if (tensor10d_read(text, n, &point, NULL) == QN_OK) {
        REQUIRE(isfinite(point.q) && isfinite(point.v) && isfinite(point.x) && isfinite(point.sigma));
        REQUIRE(!isnan(tensor10d_distance(&point, &point)));
    }
    (void)invalidations_read_time(text, n, &ms);
    return 0;
}
