/* test_journal_state.c — what holds after all transactions: removes before adds in each, the last transaction's word, all words of a quin. */
#include "graph/journal_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct frames {
    uint8_t bytes[8192];
    uint64_t size, sequence;
} frames;

static void put(frames *f, q42_journal_entry entry) {
    entry.sequence = ++f->sequence;
    const uint64_t size = q42_journal_encode(&entry, f->bytes + f->size, sizeof f->bytes - f->size);
    assert_true(size > 0);
    f->size += size;
}

/* Each letter is a frame: ( begins, ) commits, + adds and - removes the quin whose metadata is the digit behind it. */
static void write_script(frames *f, const char *script) {
    const q42_journal_header header = {.profile = 1, .schema_rules = 1};
    memset(f, 0, sizeof *f);
    q42_journal_encode_header(&header, f->bytes);
    f->size = Q42_JOURNAL_HEADER_BYTES;
    for (; *script != '\0'; script++) {
        if (*script == '(' || *script == ')') {
            put(f, (q42_journal_entry){.type = *script == '(' ? Q42_JOURNAL_BEGIN : Q42_JOURNAL_COMMIT});
        } else {
            const q42_journal_type type = *script == '+' ? Q42_JOURNAL_ADD : Q42_JOURNAL_REMOVE;
            put(f, (q42_journal_entry){.type = type, .quin = q42_quin_make(1, 2, 3, 4, (uint64_t)(*++script - '0'))});
        }
    }
}

static void build(const frames *f, journal_state *state) {
    q42_journal journal;
    const fmt_span span = {f->bytes, f->size};
    assert_int_equal(q42_journal_open(span, FMT_MODE_DEFAULT, &journal, NULL, NULL, NULL), FMT_OK);
    assert_int_equal(journal_state_build(&journal, "test", state, NULL), QN_OK);
}

static void the_last_word_about_a_quin_holds(void **state) {
    (void)state;
    static const struct {
        const char *script;
        uint64_t n_added, n_removed;
    } rows[] = {
        {"", 0, 0},          {"(+1)", 1, 0},        {"(-1)", 0, 1},         {"(+1)(-1)", 0, 1},    {"(-1)(+1)", 1, 0},
        {"(+1-1)", 1, 0},    {"(-1+1)", 1, 0},      {"(+1+1)", 1, 0},       {"(+1)(+2)", 2, 0},    {"(+1-2)", 1, 1},
        {"(+1)(-1)(+1)", 1, 0}, {"(+1)(-1", 1, 0},  {"(+1(-1)", 0, 1},      {"(+1)(+2-1)", 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        frames f;
        journal_state s;
        write_script(&f, rows[i].script);
        build(&f, &s);
        if (s.n_added != rows[i].n_added || s.n_removed != rows[i].n_removed) {
            print_error("%s\n", rows[i].script);
        }
        assert_int_equal(s.n_added, rows[i].n_added);
        assert_int_equal(s.n_removed, rows[i].n_removed);
        journal_state_free(&s);
    }
}

static void a_quin_is_found_by_all_its_words(void **state) {
    (void)state;
    frames f;
    journal_state s;
    write_script(&f, "(+1-3)");
    build(&f, &s);
    const q42_quin added = q42_quin_make(1, 2, 3, 4, 1), removed = q42_quin_make(1, 2, 3, 4, 3);
    const q42_quin unknown = q42_quin_make(1, 2, 3, 4, 2);
    assert_true(journal_state_find(&s, &added)->is_added);
    assert_false(journal_state_find(&s, &removed)->is_added);
    assert_null(journal_state_find(&s, &unknown));
    journal_state_free(&s);
}

static void terms_are_found_by_their_keys_once_each(void **state) {
    (void)state;
    frames f;
    journal_state s;
    write_script(&f, "(");
    static const char *const texts[] = {"<b>", "<a>", "<b>"};
    for (size_t i = 0; i < 3; i++) {
        put(&f, (q42_journal_entry){.type = Q42_JOURNAL_TERM, .key = q42_hash(texts[i], 3), .text = {texts[i], 3}});
    }
    put(&f, (q42_journal_entry){.type = Q42_JOURNAL_COMMIT});
    build(&f, &s);
    assert_int_equal(s.n_terms, 2);
    assert_memory_equal(journal_state_find_term(&s, q42_hash("<a>", 3))->text.data, "<a>", 3);
    assert_null(journal_state_find_term(&s, 7));
    journal_state_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_word_about_a_quin_holds),
        cmocka_unit_test(a_quin_is_found_by_all_its_words),
        cmocka_unit_test(terms_are_found_by_their_keys_once_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
