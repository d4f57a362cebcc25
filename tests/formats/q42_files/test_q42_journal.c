/* test_q42_journal.c — journals: the published bytes, what a crash leaves, what is ignored and what is refused. */
#include "common/crc32c.h"
#include "common/endian.h"
#include "files_fixture.h"

#define HEADER_HEX                                                     \
    "5134324a01000300000000000000000099990000000000005555555555555555" \
    "5555555555555555555555555555555555555555555555550100000000000000" \
    "0100000000000000000000000000000000000000000000000000000000000000" \
    "0000000000000000000000000000000000000000000000000000000000000000"
#define FRAMES_HEX                                                     \
    "010000001000000001000000000000000a0000000000000001000000f643f856" \
    "cdab000000000000111100000000000004000000090000000200000000000000" \
    "0a000000000000000100000063e4c8118cec01864cdc630f6102000000300000" \
    "0003000000000000000a0000000000000001000000ae8f5cb164000000000000" \
    "00c8000000000000002c010000000000009001000000000000f4010000000000" \
    "00e401000000000000ff0000000400000004000000000000000a000000000000" \
    "0001000000b8412c6eaaaaaaaa"

typedef struct journal_file {
    uint8_t bytes[4096];
    uint64_t size;
    uint64_t sequence;
    uint32_t transaction;
} journal_file;

static void start(journal_file *file) {
    q42_journal_header header = {.profile = 3, .world = 0x9999, .base_generation = 1, .schema_rules = 1};
    memset(header.base_digest, 0x55, sizeof header.base_digest);
    memset(file, 0, sizeof *file);
    q42_journal_encode_header(&header, file->bytes);
    file->size = Q42_JOURNAL_HEADER_BYTES;
}

static void put_entry(journal_file *file, q42_journal_entry entry) {
    entry.sequence = ++file->sequence;
    entry.tick = 10;
    file->transaction += entry.type == Q42_JOURNAL_BEGIN;
    entry.transaction = file->transaction;
    const uint64_t size = q42_journal_encode(&entry, file->bytes + file->size, sizeof file->bytes - file->size);
    assert_true(size > 0);
    file->size += size;
}

static void put_type(journal_file *file, q42_journal_type type) {
    put_entry(file, (q42_journal_entry){.type = type, .command = 0xABCD, .actor = 0x1111});
}

static void put_quin(journal_file *file, q42_journal_type type, uint64_t subject) {
    put_entry(file, (q42_journal_entry){.type = type, .quin = q42_quin_make(subject, 200, 300, 400, 500)});
}

static void put_term(journal_file *file, const char *text) {
    put_entry(file, (q42_journal_entry){.type = Q42_JOURNAL_TERM, .key = q42_hash(text, strlen(text)),
                                        .text = text_of(text)});
}

/* Any bytes as the content of a frame, with a right checksum. */
static void put_raw(journal_file *file, uint8_t type, const void *content, uint32_t size) {
    uint8_t *head = file->bytes + file->size;
    memset(head, 0, 32);
    head[0] = type;
    store_u32(head + 4, size);
    store_u64(head + 8, ++file->sequence);
    store_u32(head + 24, file->transaction);
    store_u32(head + 28, crc32c(content, size));
    memcpy(head + 32, content, size);
    file->size += 32 + size;
}

static void put_add_transaction(journal_file *file, uint64_t subject) {
    put_type(file, Q42_JOURNAL_BEGIN);
    put_quin(file, Q42_JOURNAL_ADD, subject);
    put_type(file, Q42_JOURNAL_COMMIT);
}

static fmt_status open_mode(const journal_file *file, fmt_mode mode, q42_journal *journal, note_count *notes,
                            fmt_diag *diag) {
    return q42_journal_open(span_of(file->bytes, file->size), mode, journal, count_note, notes, diag);
}

static void header_and_frames_are_the_published_bytes(void **state) {
    (void)state;
    journal_file file;
    start(&file);
    assert_bytes(file.bytes, file.size, HEADER_HEX);
    put_type(&file, Q42_JOURNAL_BEGIN);
    put_term(&file, "a");
    put_quin(&file, Q42_JOURNAL_ADD, 100);
    put_type(&file, Q42_JOURNAL_COMMIT);
    assert_bytes(file.bytes + Q42_JOURNAL_HEADER_BYTES, file.size - Q42_JOURNAL_HEADER_BYTES, FRAMES_HEX);
}

static void published_bytes_read_back(void **state) {
    (void)state;
    uint8_t bytes[512];
    q42_journal journal;
    q42_journal_walk walk = {0};
    q42_journal_entry entries[5];
    const size_t size = fixture_bytes(HEADER_HEX FRAMES_HEX, bytes, sizeof bytes);
    assert_int_equal(q42_journal_open(span_of(bytes, size), FMT_MODE_STRICT, &journal, NULL, NULL, NULL), FMT_OK);
    assert_int_equal(journal.n_transactions, 1);
    assert_int_equal(journal.n_adds, 1);
    assert_int_equal(journal.last_sequence, 4);
    assert_int_equal(journal.end, size);
    uint32_t n = 0;
    while (n < 5 && q42_journal_next(&journal, &walk, &entries[n])) {
        n++;
    }
    assert_int_equal(n, 4);
    assert_int_equal(entries[0].command, 0xABCD);
    assert_int_equal(entries[0].actor, 0x1111);
    assert_int_equal(entries[1].key, q42_hash("a", 1));
    assert_memory_equal(entries[1].text.data, "a", 1);
    assert_int_equal(entries[2].quin.object, 300);
    assert_int_equal(entries[3].type, Q42_JOURNAL_COMMIT);
}

