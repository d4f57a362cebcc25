/* test_conversation.c — turns of a chat, and which of them go when the context is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "cli/conversation.h"
#include "corpus.h"
#include "model/model.h"
#include "tiny_model.h"

static char folder[CORPUS_PATH_SIZE];
static model *m;
static chat_template form;

static int open_tiny(void **state) {
    char path[CORPUS_PATH_SIZE + 16];
    (void)state;
    log_set_level(QN_LOG_ERROR);
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/tiny.gguf", folder);
    tiny_model_write(path, "llama", NULL);
    return model_open(path, NULL, NULL, &m, NULL) != QN_OK || chat_template_by_name("chatml", &form, NULL) != QN_OK ? -1
                                                                                                                    : 0;
}

static int close_tiny(void **state) {
    (void)state;
    model_close(m);
    test_remove_tree(folder);
    return 0;
}

static void say(conversation *talk, chat_role role, const char *text) {
    assert_int_equal(conversation_add(talk, role, text, strlen(text), NULL), QN_OK);
}

/* System, and three questions of which the last has no answer yet. */
static conversation make_talk(void) {
    conversation talk = {0};
    say(&talk, CHAT_SYSTEM, "be kind");
    say(&talk, CHAT_USER, "first");
    say(&talk, CHAT_ASSISTANT, "one");
    say(&talk, CHAT_USER, "second");
    say(&talk, CHAT_ASSISTANT, "two");
    say(&talk, CHAT_USER, "third");
    return talk;
}

static void the_oldest_question_goes_with_its_answer(void **state) {
    (void)state;
    conversation talk = make_talk();
    char gone[16];
    assert_true(conversation_drop_oldest(&talk, gone, sizeof gone));
    assert_string_equal(gone, "first");
    assert_int_equal(talk.n_messages, 4);
    assert_string_equal(talk.messages[0].text, "be kind");
    assert_string_equal(talk.messages[1].text, "second");
    conversation_free(&talk);
}

static void system_message_and_last_question_never_go(void **state) {
    (void)state;
    conversation talk = make_talk();
    char gone[16];
    assert_true(conversation_drop_oldest(&talk, gone, sizeof gone));
    assert_true(conversation_drop_oldest(&talk, gone, sizeof gone));
    assert_false(conversation_drop_oldest(&talk, gone, sizeof gone));
    assert_int_equal(talk.n_messages, 2);
    assert_string_equal(talk.messages[1].text, "third");
    conversation_free(&talk);
}

static void a_long_question_is_cut_for_showing(void **state) {
    (void)state;
    conversation talk = {0};
    char gone[6];
    say(&talk, CHAT_USER, "once upon a time");
    say(&talk, CHAT_USER, "second");
    assert_true(conversation_drop_oldest(&talk, gone, sizeof gone));
    assert_string_equal(gone, "once ");
    conversation_free(&talk);
}

static void clearing_keeps_the_system_message(void **state) {
    (void)state;
    conversation talk = make_talk();
    conversation_clear(&talk);
    assert_int_equal(talk.n_messages, 1);
    assert_int_equal(talk.messages[0].role, CHAT_SYSTEM);
    conversation_pop(&talk);
    conversation_pop(&talk); /* nothing left: does nothing */
    conversation_free(&talk);
}

static size_t count_tokens(conversation *talk) {
    token_list ids = {0};
    assert_int_equal(chat_template_encode(&form, m->tok, talk->messages, talk->n_messages, true, &ids, NULL), QN_OK);
    const size_t n = ids.count;
    token_list_free(&ids);
    return n;
}

static void turns_go_until_the_reserve_is_free_and_are_counted(void **state) {
    (void)state;
    conversation talk = make_talk(), shorter = make_talk();
    token_list ids = {0};
    char gone[16];
    uint32_t n_dropped = 99;
    conversation_drop_oldest(&shorter, gone, sizeof gone);
    const uint32_t n_ctx = (uint32_t)count_tokens(&shorter) + 10;
    assert_int_equal(conversation_encode(&talk, &form, m->tok, n_ctx, 10, &ids, &n_dropped, NULL), QN_OK);
    assert_int_equal(n_dropped, 1);
    assert_int_equal(ids.count + 10, n_ctx);
    assert_int_equal(conversation_encode(&talk, &form, m->tok, n_ctx, 10, &ids, &n_dropped, NULL), QN_OK);
    assert_int_equal(n_dropped, 0); /* what went stays away */
    token_list_free(&ids);
    conversation_free(&talk);
    conversation_free(&shorter);
}

static void a_question_without_room_for_the_reserve_still_goes_when_it_fits(void **state) {
    (void)state;
    conversation talk = {0};
    token_list ids = {0};
    uint32_t n_dropped;
    say(&talk, CHAT_USER, "why");
    const uint32_t n = (uint32_t)count_tokens(&talk);
    assert_int_equal(conversation_encode(&talk, &form, m->tok, n + 1, 1000, &ids, &n_dropped, NULL), QN_OK);
    token_list_free(&ids);
    conversation_free(&talk);
}

static void a_question_that_does_not_fit_alone_is_refused_with_the_numbers(void **state) {
    (void)state;
    conversation talk = {0};
    token_list ids = {0};
    uint32_t n_dropped;
    error_context err = {0};
    char words[64];
    say(&talk, CHAT_USER, "why");
    const uint32_t n = (uint32_t)count_tokens(&talk);
    assert_int_equal(conversation_encode(&talk, &form, m->tok, n, 1, &ids, &n_dropped, &err), QN_LIMIT);
    snprintf(words, sizeof words, "%u tokens, the context %u positions", n, n);
    assert_non_null(strstr(error_text(&err), words));
    token_list_free(&ids);
    conversation_free(&talk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_question_goes_with_its_answer),
        cmocka_unit_test(system_message_and_last_question_never_go),
        cmocka_unit_test(a_long_question_is_cut_for_showing),
        cmocka_unit_test(clearing_keeps_the_system_message),
        cmocka_unit_test(turns_go_until_the_reserve_is_free_and_are_counted),
        cmocka_unit_test(a_question_without_room_for_the_reserve_still_goes_when_it_fits),
        cmocka_unit_test(a_question_that_does_not_fit_alone_is_refused_with_the_numbers),
    };
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
