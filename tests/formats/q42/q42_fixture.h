/* q42_fixture.h — frozen volumes to read and to break, and every check of the reader in the order of `quoin verify`. */
#ifndef TEST_Q42_FIXTURE_H
#define TEST_Q42_FIXTURE_H
#include <stddef.h>
#include <stdint.h>

#include <quoin/q42.h>

/* Notes that were given, by rule. */
typedef struct note_log {
    uint32_t n;
    char rules[16][40];
} note_log;
void log_note(void *ctx, const fmt_diag *note);
int has_note(const note_log *log, const char *rule);

/* A file of tests/vectors/q42 in memory; the caller frees. */
uint8_t *read_vector(const char *name, size_t *out_size);

/* Opens and checks everything that one file allows: lexicon pages, blocks with their indexes, DAG and root. FMT_OK, or
 * the first finding; duplicate quins go into *log. */
fmt_status check_all(fmt_span span, fmt_mode mode, note_log *log, fmt_diag *diag);

/* A block of literals as the vectors have it: 40,960 bytes raw from `at` on in a volume whose payload begins at
 * `payload_at`. */
#define RAW_AT(payload_at) ((payload_at) + 4 + 162)

#endif
