/* qwal_builder.h — logs for tests, record by record, right or wrong. */
#ifndef QWAL_BUILDER_H
#define QWAL_BUILDER_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/qwal.h>

#define BUILDER_NOW UINT64_C(1750000000000)

typedef struct log_builder {
    uint8_t bytes[1 << 16];
    uint64_t size, sequence, transaction;
    uint64_t unit_at; /* where the open unit begins */
    uint32_t n_records;
} log_builder;

/* A header and no record; the next record has this sequence, the next unit this transaction. */
void build_start(log_builder *b, const char *checkpoint_text, uint64_t sequence, uint64_t transaction);

/* A record with flags as they come; answers where it begins. */
uint64_t build_record(log_builder *b, qwal_type type, uint16_t flags, const void *payload, uint64_t size);

/* Records of a unit: BEGIN for the first one, END when asked for; the unit's end takes the next transaction number. */
void build_quins(log_builder *b, const q42_quin *quins, uint32_t n);
void build_term(log_builder *b, const char *text);
void build_commit(log_builder *b, qwal_authority authority, uint64_t agreement);
/* QUINS of one quin with this subject, and an unsigned COMMIT. */
void build_unit(log_builder *b, uint64_t subject);
/* SUSPEND by threshold of the signers; the agreement is 0xA11CE. Fills the digest. */
void build_suspend(log_builder *b, uint8_t threshold, uint8_t n_signers, const uint64_t *signers, uint64_t expires_ms,
                   const q42_quin *quins, uint32_t n_quins);

static inline fmt_span built(const log_builder *b) {
    const fmt_span span = {b->bytes, b->size};
    return span;
}

#endif
