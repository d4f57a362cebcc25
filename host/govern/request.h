/* request.h — one governed run: what is asked, by whom, in which world, and everything that was found on the way.
 *
 *     the caller fills  ─►  request  ─►  gates, one after another  ─►  outcome, audit list, answer, statements, receipt
 *
 * There is nothing else: no gate keeps anything between runs, and two requests never share a field. Clocks, sensors and the model are
 * functions that the caller gives, so that a test decides about all of them.
 *
 * Threading: one thread at a time per request.
 * Memory:    what the caller fills is borrowed until request_deinit; what gates find is owned by the request.
 * Errors:    a gate never fails silently: whatever goes wrong is a result in the audit list.
 */
#ifndef HOST_REQUEST_H
#define HOST_REQUEST_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>

#include "base/error.h"
#include "base/team.h"
#include "base/text_buffer.h"
#include "govern/destination.h"
#include "govern/gate_codes.h"
#include "govern/policy.h"
#include "govern/thermal.h"
#include "graph/volume.h"
#include "ground/fact_text.h"
#include "ground/grounding.h"
#include "wal/wal.h"

#define REQUEST_MAX_SCOPES 16u     /* and as many namespaces: one more is refused, not dropped */
#define REQUEST_MAX_CLAIMS 64u     /* statements of one answer */
#define REQUEST_MAX_RESULTS 32u
#define GATE_DETAIL_SIZE 512u

/* ------------------------------------------------------------------------------------------------------- results */

typedef uint16_t gate_verdict; /* as in AUDIT records; never another number for the same word */
enum {
    VERDICT_PASS = 0,
    VERDICT_NOTE = 1,    /* passed, and something is to be said */
    VERDICT_SKIPPED = 2, /* not asked: nothing was there to judge, or this is a dry run */
    VERDICT_REVIEW = 3,  /* somebody has to look; nothing is committed */
    VERDICT_SUSPEND = 4, /* the statements wait for signers */
    VERDICT_BLOCK = 5,
    VERDICT_FAIL = 6     /* the gate could not do its work */
};
const char *gate_verdict_name(gate_verdict verdict); /* "pass", ... */

typedef struct gate_result {
    const char *gate; /* static */
    gate_verdict verdict;
    gate_code code;
    char detail[GATE_DETAIL_SIZE]; /* UTF-8 */
} gate_result;

typedef uint32_t governed_outcome;
enum { OUTCOME_NONE = 0, OUTCOME_COMPLETED, OUTCOME_COMMITTED, OUTCOME_SUSPENDED, OUTCOME_REVIEW, OUTCOME_BLOCKED, OUTCOME_FAILED };
const char *governed_outcome_name(governed_outcome outcome); /* "COMPLETED", ... */
int governed_exit_status(governed_outcome outcome);          /* 0, 0, 11, 10, 12, 13 */

/* ---------------------------------------------------------------------------------------------------- statements */

typedef uint32_t output_mode;
enum { OUTPUT_TEXT = 0, OUTPUT_N3 = 1, OUTPUT_GRAPH = 2 };

typedef struct request_scope {
    const char *name;    /* IRI, or 0x and sixteen digits */
    const char *path;    /* of its volume; null: the policy's */
    uint64_t id;         /* from here on: filled by the gates */
    uint64_t contexts[3]; /* graphs of it that are granted: without a name, with its name as it is and in <> */
    const policy_scope *is; /* null when the policy does not have it */
    graph_volume *volume;   /* owned; null until it is granted */
    uint16_t flags;
    uint8_t digest[Q42_DIGEST_BYTES];
    uint32_t tier;       /* the least that anything of it has: policy label, 4 when Sanctuary */
    bool is_sanctuary;
} request_scope;

/* A statement that the answer makes. */
typedef struct request_claim {
    q42_quin quin;
    char *texts[4];      /* subject, predicate, object, context as terms; owned; null for an inline value and the default graph */
    const char *grounding; /* "supported", "weak", "contradicted", "absent"; static; null: not asked */
    double score;
    uint32_t n_steps;      /* of the proof, when rules derived it */
} request_claim;

typedef struct request_answer {
    text_buffer text;
    uint32_t n_prompt, n_tokens; /* tokens */
    const char *stop_reason;     /* static */
    bool is_partial;             /* deadline, interrupt, heat: not all that the model would have said */
    bool is_judged;              /* a sentinel ended it */
    bool is_structured;          /* a sieve made it: its statements are claims, its text only their words */
    bool needs_review;           /* the sieve itself says so */
    double margin;               /* of a structured one: the smallest of its slots; INFINITY: nothing else was allowed */
    double load_seconds, prefill_seconds, decode_seconds;
} request_answer;

