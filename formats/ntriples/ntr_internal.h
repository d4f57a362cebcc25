/* ntr_internal.h — what the source files of the N-Triples library share; not for users.
 *
 * A *reader* stands in a text and reads one token at a time. Reading is done in two steps: a scan that proves the token
 * right and finds its end, then, only when the text is not canonical, a copy into `out` with every escape resolved.
 *
 * Threading: pure functions over their arguments.
 * Memory:    borrowed from the caller.
 */
#ifndef NTR_INTERNAL_H
#define NTR_INTERNAL_H
#include <stdbool.h>
#include <stddef.h>

#include <quoin/ntriples.h>

#include "common/diag.h"

typedef uint32_t ntr_rule_no;
enum {
#define NTR_RULE(name, id, section, sentence) NTR_R_##name,
#include "rules.def"
#undef NTR_RULE
    NTR_N_RULES
};

const fmt_rule *ntr_get_rule(ntr_rule_no rule);

typedef struct ntr_reader {
    const uint8_t *at;    /* next byte */
    const uint8_t *end;
    char *out;            /* NTRIPLES_TERM_ROOM bytes for a rebuilt term; null: what is not canonical is refused */
    fmt_str blank_prefix;
    /* After a failure: */
    ntr_rule_no rule;
    const uint8_t *fault; /* the byte at fault, or `end` */
    uint64_t length;      /* NTR_R_TERM_TOO_LONG: bytes of the surface text */
} ntr_reader;

/* Notes the fault; returns false. */
static inline bool ntr_fail(ntr_reader *r, ntr_rule_no rule, const uint8_t *fault) {
    r->rule = rule;
    r->fault = fault;
    return false;
}

static inline bool ntr_is_line_end(uint8_t byte) {
    return byte == '\n' || byte == '\r';
}

static inline const uint8_t *ntr_skip_blanks(const uint8_t *at, const uint8_t *end) {
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return at;
}

/* ---------------------------------------------------------------- scanning (ntr_scan.c) */

/* A scan moves r->at behind the token; *io_rebuild becomes true when the text between is not canonical. */
bool ntr_scan_iri(ntr_reader *r, bool *io_rebuild);          /* from < to > */
bool ntr_scan_quoted(ntr_reader *r, bool *io_rebuild);       /* from " to " */
bool ntr_scan_label(ntr_reader *r);                          /* behind _: */
bool ntr_scan_language(ntr_reader *r);                       /* behind @ */

/* Does the text between the brackets begin with a scheme? */
bool ntr_has_scheme(const uint8_t *text, uint64_t size);

/* ---------------------------------------------------------------- rebuilding (ntr_rebuild.c) */

/* Code point of the \u or \U escape at `at`, which has been scanned; *out_size receives 6 or 10. */
uint32_t ntr_code_escape(const uint8_t *at, unsigned *out_size);

/* What these append beyond NTRIPLES_TERM_ROOM is counted, not written. Each returns the new size of `out`. */
uint64_t ntr_append(char *out, uint64_t size, const void *bytes, uint64_t n);
uint64_t ntr_append_code(char *out, uint64_t size, uint32_t code, bool in_literal); /* escaped when it must be */
uint64_t ntr_append_unescaped(char *out, uint64_t size, const uint8_t *from, const uint8_t *to, bool in_literal);

/* ---------------------------------------------------------------- terms (ntr_term.c) */

/* Each begins at the first byte of the term. False after a fault. */
bool ntr_read_iri(ntr_reader *r, ntriples_term *out_term);
bool ntr_read_blank(ntr_reader *r, ntriples_term *out_term);
bool ntr_read_literal(ntr_reader *r, ntriples_term *out_term);

/* The term that begins at r->at, of a kind in `kinds` (a bit each); `rule` is what a term of another kind breaks. */
bool ntr_read_any(ntr_reader *r, uint32_t kinds, ntr_rule_no rule, ntriples_term *out_term);

#define NTR_ANY_KIND (1u << NTRIPLES_IRI | 1u << NTRIPLES_BLANK | 1u << NTRIPLES_LITERAL)

/* False, with the rule noted, when a surface text of `size` bytes that was read from `begin` on is too long. */
bool ntr_check_length(ntr_reader *r, uint64_t size, const uint8_t *begin);

/* ---------------------------------------------------------------- faults (ntr_fault.c) */

/* Fills the diagnosis of the reader's fault. `line_start` is where its line begins, `place` the number of this line and
 * the offset of line_start in the file. Returns the status; *out_column may be null. */
typedef struct ntr_line {
    const uint8_t *start;
    uint64_t number, offset;
} ntr_line;
fmt_status ntr_refuse(const ntr_reader *r, ntr_line line, uint64_t *out_column, fmt_diag *diag);

#endif
