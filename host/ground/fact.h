/* fact.h — a statement of a volume as something to rest an answer on: its id, its tier, and whether it counts.
 *
 * A fact's id is the first 8 bytes of SHA-256 over subject, predicate, object and context, each little-endian (32 bytes), read as a
 * little-endian number and shown as 16 hexadecimal digits.
 *
 * What the metadata word says about a fact:
 *
 *     bits  0..31   a Lamport clock, which says nothing about time, but for two kinds of statement in which they are the expiry in
 *                   seconds since 1970, 0 for never: norms, and statements whose predicate the caller declared as expiring
 *     bits 56..59   tier: 0 public, 1 professional, 2 legal, 3 medical, 4 fiduciary; what is above 4 counts as 4
 *
 * A norm is told by its predicate: an opcode 0x10, 0x11 or 0x12 in the low byte and something above bit 59, where no term's hash has
 * anything. One whose path leaves these bits clear looks like any predicate; only a declaration tells it.
 *
 * Threading: pure.
 */
#ifndef HOST_GROUND_FACT_H
#define HOST_GROUND_FACT_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>

#include "base/error.h"

#define FACT_MOST_TIER 4u

/* QN_INTERNAL when libcrypto refuses SHA-256. */
qn_status fact_make_id(const q42_quin *quin, uint64_t *out_id, error_context *err);

/* What decides whether a fact counts. A zeroed one grants every graph and knows no time: then nothing has expired. */
typedef struct fact_rules {
    uint64_t now_ms;           /* since 1970; 0: unknown */
    bool is_scoped;            /* only `contexts` are granted; otherwise every graph is */
    const uint64_t *contexts;  /* [n_contexts] ids of granted graphs; Q42_DEFAULT_GRAPH for the one without a name */
    uint32_t n_contexts;
    const uint64_t *expiring;  /* [n_expiring] predicates whose metadata holds an expiry */
    uint32_t n_expiring;
} fact_rules;

typedef uint32_t fact_state;
enum { FACT_LIVE = 0, FACT_BAD_PARITY, FACT_OUT_OF_SCOPE, FACT_EXPIRED, FACT_INVALIDATED, FACT_N_STATES };
const char *fact_state_name(fact_state state); /* "live", "wrong parity", ... Static. */

/* All but invalidation, which only a volume knows (ground_volume.h). [no-alloc] */
fact_state fact_judge(const q42_quin *quin, const fact_rules *rules);

/* The greatest of the metadata's tier, `least` (a label of the caller), and 4 in a Sanctuary volume. 0..4 */
uint32_t fact_tier(const q42_quin *quin, bool is_sanctuary, uint32_t least);

bool fact_is_norm(const q42_quin *quin);

#endif
