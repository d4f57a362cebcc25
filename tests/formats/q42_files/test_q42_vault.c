/* test_q42_vault.c — vault manifests: what is read, which text is refused where, and which paths lead elsewhere. */
#include "files_fixture.h"

#define HEAD "@prefix q: <https://schema.qualia.dev/vocab#> .\n"
#define START HEAD "<#v> a q:VaultManifest ; q:includesDataFile "

static fmt_status open_text(const char *text, q42_vault *vault, fmt_diag *diag) {
    return q42_vault_open(span_of(text, strlen(text)), vault, diag);
}

static void a_whole_manifest_gives_its_entries_in_order(void **state) {
    (void)state;
    static const char text[] =
        "# books\n" HEAD "PREFIX : <https://schema.qualia.dev/>\n"
        "<#vault> a q:VaultManifest ;\n"
        "  q:vaultName \"B\\u00fccher \\\"1\\\"\"@de ; # name\n"
        "  q:includesDataFile <data/a.q42> , 'data/b c.q42', \"\"\"c\n.q42\"\"\" ;\n"
        "  <https://schema.qualia.dev/vocab#includesCapabilityEnvelope> <e%20f.qchk> ;\n"
        "  q:includesLexiconFile \"a.lex\"; :other 42 , -1.5e3, true ;;\n"
        "  q:lastOpenedAt \"2026-01-01\"^^<http://www.w3.org/2001/XMLSchema#date> ; .\n";
    static const struct {
        q42_vault_term term;
        const char *value;
    } rows[] = {
        {Q42_VAULT_TYPE, "q:VaultManifest"}, {Q42_VAULT_NAME, "B\xc3\xbc" "cher \"1\""},
        {Q42_VAULT_DATA_FILE, "data/a.q42"}, {Q42_VAULT_DATA_FILE, "data/b c.q42"},
        {Q42_VAULT_DATA_FILE, "c\n.q42"},    {Q42_VAULT_ENVELOPE, "e f.qchk"},
        {Q42_VAULT_LEXICON_FILE, "a.lex"},   {Q42_VAULT_OTHER, "42"},
        {Q42_VAULT_OTHER, "-1.5e3"},         {Q42_VAULT_OTHER, "true"},
        {Q42_VAULT_OTHER, "2026-01-01"},
    };
    q42_vault vault;
    q42_vault_walk walk = {0};
    q42_vault_entry entry;
    fmt_diag diag;
    assert_int_equal(open_text(text, &vault, &diag), FMT_OK);
    assert_int_equal(vault.n_entries, sizeof rows / sizeof rows[0]);
    assert_int_equal(vault.n_data_files, 3);
    assert_int_equal(vault.n_envelopes, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char value[Q42_VAULT_PATH_SIZE];
        assert_true(q42_vault_next(&vault, &walk, &entry));
        assert_int_equal(entry.term, rows[i].term);
        assert_int_equal(q42_vault_text(&entry, value, &diag), FMT_OK);
        assert_string_equal(value, rows[i].value);
    }
    assert_false(q42_vault_next(&vault, &walk, &entry));
}

static void place_of_a_value_is_its_line_and_column(void **state) {
    (void)state;
    q42_vault vault;
    q42_vault_walk walk = {0};
    q42_vault_entry entry;
    fmt_diag diag;
    assert_int_equal(open_text(START "\"x\",\n   \"y\" .", &vault, &diag), FMT_OK);
    while (q42_vault_next(&vault, &walk, &entry)) {
    }
    assert_int_equal(entry.line, 3);
    assert_int_equal(entry.column, 4);
}