/* ------------------------------------------------------------------------------------------------------ the world */

struct request;

/* Everything outside that a run touches. */
typedef struct request_world {
    uint64_t (*now_ms)(void *ctx);   /* since 1970; null: the system's */
    double (*seconds)(void *ctx);    /* of a clock that never goes back; null: the system's */
    void *clock_ctx;
    thermal_monitor *heat;           /* null: no sensor is looked at, and the gate says so */
    destination where;               /* of the answer */
    const volatile uint32_t *cancel; /* may be null */
    /* Fills r->facts in place of looking for what the prompt names. Null: it is looked for. */
    qn_status (*gather)(void *ctx, struct request *r, error_context *err);
    /* Fills r->answer and r->claims. On error `*out_code` is CODE_NO_MODEL, CODE_SETUP or CODE_INFERENCE. */
    qn_status (*infer)(void *ctx, struct request *r, gate_code *out_code, error_context *err);
    /* Adds statements about how the answer came to be to the log's open unit. May be null. */
    qn_status (*record)(void *ctx, struct request *r, wal *log, error_context *err);
    team *workers;                   /* may be null when the policy asks nothing of the model */
    void *ctx;
} request_world;

typedef struct request {
    /* the caller's */
    const policy *rules;
    const char *intent, *frame, *profile, *agent, *principal; /* null: none */
    request_scope *scopes;           /* [n_scopes] */
    uint32_t n_scopes;
    const char *const *namespaces;   /* [n_namespaces] */
    uint32_t n_namespaces;
    output_mode mode;
    uint32_t clearance, label;       /* label: POLICY_NONE without one */
    bool needs_network;
    const char *model_path;          /* null: none */
    fmt_str prompt;                  /* may be empty when it is token ids */
    uint32_t n_facts_wanted;         /* 0: none are put into the prompt */
    bool is_dry;                     /* tell what would be asked; nothing is computed or written */
    request_world world;

    /* the gates' */
    double began;                    /* seconds */
    uint64_t now_ms;                 /* when it began */
    uint64_t token;                  /* names this run; no citation */
    bool is_critical;
    ground_volume *volumes;          /* [n_volumes] of the scopes, when all are granted */
    uint32_t n_volumes;
    fact_set facts;                  /* that stand in the prompt; sources count scopes */
    fact_lines lines;                /* their words */
    text_buffer preface;             /* these as they stand before the user's */
    uint32_t tier;                   /* of everything in the prompt */
    q42_quin identity[2];
    bool has_identity;
    request_answer answer;
    bool has_answer;
    request_claim claims[REQUEST_MAX_CLAIMS];
    uint32_t n_claims;
    uint64_t *citations;             /* [n_citations] ids of facts */
    uint32_t n_citations, n_false_citations; /* false: marks of the text that are no fact of the prompt */
    q42_quin records[4];             /* about conduct: to be logged whatever comes out */
    uint32_t n_records;
    wal *log;                        /* open from the commit gate on */
    wal_receipt receipt;
    char record[128];                /* name of the generation record in the log; "" without one */
    bool has_receipt, is_logged;     /* is_logged: the audit list stands in the log */
    uint64_t agreement;              /* 0: none */
    governed_outcome outcome;
    gate_code code;
    uint32_t n_results;
    gate_result results[REQUEST_MAX_RESULTS];
    double seconds_before, seconds_infer, seconds_after; /* gates in front of the model, the model, gates behind it */
} request;

/* Zeroes what the gates fill. The request is large: not for a small stack. */
void request_init(request *r);
void request_deinit(request *r);

uint64_t request_now(const request *r);
double request_seconds(const request *r);

/* Adds a statement of the answer; texts are copied, null ones stay null. Its tier is at least that of the facts in the prompt and of the
 * request's label: what was made from them is no less private. QN_LIMIT over REQUEST_MAX_CLAIMS. */
qn_status request_add_claim(request *r, const q42_quin *quin, const char *const texts[4], error_context *err);
qn_status request_add_citation(request *r, uint64_t id, error_context *err);

/* Its id as a fact (ground/fact.h); 0 when libcrypto refuses. */
uint64_t request_fact_id(const q42_quin *quin);
/* The words of a fact of the prompt; size 0 when it is none. */
fmt_str request_fact_text(const request *r, uint64_t id);
/* The claim in N-Quads, with <urn:quoin:hash:HEX16> for a term without words. Cut when it does not fit. Returns `out`. */
const char *request_claim_text(const request_claim *claim, char *out, size_t size);

#endif
