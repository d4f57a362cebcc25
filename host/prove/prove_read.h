/* prove_read.h — statements of the provenance profile, read back: from a volume, or from what a log holds.
 *
 * Every quin and every term is in the graph, so that the digest covers the whole volume; questions are about those in the profile's
 * context. A handle is only an index: prove_get_text gives the text, and whoever compares a digest compares all of it.
 *
 * Threading: immutable once it is indexed.
 * Memory:    owned by the reading until prove_read_close; texts point into it.
 * Errors:    QN_BAD_FILE with the rule of volumes that is broken; QN_LIMIT for a volume of more than 2^20 statements or terms.
 */
#ifndef HOST_PROVE_READ_H
#define HOST_PROVE_READ_H
#include "base/mapped_file.h"
#include "prove/prove_graph.h"

#define PROVE_MAX_READ (UINT64_C(1) << 20)

typedef struct prove_reading {
    prove_graph graph;      /* settled */
    const q42_quin **index; /* [n_index] of the profile's context, by subject, predicate, ordinal */
    uint64_t n_index;
} prove_reading;

/* The volume in `span`, which `path` names in messages. prove_read_close is right whatever it answers. */
qn_status prove_read_span(fmt_span span, const char *path, prove_reading *out, error_context *err);
/* The volume at `path`. QN_NOT_FOUND when there is none. */
qn_status prove_read_file(const char *path, prove_reading *out, error_context *err);
/* Indexes a graph that was filled by hand; the reading takes it over. */
qn_status prove_read_graph(prove_graph *graph, prove_reading *out, error_context *err);
void prove_read_close(prove_reading *reading); /* a zeroed one is legal */

/* The text of a hash; false when the lexicon has none. */
bool prove_find_text(const prove_reading *reading, uint64_t hash, fmt_str *out_text);

/* Values of (subject, predicate, ordinal); false when nothing is said, or something of another kind. */
bool prove_get_object(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, uint64_t *out);
bool prove_get_text(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, fmt_str *out);
bool prove_get_integer(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, uint64_t *out);
bool prove_get_boolean(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, bool *out);
bool prove_get_float(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, float *out);
bool prove_get_wide(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t which, uint64_t *out);
/* The digest behind `beginning`, in lower-case digits and nothing else. */
bool prove_get_digest(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, const char *beginning,
                      uint8_t out[SHA256_BYTES]);
bool prove_text_digest(fmt_str text, const char *beginning, uint8_t out[SHA256_BYTES]);
bool prove_text_is(fmt_str text, const char *word);

/* Subjects of this q42m:type, each once: start with *at = 0; false after the last. */
bool prove_next_of_type(const prove_reading *r, const char *type, uint64_t *at, uint64_t *out_subject);

#endif
