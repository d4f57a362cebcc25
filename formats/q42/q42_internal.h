/* q42_internal.h — what the source files of the Q42 reader share; not for users.
 *
 * Threading: pure functions over their arguments.
 */
#ifndef Q42_INTERNAL_H
#define Q42_INTERNAL_H
#include <quoin/q42.h>

#include "common/diag.h"
#include "common/endian.h"
#include "q42_layout.h"

typedef unsigned long long ull; /* for printf */

typedef uint32_t q42_rule_no;
enum {
#define Q42_RULE(name, id, section, sentence) Q42_R_##name,
#include "rules.def"
#undef Q42_RULE
    Q42_N_RULES
};

const fmt_rule *q42_get_rule(q42_rule_no rule);

/* Shorthand for diag_refuse with a rule of rules.def. */
#define q42_refuse(diag, rule, place, ...) diag_refuse(diag, FMT_BAD_FILE, q42_get_rule(rule), place, __VA_ARGS__)

/* What opening a volume or a lexicon carries along. */
typedef struct q42_reader {
    fmt_span span;
    fmt_mode mode;
    fmt_note_fn *note; /* may be null */
    void *note_ctx;
    fmt_diag *diag;
} q42_reader;

/* Sends a finding that does not refuse the file. */
#define q42_note(reader, rule, place, ...)                                                                  \
    do {                                                                                                    \
        fmt_diag note_;                                                                                     \
        diag_refuse(&note_, FMT_OK, q42_get_rule(rule), place, __VA_ARGS__);                                \
        q42_send_note(reader, &note_);                                                                      \
    } while (0)
void q42_send_note(const q42_reader *reader, const fmt_diag *note);

/* In strict mode a refusal, otherwise a note and FMT_OK. */
fmt_status q42_settle(const q42_reader *reader, const fmt_diag *finding);

/* --------------------------------------------------------------------------- the steps of opening a volume */

/* Header fields and their rules; fills *out_header. */
fmt_status q42_read_header(const q42_reader *reader, q42_header *out_header);
/* Bounds and overlap of all sections; what lies between and behind them is a note or, strictly, refused. */
fmt_status q42_check_sections(const q42_reader *reader, const q42_header *header);
fmt_status q42_check_unowned(const q42_reader *reader, const q42_header *header);
fmt_status q42_check_bidx(const q42_reader *reader, const q42_header *header);
fmt_status q42_check_fidx(const q42_reader *reader, const q42_header *header);
fmt_status q42_check_pidx(const q42_reader *reader, const q42_header *header);
fmt_status q42_check_directory(const q42_reader *reader, const q42_header *header);

/* Header of BIDX, FIDX or PIDX: magic, version, count of blocks. */
fmt_status q42_check_index_header(const q42_reader *reader, const q42_header *header, q42_section section,
                                  const char *magic, q42_rule_no rule);

/* The checks of a decoded block that q42_read_block makes when asked to. */
fmt_status q42_check_block_order(const q42_volume *volume, const q42_block *block, fmt_diag *diag);
fmt_status q42_check_block_parity(const q42_volume *volume, const q42_block *block, fmt_diag *diag);
fmt_status q42_check_block_tail(const q42_volume *volume, const q42_block *block, fmt_diag *diag);

/* Whether FIDX and PIDX tell what the block holds; FMT_OK where they are not there. */
fmt_status q42_check_fidx_content(const q42_volume *volume, const q42_block *block, fmt_diag *diag);
fmt_status q42_check_pidx_content(const q42_volume *volume, const q42_block *block, fmt_diag *diag);

/* Where a diagnosis about a block points: its payload, since a decoded byte has no place in the file. */
diag_place q42_block_place(const q42_volume *volume, uint64_t index, uint64_t expected, uint64_t got);

static inline uint64_t q42_block_object(const q42_block *block, uint32_t slot) {
    return load_u64(block->quins + (uint64_t)slot * Q42_QUIN_BYTES + 16);
}

/* Field of a quin as FIDX and PIDX number them. */
static inline uint64_t q42_block_field(const q42_block *block, uint32_t slot, q42_field field) {
    return load_u64(block->quins + (uint64_t)slot * Q42_QUIN_BYTES + (field == Q42_CONTEXT ? 24 : 8 * field));
}

/* The 88 bytes of a node; below q42_dag_count. */
const uint8_t *q42_dag_bytes(const q42_volume *volume, uint64_t node);

/* ------------------------------------------------------------------------------------------------ postings */

/* One list of a block, being walked: rising values, or a filter. */
typedef struct q42_postings {
    const uint8_t *bloom; /* the filter's 256 bytes; null for a list */
    const uint8_t *at, *end;
    uint32_t n_left;
    bool is_first;
    uint64_t value; /* the last one */
} q42_postings;

/* Checks and finds the three lists of a block. */
fmt_status q42_read_postings(const q42_volume *volume, uint64_t block, q42_postings out_lists[3], fmt_diag *diag);
/* The next value of a list; false after the last. */
bool q42_postings_next(q42_postings *list, uint64_t *out_value);

/* First byte of a section; a section with length 0 has none. */
static inline const uint8_t *q42_section_data(fmt_span span, q42_section section) {
    return span.data + section.offset;
}

/* Offset of the first byte in [begin, end) that is not zero, or `end`. */
uint64_t q42_first_nonzero(const uint8_t *data, uint64_t begin, uint64_t end);

#endif
