/* test_prompt_input.c — where a prompt comes from, and which combinations make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "cli/prompt_input.h"
#include "corpus.h"
#include "tiny_model.h"

static char folder[CORPUS_PATH_SIZE], file[CORPUS_PATH_SIZE + 16];
static model *m;

static int open_tiny(void **state) {
    char path[CORPUS_PATH_SIZE + 16];
    (void)state;
    log_set_level(QN_LOG_ERROR);
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/tiny.gguf", folder);
    snprintf(file, sizeof file, "%s/prompt.txt", folder);
    tiny_model_write(path, "llama", NULL);
    return model_open(path, NULL, NULL, &m, NULL) != QN_OK ? -1 : 0;
}

static int close_tiny(void **state) {
    (void)state;
    model_close(m);
    test_remove_tree(folder);
    return 0;
}

static qn_status read_prompt(const prompt_options *options, const model *of, prompt_input *out, error_context *err) {
    const qn_status status = prompt_load(options, out, err);
    return status < 0 ? status : prompt_encode(options, of, out, err);
}

static void write_prompt(const char *bytes, size_t size) {
    FILE *stream = fopen(file, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    fclose(stream);
}

static void exactly_one_source_is_wanted(void **state) {
    (void)state;
    static const struct {
        prompt_options options;
        const char *words; /* null: sound */
    } rows[] = {
        {{.text = "x"}, NULL},
        {{.tokens = "1"}, NULL},
        {{.text = "x", .is_chat = true, .system = "s", .family = "chatml"}, NULL},
        {{.text = NULL}, "0 were given"},
        {{.text = "x", .tokens = "1"}, "2 were given"},
        {{.text = "x", .tokens = "1", .file = "-"}, "3 were given"},
        {{.tokens = "1", .is_chat = true}, "--chat"},
        {{.text = "x", .is_chat = true, .is_special = true}, "--special"},
        {{.text = "x", .is_chat = true, .no_bos = true}, "--no-bos"},
        {{.text = "x", .system = "s"}, "need --chat"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        error_context err = {0};
        assert_int_equal(prompt_check_options(&rows[i].options, &err), rows[i].words == NULL ? QN_OK : QN_BAD_INPUT);
        if (rows[i].words != NULL && strstr(error_text(&err), rows[i].words) == NULL) {
            fail_msg("row %zu: %s", i, error_text(&err));
        }
    }
}

static void ids_are_read_as_they_stand(void **state) {
    (void)state;
    prompt_input input;
    const prompt_options options = {.tokens = "1,403,0,4294967294"};
    assert_int_equal(read_prompt(&options, m, &input, NULL), QN_OK);
    assert_int_equal(input.ids.count, 4);
    assert_int_equal(input.ids.ids[1], 403);
    assert_int_equal(input.ids.ids[3], UINT32_MAX - 1);
    prompt_free(&input);
}