static void wherever_the_file_is_cut_the_committed_transactions_stay(void **state) {
    (void)state;
    journal_file file;
    start(&file);
    put_add_transaction(&file, 1);
    const uint64_t first_end = file.size;
    put_add_transaction(&file, 2);
    const uint64_t whole = file.size;
    for (file.size = Q42_JOURNAL_HEADER_BYTES; file.size <= whole; file.size++) {
        q42_journal journal;
        fmt_diag diag;
        note_count notes = {0};
        assert_int_equal(open_mode(&file, FMT_MODE_DEFAULT, &journal, &notes, &diag), FMT_OK);
        const uint64_t n_wanted = file.size == whole ? 2 : file.size >= first_end;
        assert_int_equal(journal.n_transactions, n_wanted);
        assert_int_equal(journal.end, n_wanted == 2   ? whole
                                      : n_wanted == 1 ? first_end
                                                      : Q42_JOURNAL_HEADER_BYTES);
        assert_int_equal(journal.n_torn_bytes, file.size - journal.end);
        const bool is_torn = file.size != journal.end;
        assert_int_equal(notes.n, is_torn ? 1 : 0);
        assert_int_equal(open_mode(&file, FMT_MODE_STRICT, &journal, &notes, &diag), is_torn ? FMT_BAD_FILE : FMT_OK);
        if (is_torn) {
            assert_string_equal(diag.rule, "journal-tail");
        }
        assert_int_equal(journal.last_sequence, 3 * n_wanted);
    }
}

static void walk_leaves_out_a_transaction_that_another_one_replaces(void **state) {
    (void)state;
    journal_file file;
    q42_journal journal;
    q42_journal_walk walk = {0};
    q42_journal_entry entry;
    fmt_diag diag;
    note_count notes = {0};
    start(&file);
    put_type(&file, Q42_JOURNAL_BEGIN);
    put_quin(&file, Q42_JOURNAL_ADD, 1);
    put_add_transaction(&file, 2);
    assert_int_equal(open_mode(&file, FMT_MODE_DEFAULT, &journal, &notes, &diag), FMT_OK);
    assert_int_equal(journal.n_adds, 1);
    uint64_t n_adds = 0;
    while (q42_journal_next(&journal, &walk, &entry)) {
        if (entry.type == Q42_JOURNAL_ADD) {
            assert_int_equal(entry.quin.subject, 2);
            assert_int_equal(entry.ordinal, 0);
            n_adds++;
        }
    }
    assert_int_equal(n_adds, 1);
}

typedef void change_fn(journal_file *file);

static void damage_content(journal_file *file) {
    file->bytes[file->size - 36 - 1] ^= 1; /* last byte of the quin, before the commit */
}
static void claim_too_much(journal_file *file) {
    store_u32(file->bytes + 128 + 4, Q42_JOURNAL_MAX_PAYLOAD + 1);
}
static void put_type_6(journal_file *file) {
    put_raw(file, 6, "", 0);
}
static void put_short_begin(journal_file *file) {
    put_raw(file, Q42_JOURNAL_BEGIN, "1234567", 7);
}
static void put_wrong_parity(journal_file *file) {
    q42_quin quin = q42_quin_make(1, 2, 3, 4, 5);
    uint8_t bytes[Q42_QUIN_BYTES];
    quin.parity ^= 1;
    q42_quin_store(bytes, &quin);
    put_raw(file, Q42_JOURNAL_ADD, bytes, sizeof bytes);
}
static void use_version_2(journal_file *file) {
    file->bytes[4] = 2;
}
static void use_other_magic(journal_file *file) {
    file->bytes[3] = 'K';
}
static void cut_header(journal_file *file) {
    file->size = 127;
}

