/* test_pretokenize.c — where each rule cuts, word for word, and that long runs cost linear time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "text/pretokenize.h"
#include "text/unicode_class.h"

static uint8_t table[UNICODE_TABLE_SIZE];

/* Words as "one|two|three". */
typedef struct collected {
    char text[512];
    size_t size, n_words;
} collected;

static qn_status collect(void *ctx, const uint8_t *word, size_t size) {
    collected *c = ctx;
    assert_true(size > 0);
    c->n_words++;
    if (c->size + size + 1 < sizeof c->text) {
        if (c->n_words > 1) {
            c->text[c->size++] = '|';
        }
        memcpy(c->text + c->size, word, size);
        c->size += size;
        c->text[c->size] = '\0';
    }
    return QN_OK;
}

static const pretokenizer *find(const char *name) {
    const pretokenizer *pre = pretokenizer_find((fmt_str){name, strlen(name)});
    if (pre == NULL) {
        fail_msg("%s is not known", name);
    }
    return pre;
}

static const struct {
    const char *name, *text, *words;
} rows[] = {
    {"gpt-2", "Hello world", "Hello| world"},
    {"gpt-2", "I'm we'll 'Tis they'RE", "I|'m| we|'ll| '|Tis| they|'|RE"},
    {"gpt-2", "a  b   c", "a| | b|  | c"},
    {"gpt-2", "a\n\n b\t\tc \n", "a|\n\n| b|\t|\t|c| \n"},
    {"gpt-2", "x1234, y!? z", "x|1234|,| y|!?| z"},
    {"gpt-2", "  ", "  "},
    {"gpt-2", "", ""},
    {"gpt-2", "\xc3\xbc\xc2\xb2\xe2\x82\xac", "\xc3\xbc|\xc2\xb2|\xe2\x82\xac"},
    {"smollm", "x1234, 56", "x|1|2|3|4|,| |5|6"},
    {"llama-bpe", "I'M 12345 (foo)\n\nbar", "I|'M| |123|45| (|foo|)\n\n|bar"},
    {"llama-bpe", "a\tb  c", "a|\tb| | c"},
    {"llama-bpe", "a \n \n  b", "a| \n \n| | b"},
    {"llama-bpe", "!!\r\n\r\nx", "!!\r\n\r\n|x"},
    {"qwen2", "12345 a's", "1|2|3|4|5| a|'s"},
    {"qwen2", "\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d\xe0\xa4\xa4", "\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8|\xe0\xa5\x8d\xe0\xa4\xa4"},
    {"qwen35", "\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d\xe0\xa4\xa4", "\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d\xe0\xa4\xa4"},
    {"tekken", "fooBar HTMLParser ABC 123", "foo|Bar| HTMLParser| ABC| |1|2|3"},
    {"tekken", "a!/\n/b", "a|!/\n/|b"},
    {"gpt-4o", "We'LL fooBar's 1234", "We'LL| foo|Bar's| |123|4"},
    {"falcon", "x=12345+y's", "x|=|123|45|+|y|'|s"},
    {"deepseek-coder", "a b\n12 c.d", "a| b|\n|1|2| c|.|d"},
    {"deepseek-llm", "a b\n12  x \xe4\xbd\xa0\xe5\xa5\xbd!", "a| b|\n|12| | x| |\xe4\xbd\xa0\xe5\xa5\xbd|!"},
    {"deepseek-llm", "x   ", "x|   "},
    {"deepseek-v3", "x.y 1234 a-b\n", "x|.y| |123|4| a|-b|\n"},
};

static void rules_cut_where_their_patterns_do(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        collected c = {.size = 0};
        const pretokenizer *pre = find(rows[i].name);
        pretokenizer_cut(pre, table, (const uint8_t *)rows[i].text, strlen(rows[i].text), collect, &c);
        if (strcmp(c.text, rows[i].words) != 0) {
            fail_msg("%s: \"%s\" was cut as \"%s\", not \"%s\"", rows[i].name, rows[i].text, c.text, rows[i].words);
        }
    }
}

static void an_unknown_name_is_no_rule(void **state) {
    (void)state;
    static const char *const names[] = {"", "default", "nobody-knows", "gpt2", "GPT-2", "llama"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_null(pretokenizer_find((fmt_str){names[i], strlen(names[i])}));
    }
}

static void every_name_that_messages_tell_is_known(void **state) {
    char names[1024];
    size_t n_names = 0;
    (void)state;
    snprintf(names, sizeof names, "%s", pretokenizer_names());
    for (char *name = names, *end; name != NULL; name = end != NULL ? end + 2 : NULL) {
        end = strstr(name, ", ");
        if (end != NULL) {
            *end = '\0';
        }
        find(name);
        n_names++;
    }
    assert_true(n_names >= 16);
}