static void each_broken_rule_is_refused_with_line_and_column(void **state) {
    (void)state;
    static const struct {
        const char *text, *rule, *words;
    } rows[] = {
        {"", "vault-syntax", "no subject"},
        {HEAD "<#v> q:vaultName \"x\" .", "vault-data", "includesDataFile"},
        {START "<a.q42>", "vault-syntax", "no full stop"},
        {START "<a.q42> <b.q42> .", "vault-syntax", "line 2, column 53"},
        {START "<a.q42", "vault-syntax", "does not end"},
        {START "<a b> .", "vault-syntax", "may not hold"},
        {START "\"a", "vault-syntax", "does not end"},
        {START "\"a\nb\" .", "vault-syntax", "does not end"},
        {START "( <a> ) .", "vault-subset", "collection"},
        {START "[ ] .", "vault-subset", "anonymous"},
        {START "_:b .", "vault-subset", "anonymous"},
        {START "<a> . <#w> q:vaultName \"n\" .", "vault-subset", "second statement"},
        {"@base <http://e.example/> .\n" START "<a> .", "vault-subset", "moved"},
        {START "x:a .", "vault-prefix", "\"x:a\""},
        {START "word .", "vault-syntax", "no name with a prefix"},
        {"@prefix q <a> .", "vault-syntax", "colon"},
        {"@prefix q: <a> <#v>", "vault-syntax", "full stop"},
        {START "\"a\"@ .", "vault-syntax", "language"},
        {START "\"\xff\" .", "vault-text", "0xff"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        q42_vault vault;
        fmt_diag diag;
        assert_refused(open_text(rows[i].text, &vault, &diag), &diag, rows[i].rule, rows[i].words);
    }
}

static void more_prefixes_than_there_is_room_for_are_refused(void **state) {
    (void)state;
    char text[2048] = "";
    for (int i = 0; i <= (int)Q42_VAULT_PREFIXES; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "@prefix p%d: <http://e.example/> .\n", i);
    }
    q42_vault vault;
    fmt_diag diag;
    assert_refused(open_text(text, &vault, &diag), &diag, "vault-prefix", "line 17");
}

static fmt_status path_of(const char *value, char out[Q42_VAULT_PATH_SIZE], fmt_diag *diag) {
    static char text[4096];
    q42_vault vault;
    q42_vault_walk walk = {0};
    q42_vault_entry entry;
    snprintf(text, sizeof text, START "%s .", value);
    assert_int_equal(open_text(text, &vault, diag), FMT_OK);
    assert_true(q42_vault_next(&vault, &walk, &entry) && q42_vault_next(&vault, &walk, &entry));
    return q42_vault_path(&entry, out, diag);
}

static void paths_below_the_folder_are_taken_and_others_refused(void **state) {
    (void)state;
    static const struct {
        const char *value, *rule; /* null: taken */
    } rows[] = {
        {"<a.q42>", NULL},           {"\"d/e/a.q42\"", NULL},      {"\"..a/b..\"", NULL},
        {"<./a>", NULL},             {"\"a%20b\"", NULL},          {"</a>", "vault-path"},
        {"<../a>", "vault-path"},    {"\"a/..\"", "vault-path"},   {"\"a/../b\"", "vault-path"},
        {"<%2e%2e/a>", "vault-path"}, {"\"\\u002e./a\"", "vault-path"}, {"\"a\\\\b\"", "vault-path"},
        {"\"\"", "vault-path"},      {"<http://e.example/a>", "vault-path"}, {"\"C:a\"", "vault-path"},
        {"<a%00>", "vault-escape"},  {"\"a\\u0000\"", "vault-escape"}, {"<a%2>", "vault-escape"},
        {"\"\\x\"", "vault-escape"}, {"\"\\uD800\"", "vault-escape"}, {"<a%ff>", "vault-escape"},
        {"12", "vault-path"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[Q42_VAULT_PATH_SIZE];
        fmt_diag diag;
        const fmt_status status = path_of(rows[i].value, path, &diag);
        if (rows[i].rule == NULL) {
            assert_int_equal(status, FMT_OK);
        } else {
            assert_refused(status, &diag, rows[i].rule, "line 2");
        }
    }
}

static void a_path_that_is_too_long_is_refused(void **state) {
    (void)state;
    char value[Q42_VAULT_PATH_SIZE + 8], path[Q42_VAULT_PATH_SIZE];
    fmt_diag diag;
    memset(value, 'a', sizeof value);
    value[0] = value[Q42_VAULT_PATH_SIZE] = '"';
    value[Q42_VAULT_PATH_SIZE + 1] = '\0';
    assert_int_equal(path_of(value, path, &diag), FMT_OK);
    value[Q42_VAULT_PATH_SIZE] = 'a';
    value[Q42_VAULT_PATH_SIZE + 1] = '"';
    value[Q42_VAULT_PATH_SIZE + 2] = '\0';
    assert_refused(path_of(value, path, &diag), &diag, "vault-length", "long");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_manifest_gives_its_entries_in_order),
        cmocka_unit_test(place_of_a_value_is_its_line_and_column),
        cmocka_unit_test(each_broken_rule_is_refused_with_line_and_column),
        cmocka_unit_test(more_prefixes_than_there_is_room_for_are_refused),
        cmocka_unit_test(paths_below_the_folder_are_taken_and_others_refused),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
