/* q42_write_fixture.h — a volume written into memory. */
#ifndef TEST_Q42_WRITE_FIXTURE_H
#define TEST_Q42_WRITE_FIXTURE_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42_write.h>

typedef struct grown {
    uint8_t *bytes;
    uint64_t size;
    uint64_t limit; /* appending beyond it fails with FMT_IO; 0: no limit */
} grown;

typedef struct written {
    q42_writer *writer;
    grown spools[Q42_N_SPOOLS];
    grown file;
    q42_write_report report;
    fmt_status status; /* of the last call */
    fmt_diag diag;
} written;

void written_begin(written *w, const q42_write_options *options);
/* Each keeps w->status and w->diag; the test decides what they must be. */
void written_add(written *w, uint64_t key, const char *text);
void written_add_text(written *w, const char *text); /* under its hash */
void written_add_block(written *w, const q42_quin *quins, uint32_t n, uint64_t sequence);
void written_finish(written *w);
void written_free(written *w);

/* The section of the finished file whose offset and length stand at `field` of the header. */
fmt_span written_section(const written *w, uint64_t field);

void hex_of(const void *data, uint64_t size, char *out); /* [2 * size + 1] */
void assert_hex(const void *data, uint64_t size, const char *expected);
void assert_sha256(const void *data, uint64_t size, const char *expected);

/* <http://ex/s> <http://ex/p> <http://ex/o> with bare keys. */
q42_quin example_quin(void);
/* `n` quins whose object, subject i * step and so on rise. */
void make_quins(q42_quin *out, uint32_t n, uint64_t step);

#endif