static void only_the_llama3_like_rules_take_whole_words(void **state) {
    (void)state;
    assert_true(pretokenizer_takes_whole_words(find("llama-bpe")));
    assert_true(pretokenizer_takes_whole_words(find("tekken")));
    assert_false(pretokenizer_takes_whole_words(find("gpt-2")));
    assert_false(pretokenizer_takes_whole_words(find("qwen2")));
}

static qn_status stop_at_second(void *ctx, const uint8_t *word, size_t size) {
    size_t *n = ctx;
    (void)word;
    (void)size;
    return ++*n == 2 ? QN_LIMIT : QN_OK;
}

static void a_status_of_the_receiver_stops_the_cutting(void **state) {
    (void)state;
    size_t n = 0;
    assert_int_equal(pretokenizer_cut(find("smollm"), table, (const uint8_t *)"a b 12 c", 8, stop_at_second, &n), QN_LIMIT);
    assert_int_equal(n, 2);
}

static qn_status add_size(void *ctx, const uint8_t *word, size_t size) {
    size_t *sum = ctx;
    (void)word;
    *sum += size;
    return QN_OK;
}

static double seconds_to_cut(const pretokenizer *pre, const uint8_t *text, size_t size) {
    size_t sum = 0;
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    pretokenizer_cut(pre, table, text, size, add_size, &sum);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    assert_int_equal(sum, size);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

/* A text of one unit over and over; 128 KiB at a quadratic cost would take minutes. */
static void long_runs_are_cut_in_linear_time_by_every_rule(void **state) {
    (void)state;
    static const char *const units[] = {"a", "A", " ", "\n", "\r\n", "1", ".", "'", "\xcc\x81", "\xe4\xbd\xa0", " \n", "a ", "Aa", "'s",
                                        "\xe3\x80\x80", "\xf0\x9f\xa6\x99", "\xc7\x85", "\x01", "- ", "\xe0\xa4\xa8\xe0\xa5\x8d"};
    static const char *const names[] = {"gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35", "tekken", "gpt-4o", "falcon",
                                        "deepseek-llm", "deepseek-coder", "deepseek-v3"};
    const size_t size = 128u << 10;
    uint8_t *text = malloc(size + 8);
    assert_non_null(text);
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        const size_t unit = strlen(units[u]);
        const size_t total = size / unit * unit;
        for (size_t at = 0; at < total; at += unit) {
            memcpy(text + at, units[u], unit);
        }
        memcpy(text + total, "x", 1); /* so that runs of white space do not reach the end */
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            const double seconds = seconds_to_cut(find(names[i]), text, total + 1);
            if (seconds > 5) {
                fail_msg("%s needs %.1f s for 128 KiB of unit %zu", names[i], seconds, u);
            }
        }
    }
    free(text);
}

static void classes_agree_with_well_known_characters(void **state) {
    (void)state;
    static const struct {
        uint32_t code;
        unsigned class;
    } known[] = {{'A', UNICODE_UPPER}, {'z', UNICODE_LOWER}, {'7', UNICODE_NUMBER}, {'_', UNICODE_PUNCTUATION}, {'+', UNICODE_SYMBOL},
                 {' ', UNICODE_SPACE}, {'\t', UNICODE_SPACE}, {0, 0}, {0x1f, 0}, {0x85, UNICODE_SPACE}, {0xa0, UNICODE_SPACE},
                 {0xaa, UNICODE_OTHER_LETTER}, {0xb2, UNICODE_NUMBER}, {0x1c5, UNICODE_UPPER}, {0x301, UNICODE_MARK},
                 {0x2028, UNICODE_SPACE}, {0x200b, 0}, {0x3000, UNICODE_SPACE}, {0x4e00, UNICODE_OTHER_LETTER},
                 {0x10400, UNICODE_UPPER}, {0x1d7ce, UNICODE_NUMBER}, {0x1f600, UNICODE_SYMBOL}, {0x10ffff, 0}, {0x110000, 0}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_int_equal(unicode_find_class(known[i].code), known[i].class);
        if (known[i].code < UNICODE_TABLE_SIZE) {
            assert_int_equal(table[known[i].code], known[i].class);
        }
    }
}

static void the_flat_table_holds_what_the_search_finds(void **state) {
    (void)state;
    for (uint32_t code = 0; code < UNICODE_TABLE_SIZE; code++) {
        if (table[code] != unicode_find_class(code)) {
            fail_msg("U+%04X", code);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_cut_where_their_patterns_do),
        cmocka_unit_test(an_unknown_name_is_no_rule),
        cmocka_unit_test(every_name_that_messages_tell_is_known),
        cmocka_unit_test(only_the_llama3_like_rules_take_whole_words),
        cmocka_unit_test(a_status_of_the_receiver_stops_the_cutting),
        cmocka_unit_test(long_runs_are_cut_in_linear_time_by_every_rule),
        cmocka_unit_test(classes_agree_with_well_known_characters),
        cmocka_unit_test(the_flat_table_holds_what_the_search_finds),
    };
    unicode_fill_table(table);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
