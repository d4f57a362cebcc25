/* test_q42_publication.c — the right to publish: the published triggers, both verdicts, and who is shown as the witness. */
#include "files_fixture.h"

#define TIER(n) ((uint64_t)(n) << 56)
#define LANE(n) ((uint64_t)(n) << 61)

static bool says_yes(void *ctx, uint64_t context) {
    *(uint32_t *)ctx += 1;
    return context == UINT64_C(0x01ABCDEF00000000);
}

static void add_quin(q42_publication *tally, uint64_t context, uint64_t metadata) {
    uint8_t bytes[2 * Q42_QUIN_BYTES];
    const q42_quin plain = q42_quin_make(1, 2, 3, 0, 0), quin = q42_quin_make(1, 2, 3, context, metadata);
    q42_quin_store(bytes, &plain);
    q42_quin_store(bytes + Q42_QUIN_BYTES, &quin);
    const q42_block block = {7, 7, 2, bytes};
    q42_publication_add(tally, &block);
}

static void published_triggers_close_and_the_others_do_not(void **state) {
    (void)state;
    static const struct {
        uint64_t context, metadata;
        q42_why why;
    } rows[] = {
        {0, TIER(3), Q42_WHY_TIER},        {0, LANE(2), Q42_WHY_LANE},          {UINT64_C(1) << 56, 0, Q42_WHY_LABEL},
        {0, TIER(1), Q42_WHY_NOTHING},     {0, TIER(2), Q42_WHY_TIER},          {0, TIER(4), Q42_WHY_TIER},
        {0, TIER(5), Q42_WHY_NOTHING},     {UINT64_C(2) << 56, 0, Q42_WHY_LABEL}, {UINT64_C(3) << 56, 0, Q42_WHY_NOTHING},
        {0, LANE(1), Q42_WHY_NOTHING},     {0, LANE(3), Q42_WHY_NOTHING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        q42_publication tally = {.flags = Q42_FLAG_COMMONS};
        add_quin(&tally, rows[i].context, rows[i].metadata);
        assert_int_equal(tally.ours.why, rows[i].why);
        assert_int_equal(tally.theirs.why, rows[i].why);
        assert_int_equal(q42_publication_judge(&tally).may_publish, rows[i].why == Q42_WHY_NOTHING);
        assert_int_equal(q42_publication_judge_as_reference(&tally).may_publish, rows[i].why == Q42_WHY_NOTHING);
    }
}

static void hash_of_a_graph_name_is_no_label_to_us_but_one_to_the_reference(void **state) {
    (void)state;
    uint32_t n_asked = 0;
    q42_publication tally = {.flags = Q42_FLAG_COMMONS, .is_name = says_yes, .is_name_ctx = &n_asked};
    add_quin(&tally, UINT64_C(0x01ABCDEF00000000), 0);
    add_quin(&tally, UINT64_C(0x01ABCDEF00000000), 0);
    assert_int_equal(n_asked, 1);
    assert_true(q42_publication_judge(&tally).may_publish);
    const q42_publication_verdict theirs = q42_publication_judge_as_reference(&tally);
    assert_false(theirs.may_publish);
    assert_int_equal(theirs.which, Q42_CLASS_MIXED);
    assert_int_equal(tally.theirs.block, 7);
    assert_int_equal(tally.theirs.slot, 1);
    assert_int_equal(tally.theirs.quin.context, UINT64_C(0x01ABCDEF00000000));
    add_quin(&tally, UINT64_C(0x02ABCDEF00000000), 0);
    assert_false(q42_publication_judge(&tally).may_publish);
    assert_int_equal(tally.n_by_label[2], 1);
}

static void class_and_permission_follow_the_table(void **state) {
    (void)state;
    static const struct {
        uint16_t flags;
        uint64_t metadata;
        q42_publication_class which;
        bool ours, theirs;
    } rows[] = {
        {0, 0, Q42_CLASS_UNMARKED, false, false},
        {Q42_FLAG_COMMONS, 0, Q42_CLASS_COMMONS, true, true},
        {Q42_FLAG_COMMONS, LANE(1), Q42_CLASS_GATED, true, true},
        {0, LANE(1), Q42_CLASS_GATED, false, true},
        {Q42_FLAG_SANCTUARY, 0, Q42_CLASS_SANCTUARY, false, false},
        {Q42_FLAG_SANCTUARY, LANE(1), Q42_CLASS_MIXED, false, false},
        {Q42_FLAG_SANCTUARY | Q42_FLAG_COMMONS, 0, Q42_CLASS_MIXED, false, false},
        {Q42_FLAG_COMMONS, TIER(2), Q42_CLASS_MIXED, false, false},
        {0, TIER(2), Q42_CLASS_SANCTUARY, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        q42_publication tally = {.flags = rows[i].flags};
        add_quin(&tally, 0, rows[i].metadata);
        const q42_publication_verdict ours = q42_publication_judge(&tally);
        const q42_publication_verdict theirs = q42_publication_judge_as_reference(&tally);
        assert_int_equal(ours.which, rows[i].which);
        assert_int_equal(theirs.which, rows[i].which);
        assert_int_equal(ours.may_publish, rows[i].ours);
        assert_int_equal(theirs.may_publish, rows[i].theirs);
        assert_true(strlen(ours.reason) > 0 && strlen(theirs.reason) > 0);
    }
}

static void a_block_that_cannot_be_read_closes_the_volume(void **state) {
    (void)state;
    q42_publication tally = {.flags = Q42_FLAG_COMMONS};
    add_quin(&tally, 0, 0);
    q42_publication_add_bad_block(&tally, 8);
    assert_false(q42_publication_judge(&tally).may_publish);
    assert_non_null(strstr(q42_publication_judge(&tally).reason, "cannot be read"));
    assert_int_equal(tally.ours.block, 8);
    assert_string_equal(q42_class_name(q42_publication_judge(&tally).which), "mixed-fail-closed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_triggers_close_and_the_others_do_not),
        cmocka_unit_test(hash_of_a_graph_name_is_no_label_to_us_but_one_to_the_reference),
        cmocka_unit_test(class_and_permission_follow_the_table),
        cmocka_unit_test(a_block_that_cannot_be_read_closes_the_volume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
