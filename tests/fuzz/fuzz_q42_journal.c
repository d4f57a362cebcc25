/* fuzz_q42_journal.c — journals of any bytes. What is demanded: a refusal has words; what strict accepts, the default accepts alike; the walk
 * gives what opening counted, stays inside the committed part, and every quin has its parity. */
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

static void walk(const q42_journal *journal) {
    q42_journal_walk at = {0};
    q42_journal_entry entry;
    uint64_t n_adds = 0, n_removes = 0, n_terms = 0, n_commits = 0;
    while (q42_journal_next(journal, &at, &entry)) {
        REQUIRE(entry.offset + Q42_JOURNAL_FRAME_BYTES <= journal->end);
        n_adds += entry.type == Q42_JOURNAL_ADD;
        n_removes += entry.type == Q42_JOURNAL_REMOVE;
        n_terms += entry.type == Q42_JOURNAL_TERM;
        n_commits += entry.type == Q42_JOURNAL_COMMIT;
        if (entry.type == Q42_JOURNAL_ADD || entry.type == Q42_JOURNAL_REMOVE) {
            REQUIRE(entry.quin.parity == q42_quin_parity(&entry.quin));
        }
    }
    REQUIRE(n_adds == journal->n_adds && n_removes == journal->n_removes && n_terms == journal->n_terms);
    REQUIRE(n_commits == journal->n_transactions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fmt_span span = {data, size};
    q42_journal journal, strict;
    fmt_diag diag = {.text = ""};
    const fmt_status status = q42_journal_open(span, FMT_MODE_DEFAULT, &journal, NULL, NULL, &diag);
    const fmt_status strict_status = q42_journal_open(span, FMT_MODE_STRICT, &strict, NULL, NULL, NULL);
    REQUIRE(status == FMT_OK || strlen(diag.text) > 0);
    REQUIRE(strict_status != FMT_OK || status == FMT_OK);
    if (status == FMT_OK) {
        REQUIRE(journal.end >= Q42_JOURNAL_HEADER_BYTES && journal.end + journal.n_torn_bytes == size);
        walk(&journal);
    }
    return 0;
}
