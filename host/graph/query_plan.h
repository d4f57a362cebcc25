/* query_plan.h — in which order the patterns of a query are answered, and how each is.
 *
 *     first step       scans the blocks that the indexes leave for its constants
 *     later step       takes rows in batches. Object known from an earlier step: one look-up for each object, in the order of the
 *                      volume. Otherwise one scan a batch, in which each quin is looked up among the batch's rows
 *
 * The step that is expected to give the fewest rows comes first, then always the cheapest one that shares a variable with what is
 * there. What is expected comes from the indexes and, where patterns are joined, from a few blocks that are decoded to count.
 *
 * Threading: one thread at a time. Memory: the struct.
 */
#ifndef HOST_GRAPH_QUERY_PLAN_H
#define HOST_GRAPH_QUERY_PLAN_H
#include "graph/block_walk.h"
#include "graph/pattern.h"

typedef uint32_t place_kind;
enum {
    PLACE_CONSTANT = 0,
    PLACE_BOUND = 1, /* a variable that an earlier step has bound */
    PLACE_NEW = 2,   /* a variable that this step binds */
    PLACE_SAME = 3   /* the variable of an earlier place of this pattern */
};

typedef struct plan_place {
    place_kind kind;
    uint64_t value;    /* constant */
    uint32_t variable;
    uint32_t same_as;  /* place */
} plan_place;

typedef struct plan_step {
    uint32_t pattern;             /* index in the query */
    plan_place places[N_PLACES];
    bool is_lookup;               /* the object is PLACE_BOUND */
    uint32_t n_ranges;            /* 0: any object; otherwise these, ascending */
    q42_range ranges[NUMBER_MAX_RANGES];
    uint32_t n_filters;
    uint32_t filters[QUERY_MAX_FILTERS]; /* whose variables are all bound here first */
    double expected_blocks, expected_rows; /* of the pattern alone; rows are negative when nothing was counted */
    uint64_t n_rows_in, n_rows_out;
    walk_stats stats;
} plan_step;

typedef struct query_plan {
    graph_volume *volume;
    const query_text *query;
    uint32_t n_steps;
    plan_step steps[QUERY_MAX_PATTERNS];
    bool is_empty;                /* a constant's key belongs to another text here: nothing can match */
    uint64_t n_planning_decoded;  /* blocks decoded to count */
} query_plan;

/* Plans are large: keep them off the stack. */
qn_status query_plan_make(graph_volume *volume, const query_text *query, block_cache *cache, query_plan *out_plan,
                          error_context *err);

/* What the indexes can use of a step: its constants, and an object range (null: none). */
block_query query_plan_block_query(const plan_step *step, const q42_range *object);

/* Whether a quin has the step's constants and repeats what it must; its object range is not looked at. */
bool query_plan_matches(const plan_step *step, const q42_quin *quin);

static inline uint64_t query_quin_place(const q42_quin *quin, uint32_t place) {
    switch (place) {
    case NTRIPLES_SUBJECT: return quin->subject;
    case NTRIPLES_PREDICATE: return quin->predicate;
    case NTRIPLES_OBJECT: return quin->object;
    default: return quin->context;
    }
}

#endif
