/* prove_graph.h — statements of the provenance profile on their way into a volume or a log, and the digest over them.
 *
 * Statements are said about one subject at a time. The first failure sticks: what is said after it is passed over, and prove_settle
 * tells it.
 *
 *     prove_graph g;
 *     prove_begin(&g, 0, err);
 *     prove_about(&g, "urn:qualia:p64:sha256:...");
 *     prove_say_word(&g, "q42m:type", 0, "q42m:P64Artifact");
 *     prove_say_integer(&g, "q42m:byteLength", 0, size);
 *     QN_TRY(prove_settle(&g), err, "...");
 *     prove_digest(&g, digest);
 *     prove_end(&g);
 *
 * Threading: one thread at a time.
 * Memory:    owned by the graph until prove_end; what is said is copied.
 * Errors:    QN_BAD_INPUT for a text that is not surely in NFC, QN_LIMIT for one of more than 4096 bytes or an integer above 2^60 - 1.
 */
#ifndef HOST_PROVE_GRAPH_H
#define HOST_PROVE_GRAPH_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"
#include "common/sha.h"
#include "convert/small_volume.h"
#include "prove/prove_words.h"

#define PROVE_URN_SIZE 128u

typedef struct prove_graph {
    small_volume volume;
    uint64_t subject, context, tier;
    qn_status status;   /* of the first failure */
    error_context *err; /* borrowed; may be null */
} prove_graph;

/* An empty graph whose statements have this tier, 0..15. */
void prove_begin(prove_graph *g, uint32_t tier, error_context *err);
void prove_end(prove_graph *g); /* a zeroed one is legal */

/* What is said next is about this. */
void prove_about(prove_graph *g, const char *subject);
/* ... or about a record whose name is the digest of what it says: see prove_rename. */
void prove_about_record(prove_graph *g);

void prove_say_text(prove_graph *g, const char *predicate, uint32_t ordinal, fmt_str text);
void prove_say_word(prove_graph *g, const char *predicate, uint32_t ordinal, const char *word); /* null says nothing */
void prove_say_integer(prove_graph *g, const char *predicate, uint32_t ordinal, uint64_t value);
void prove_say_boolean(prove_graph *g, const char *predicate, uint32_t ordinal, bool value);
void prove_say_float(prove_graph *g, const char *predicate, uint32_t ordinal, float value);
/* All 64 bits, as ordinals 2 * `which` and 2 * `which` + 1. */
void prove_say_wide(prove_graph *g, const char *predicate, uint32_t which, uint64_t value);
/* An object as it is, without a text. */
void prove_say_object(prove_graph *g, const char *predicate, uint32_t ordinal, uint64_t object);
/* `beginning` and the digits of a digest: "sha256:", or a subject's beginning. */
void prove_say_digest(prove_graph *g, const char *predicate, uint32_t ordinal, const char *beginning, const uint8_t digest[SHA256_BYTES]);

/* `beginning` and the digits. Returns out. */
const char *prove_urn(const char *beginning, const uint8_t digest[SHA256_BYTES], char out[PROVE_URN_SIZE]);

/* Sorts, drops repetitions, and tells the first failure. */
qn_status prove_settle(prove_graph *g);

/* Of a settled graph: SHA-256 over the sorted quins as on disk, then each lexicon entry, ascending: hash u64, length u16, text. */
qn_status prove_digest(const prove_graph *g, uint8_t out[SHA256_BYTES], error_context *err);

/* Gives the statements of the record their subject, which is `beginning` and the graph's digest; *out_digest is that. The graph holds
 * one record and nothing else, and is settled; it is settled again afterwards. */
qn_status prove_rename(prove_graph *g, const char *beginning, uint8_t out_digest[SHA256_BYTES]);

#endif