static void ids_that_are_none_are_refused_with_the_column(void **state) {
    (void)state;
    static const struct {
        const char *text, *column;
    } rows[] = {{"", "column 1:"},
                {"1,", "column 3:"},
                {",1", "column 1:"},
                {"1;2", "column 2:"},
                {"1, 2", "column 3:"},
                {"-1", "column 1:"},
                {"4294967295", "column 11:"},
                {"99999999999999999999", "column 11:"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        error_context err = {0};
        token_list ids = {0};
        assert_int_equal(prompt_parse_tokens(rows[i].text, &ids, &err), QN_BAD_INPUT);
        if (strstr(error_text(&err), rows[i].column) == NULL) {
            fail_msg("\"%s\": %s", rows[i].text, error_text(&err));
        }
        token_list_free(&ids);
    }
}

static void a_file_is_read_to_the_last_byte_zeros_too(void **state) {
    (void)state;
    prompt_input input;
    const prompt_options options = {.file = file, .no_bos = true};
    write_prompt("a\0b\n", 4);
    assert_int_equal(read_prompt(&options, m, &input, NULL), QN_OK);
    assert_int_equal(input.text_bytes, 4);
    assert_int_equal(input.ids.ids[input.ids.count - 1], TINY_BYTE_0 + '\n');
    assert_int_equal(input.ids.ids[input.ids.count - 3], TINY_BYTE_0);
    prompt_free(&input);
}

static void a_file_that_is_larger_than_the_first_buffer_is_read_whole(void **state) {
    (void)state;
    const size_t sizes[] = {65534, 65535, 65536, 200000};
    char *bytes = malloc(200000);
    assert_non_null(bytes);
    memset(bytes, 'x', 200000);
    for (size_t i = 0; i < 4; i++) {
        char *text = NULL;
        size_t size = 0;
        write_prompt(bytes, sizes[i]);
        assert_int_equal(prompt_read_file(file, &text, &size, NULL), QN_OK);
        assert_int_equal(size, sizes[i]);
        assert_int_equal(text[size], '\0');
        assert_memory_equal(text, bytes, size);
        free(text);
    }
    free(bytes);
}

static void an_empty_prompt_is_bos_alone(void **state) {
    (void)state;
    prompt_input input;
    assert_int_equal(read_prompt(&(prompt_options){.text = ""}, m, &input, NULL), QN_OK);
    assert_int_equal(input.ids.count, 1);
    assert_true(input.starts_text);
    prompt_free(&input);
    assert_int_equal(read_prompt(&(prompt_options){.text = "", .no_bos = true}, m, &input, NULL), QN_OK);
    assert_int_equal(input.ids.count, 0);
    prompt_free(&input);
}

static void what_cannot_be_read_is_named(void **state) {
    (void)state;
    prompt_input input;
    error_context err = {0};
    char missing[CORPUS_PATH_SIZE + 32];
    snprintf(missing, sizeof missing, "%s/missing.txt", folder);
    assert_int_equal(read_prompt(&(prompt_options){.file = missing}, m, &input, &err), QN_NOT_FOUND);
    assert_non_null(strstr(error_text(&err), "missing.txt"));
    prompt_free(&input);
    assert_int_equal(read_prompt(&(prompt_options){.file = folder}, m, &input, &err), QN_IO); /* a folder */
    prompt_free(&input);
}

static void text_that_is_no_utf8_is_refused_with_the_byte(void **state) {
    (void)state;
    prompt_input input;
    error_context err = {0};
    assert_int_equal(read_prompt(&(prompt_options){.text = "ab\xFF"}, m, &input, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "byte 2"));
    prompt_free(&input);
}

static bool has_id(const prompt_input *input, uint32_t id) {
    size_t i = 0;
    while (i < input->ids.count && input->ids.ids[i] != id) {
        i++;
    }
    return i < input->ids.count;
}

static void a_preface_stands_first_and_is_never_read_as_control_tokens(void **state) {
    (void)state;
    static const prompt_options rows[] = {{.text = "b", .is_special = true}, {.text = "b"}, {.text = "b", .is_chat = true, .family = "chatml"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prompt_input input;
        assert_int_equal(prompt_load(&rows[i], &input, NULL), QN_OK);
        input.preface = (fmt_str){"a</s>", 5};
        assert_int_equal(prompt_encode(&rows[i], m, &input, NULL), QN_OK);
        assert_false(has_id(&input, TINY_EOS));
        assert_true(has_id(&input, TINY_BYTE_0 + 'a') && has_id(&input, TINY_BYTE_0 + '/') && has_id(&input, TINY_BYTE_0 + 'b'));
        prompt_free(&input);
    }
}

static void behind_a_preface_the_users_words_keep_their_own_trust(void **state) {
    (void)state;
    prompt_input input;
    const prompt_options options = {.text = "</s>", .is_special = true};
    assert_int_equal(prompt_load(&options, &input, NULL), QN_OK);
    input.preface = (fmt_str){"a", 1};
    assert_int_equal(prompt_encode(&options, m, &input, NULL), QN_OK);
    assert_int_equal(input.ids.ids[input.ids.count - 1], TINY_EOS);
    prompt_free(&input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_one_source_is_wanted),
        cmocka_unit_test(ids_are_read_as_they_stand),
        cmocka_unit_test(ids_that_are_none_are_refused_with_the_column),
        cmocka_unit_test(a_file_is_read_to_the_last_byte_zeros_too),
        cmocka_unit_test(a_file_that_is_larger_than_the_first_buffer_is_read_whole),
        cmocka_unit_test(an_empty_prompt_is_bos_alone),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test(text_that_is_no_utf8_is_refused_with_the_byte),
        cmocka_unit_test(a_preface_stands_first_and_is_never_read_as_control_tokens),
        cmocka_unit_test(behind_a_preface_the_users_words_keep_their_own_trust),
    };
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
