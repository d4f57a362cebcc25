/* fuzz_q42_qualia.c — vault manifests of any bytes. What is demanded: a refusal has words; the walk gives as many entries as opening
 * counted; a path that is accepted is relative and has no part that leads up. */
#include <stdlib.h>
#include <string.h>

#include <quoin/q42_files.h>

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *path) {
    REQUIRE(path[0] != '\0' && path[0] != '/' && strchr(path, '\\') == NULL);
    for (const char *part = path; part != NULL; part = strchr(part, '/') != NULL ? strchr(part, '/') + 1 : NULL) {
        REQUIRE(!(strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fmt_span span = {data, size};
    q42_vault vault;
    q42_vault_walk walk = {0};
    q42_vault_entry entry;
    fmt_diag diag = {.text = ""};
    uint32_t n_entries = 0;
    if (q42_vault_open(span, &vault, &diag) != FMT_OK) {
        REQUIRE(strlen(diag.text) > 0);
        return 0;
    }
    while (q42_vault_next(&vault, &walk, &entry)) {
        char text[Q42_VAULT_PATH_SIZE];
        n_entries++;
        REQUIRE(entry.offset < size && entry.line > 0 && entry.column > 0);
        REQUIRE(q42_vault_text(&entry, text, &diag) == FMT_OK || strlen(diag.text) > 0);
        if (q42_vault_path(&entry, text, &diag) == FMT_OK) {
            check_path(text);
        }
    }
    REQUIRE(n_entries == vault.n_entries && vault.n_data_files > 0);
    return 0;
}
