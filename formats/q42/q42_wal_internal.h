/* q42_wal_internal.h — what the files of the log's codec share.
 *
 * Threading: pure.
 */
#ifndef FMT_Q42_WAL_INTERNAL_H
#define FMT_Q42_WAL_INTERNAL_H
#include <quoin/qwal.h>

#include "q42_files_internal.h"

typedef uint32_t wal_rule_no;
enum {
#define QWAL_RULE(name, id, section, sentence) QWAL_R_##name,
#include "wal_rules.def"
#undef QWAL_RULE
    QWAL_N_RULES
};

#define wal_refuse(diag, rule, place, ...) diag_refuse(diag, FMT_BAD_FILE, wal_get_rule(rule), place, __VA_ARGS__)
const fmt_rule *wal_get_rule(wal_rule_no rule);

/* Offsets in a record's header. */
enum {
    WAL_SIZE_AT = 4, WAL_TYPE_AT = 8, WAL_FLAGS_AT = 10, WAL_SEQUENCE_AT = 12, WAL_TRANSACTION_AT = 20, WAL_CRC_AT = 28
};

#define WAL_COMMIT_BYTES 24u
#define WAL_SIGNATURE_BYTES 128u
#define WAL_SUSPEND_BYTES 72u /* in front of signers and quins */
#define WAL_SUSPEND_DIGEST_AT 40u
#define WAL_CONSENT_BYTES 120u
#define WAL_ABORT_BYTES 24u
#define WAL_CHECKPOINT_BYTES 40u
#define WAL_AUDIT_BYTES 48u
#define WAL_ENTRY_BYTES 16u
#define WAL_TERM_BYTES 12u

/* The record's header says these; payload.data points behind it, whether or not that much is there. `at` has 32 bytes. */
qwal_record wal_load_record(const uint8_t *at, uint64_t offset);

/* Checksum of the record whose header and payload stand at `at`. */
uint32_t wal_record_checksum(const uint8_t *at, uint64_t payload_bytes);

/* Whether the payload has the form of its type; types are 1 to 9. */
bool wal_has_form(qwal_type type, fmt_span payload);

#endif
