/* shapes.h — a part of SHACL: what statements may look like, read from a file, checked on facts.
 *
 * Read are shapes in Turtle:
 *   targets      sh:targetClass (also by rdfs:subClassOf), sh:targetNode, sh:targetSubjectsOf, sh:targetObjectsOf; a shape that is a class
 *   properties   sh:property with sh:path, one predicate
 *   constraints  sh:minCount sh:maxCount sh:datatype sh:nodeKind sh:class sh:in sh:hasValue sh:minInclusive sh:maxInclusive sh:minExclusive
 *                sh:maxExclusive sh:minLength sh:maxLength sh:pattern sh:flags ("i"), and on a shape with targets sh:closed
 *                sh:ignoredProperties; all but the counts also on the node itself
 *   verdicts     sh:severity (sh:Violation blocks; sh:Warning and sh:Info are told), sh:message, sh:deactivated
 * Anything else of the SHACL vocabulary that would constrain is refused by name when the file is read, and so is a shape that nothing
 * would ever check: a rule that is left out without a word would be worse than none.
 *
 * Terms are compared as terms, numbers in bounds exactly as decimals of any length; lengths count characters; patterns are those of ere.h.
 *
 * Threading: shapes are immutable once read. A validation runs on one thread; several may run at once if the source allows it.
 * Memory:    shapes and reports own what they show until they are freed.
 * Errors:    QN_BAD_INPUT "PATH: line N: …" for a file that is refused, QN_BAD_FILE for one that is no Turtle, QN_LIMIT beyond the limits.
 */
#ifndef HOST_RULES_SHAPES_H
#define HOST_RULES_SHAPES_H
#include "rules/fact_source.h"
#include "rules/term_pool.h"

#define SHAPES_MAX 1024u            /* shapes with targets, and properties, of one file */
#define SHAPES_MAX_RESULTS 4096u    /* that a report keeps; the rest is counted */
#define SHAPES_MAX_VALUES 65536u    /* of one property at one node, and classes above one node */

typedef struct shapes shapes;

qn_status shapes_read(const char *path, shapes **out_shapes, error_context *err);
void shapes_free(shapes *all); /* null is legal */

/* How many shapes with targets there are, and properties of them all; for messages. */
void shapes_count(const shapes *all, uint32_t *out_shapes, uint32_t *out_properties);

/* Is the predicate (canonical text) the path of some property, or names a shape it in its targets? [no-alloc] */
bool shapes_know_predicate(const shapes *all, fmt_str predicate);

typedef uint32_t shape_severity;
enum { SHAPE_VIOLATION = 0, SHAPE_WARNING = 1, SHAPE_INFO = 2, SHAPE_SEVERITIES = 3 };

const char *shape_severity_name(shape_severity severity); /* "violation", "warning", "info" */

/* What to do with a candidate whose predicate no shape knows. */
typedef uint32_t shape_policy;
enum {
    SHAPE_POLICY_OPEN = 0,  /* tell it, as SHAPE_INFO */
    SHAPE_POLICY_CLOSED = 1 /* refuse it, as SHAPE_VIOLATION */
};

typedef struct shape_result {
    shape_severity severity;
    const char *component; /* static: "MinCount", of sh:MinCountConstraintComponent; "UnknownPredicate" for the policy */
    fmt_str focus;         /* canonical texts; size 0: none */
    fmt_str path, value;
    fmt_str shape;         /* the shape or property that says so */
    fmt_str message;       /* its sh:message, or what is wrong in our words */
} shape_result;

typedef struct shape_report {
    shape_result *results;              /* [n_results] by focus node in the order of the candidates, then as the shapes stand */
    uint32_t n_results, room;
    uint64_t counts[SHAPE_SEVERITIES];  /* of all that was found, kept or not */
    uint64_t n_checked;                 /* pairs of a node and a shape that targets it */
    term_pool pool;                     /* holds the texts */
} shape_report;

typedef struct shape_check {
    const fact_source *facts;  /* all that counts: the granted scope and the candidates */
    const fact *candidates;    /* [n_candidates] those nodes are checked that a candidate has as subject or object */
    uint64_t n_candidates;
    bool is_whole;             /* the candidates are all there is: also the nodes that shapes name with sh:targetNode are checked */
    shape_policy policy;
} shape_check;

/* Checks; QN_OK whatever is found: shape_report_conforms tells the verdict. The report is to be freed, also after an error. */
qn_status shapes_validate(const shapes *all, const shape_check *check, shape_report *out_report, error_context *err);
/* No violation? Warnings and infos do not count. */
bool shape_report_conforms(const shape_report *report);
void shape_report_free(shape_report *report);

#endif