static void each_broken_rule_is_refused_by_its_name(void **state) {
    (void)state;
    static const struct {
        change_fn *change;
        const char *rule, *words;
    } rows[] = {
        {damage_content, "journal-checksum", "frame 2"},    {claim_too_much, "journal-payload", "65544"},
        {put_type_6, "journal-type", "type 6"},             {put_short_begin, "journal-begin", "7 bytes"},
        {put_wrong_parity, "journal-parity", "parity"},     {use_version_2, "journal-version", "version is 2"},
        {use_other_magic, "journal-magic", "\"Q42K\""},     {cut_header, "journal-size", "127 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        journal_file file;
        q42_journal journal;
        fmt_diag diag;
        note_count notes = {0};
        start(&file);
        put_add_transaction(&file, 1);
        rows[i].change(&file);
        assert_refused(open_mode(&file, FMT_MODE_DEFAULT, &journal, &notes, &diag), &diag, rows[i].rule,
                       rows[i].words);
    }
}

static void put_short_add(journal_file *file) {
    put_type(file, Q42_JOURNAL_BEGIN);
    put_raw(file, Q42_JOURNAL_ADD, "12345", 5);
    put_type(file, Q42_JOURNAL_COMMIT);
}
static void put_false_term(journal_file *file) {
    put_type(file, Q42_JOURNAL_BEGIN);
    put_raw(file, Q42_JOURNAL_TERM, "\1\0\0\0\0\0\0\0text", 12);
    put_type(file, Q42_JOURNAL_COMMIT);
}
static void put_outside(journal_file *file) {
    put_quin(file, Q42_JOURNAL_ADD, 9);
    put_add_transaction(file, 2);
}
static void restart_numbers(journal_file *file) {
    file->sequence = 0;
    put_add_transaction(file, 3);
}
static void use_profile_9(journal_file *file) {
    file->bytes[6] = 9;
}

static void what_says_nothing_is_a_note_and_strict_refuses_it(void **state) {
    (void)state;
    static const struct {
        change_fn *change;
        const char *rule;
        uint64_t n_adds;
        uint32_t n_notes;
    } rows[] = {
        {put_short_add, "journal-frame", 1, 1},      {put_false_term, "journal-term", 1, 1},
        {put_outside, "journal-outside", 2, 1},      {restart_numbers, "journal-sequence", 2, 1},
        {use_profile_9, "journal-header", 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        journal_file file;
        q42_journal journal;
        fmt_diag diag;
        note_count notes = {0};
        start(&file);
        put_add_transaction(&file, 1);
        rows[i].change(&file);
        assert_int_equal(open_mode(&file, FMT_MODE_DEFAULT, &journal, &notes, &diag), FMT_OK);
        assert_string_equal(notes.last, rows[i].rule);
        assert_int_equal(notes.n, rows[i].n_notes);
        assert_int_equal(journal.n_adds, rows[i].n_adds);
        assert_int_equal(journal.n_terms, 0);
        assert_refused(open_mode(&file, FMT_MODE_STRICT, &journal, &notes, &diag), &diag, rows[i].rule, "");
    }
}

static void pointer_key_of_a_did_is_a_right_term(void **state) {
    (void)state;
    journal_file file;
    q42_journal journal;
    fmt_diag diag;
    note_count notes = {0};
    start(&file);
    put_type(&file, Q42_JOURNAL_BEGIN);
    put_entry(&file, (q42_journal_entry){.type = Q42_JOURNAL_TERM, .key = UINT64_C(0x88ced14d25ef6e76),
                                         .text = text_of("did:q42:z6MkpTHR8VNs")});
    put_type(&file, Q42_JOURNAL_COMMIT);
    assert_int_equal(open_mode(&file, FMT_MODE_STRICT, &journal, &notes, &diag), FMT_OK);
    assert_int_equal(journal.n_terms, 1);
}

static void another_base_is_refused_with_both_digests(void **state) {
    (void)state;
    journal_file file;
    q42_journal journal;
    fmt_diag diag;
    note_count notes = {0};
    uint8_t digest[Q42_DIGEST_BYTES];
    start(&file);
    assert_int_equal(open_mode(&file, FMT_MODE_DEFAULT, &journal, &notes, &diag), FMT_OK);
    memset(digest, 0x55, sizeof digest);
    assert_int_equal(q42_journal_check_base(&journal, digest, &diag), FMT_OK);
    digest[0] = 0xAB;
    assert_refused(q42_journal_check_base(&journal, digest, &diag), &diag, "journal-base", "5555555555555555, not ab55");
}

static void a_term_that_is_too_long_is_not_written(void **state) {
    (void)state;
    static char text[Q42_MAX_TERM + 1];
    static uint8_t room[80000];
    q42_journal_entry entry = {.type = Q42_JOURNAL_TERM, .text = {text, Q42_MAX_TERM + 1}};
    assert_int_equal(q42_journal_encode(&entry, room, sizeof room), 0);
    entry.text.size = Q42_MAX_TERM;
    assert_int_equal(q42_journal_encode(&entry, room, sizeof room), 32 + Q42_JOURNAL_MAX_PAYLOAD);
    assert_int_equal(q42_journal_encode(&entry, room, 32 + Q42_JOURNAL_MAX_PAYLOAD - 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_and_frames_are_the_published_bytes),
        cmocka_unit_test(published_bytes_read_back),
        cmocka_unit_test(wherever_the_file_is_cut_the_committed_transactions_stay),
        cmocka_unit_test(walk_leaves_out_a_transaction_that_another_one_replaces),
        cmocka_unit_test(each_broken_rule_is_refused_by_its_name),
        cmocka_unit_test(what_says_nothing_is_a_note_and_strict_refuses_it),
        cmocka_unit_test(pointer_key_of_a_did_is_a_right_term),
        cmocka_unit_test(another_base_is_refused_with_both_digests),
        cmocka_unit_test(a_term_that_is_too_long_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
