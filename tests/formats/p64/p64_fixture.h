/* p64_fixture.h — a container in memory for tests: loaded from the vectors, changed, its checksums made right, opened.
 */
#ifndef TEST_P64_FIXTURE_H
#define TEST_P64_FIXTURE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <quoin/p64.h>

#define FIXTURE_MAX_NOTES 32

typedef struct fixture {
    uint8_t *bytes;
    size_t size;
    void *scratch;
    uint64_t scratch_bytes;
    p64_file file;
    fmt_status status;
    fmt_diag diag;
    fmt_diag notes[FIXTURE_MAX_NOTES];
    uint32_t n_notes; /* all of them, also those that did not fit */
} fixture;

/* Reads tests/vectors/p64/NAME; frees what was there before. Zero a fixture before its first use. */
void fixture_load(fixture *f, const char *name);

/* Takes a copy of `bytes`. */
void fixture_take(fixture *f, const void *bytes, size_t size);

/* Writes `size` bytes at `at`, then makes checksum entry 0 right again. */
void fixture_poke(fixture *f, uint64_t at, const void *data, size_t size);
void fixture_poke_u32(fixture *f, uint64_t at, uint32_t value);
void fixture_seal(fixture *f);

/* Field of the header, before or after opening. */
uint32_t fixture_u32(const fixture *f, uint64_t at);

/* Sizes the scratch and opens; `status`, `diag`, `notes` and `file` tell the outcome. */
void fixture_open(fixture *f, fmt_mode mode);

/* True when a note with this rule was given. */
bool fixture_has_note(const fixture *f, const char *rule);

void fixture_free(fixture *f);

/* The opening must have been refused by `rule` at byte `offset`, with a sentence. */
void fixture_assert_refused(const fixture *f, const char *rule, uint64_t offset);
void fixture_assert_open(const fixture *f);

#endif
