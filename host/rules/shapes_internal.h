/* shapes_internal.h — what the source files of the shapes share; not for others. */
#ifndef HOST_RULES_SHAPES_INTERNAL_H
#define HOST_RULES_SHAPES_INTERNAL_H
#include "rules/datatype.h"
#include "rules/ere.h"
#include "rules/fact_table.h"
#include "rules/shapes.h"

#define SH_IRI "http://www.w3.org/ns/shacl#"
#define RDF_TYPE_TEXT "<" RDF_IRI "type>"

typedef struct term_list {
    fmt_str *terms; /* [n_terms] owned; the texts are the table's */
    uint32_t n_terms, room;
} term_list;

/* Bits of shape.given: which parameters stand in the file. */
typedef uint32_t shape_parameter;
enum {
    GIVEN_MIN_COUNT = 1u << 0, GIVEN_MAX_COUNT = 1u << 1, GIVEN_DATATYPE = 1u << 2, GIVEN_NODE_KIND = 1u << 3, GIVEN_IN = 1u << 4,
    GIVEN_MIN_INCLUSIVE = 1u << 5, GIVEN_MAX_INCLUSIVE = 1u << 6, GIVEN_MIN_EXCLUSIVE = 1u << 7, GIVEN_MAX_EXCLUSIVE = 1u << 8,
    GIVEN_MIN_LENGTH = 1u << 9, GIVEN_MAX_LENGTH = 1u << 10, GIVEN_PATTERN = 1u << 11, GIVEN_FLAGS = 1u << 12, GIVEN_CLOSED = 1u << 13,
    GIVEN_IGNORED = 1u << 14, GIVEN_PATH = 1u << 15, GIVEN_SEVERITY = 1u << 16, GIVEN_DEACTIVATED = 1u << 17
};

/* Bits of shape.node_kind, by 1 << NTRIPLES_IRI and so on. */

/* A bound: its index is that of its GIVEN_ bit behind GIVEN_MIN_INCLUSIVE. */
typedef struct shape_bound {
    exact_decimal number;
    fmt_str text; /* canonical */
} shape_bound;
enum { BOUND_MIN_INCLUSIVE, BOUND_MAX_INCLUSIVE, BOUND_MIN_EXCLUSIVE, BOUND_MAX_EXCLUSIVE, N_BOUNDS };

typedef uint32_t target_kind;
enum { TARGET_NODE, TARGET_CLASS, TARGET_SUBJECTS_OF, TARGET_OBJECTS_OF, N_TARGETS };

/* A shape with targets, or a property of one. */
typedef struct shape {
    fmt_str node;            /* its own name */
    uint32_t line;
    fmt_str path;            /* canonical IRI; size 0: constraints on the node itself */
    uint32_t given;
    shape_severity severity;
    fmt_str message;         /* unescaped; size 0: none */
    bool is_deactivated, is_closed, ignores_case;
    uint32_t min_count, max_count, node_kind;
    uint64_t min_length, max_length;
    fmt_str datatype;        /* IRI without brackets */
    shape_bound bounds[N_BOUNDS];
    term_list classes, values, in, ignored; /* sh:class, sh:hasValue, sh:in, sh:ignoredProperties */
    term_list targets[N_TARGETS];
    fmt_str pattern_text;    /* canonical literal */
    ere_program *pattern;
    uint32_t first_property, n_properties; /* of shapes.properties */
} shape;

struct shapes {
    fact_table table;        /* the statements of the file; owns all texts */
    term_pool messages;      /* texts that are not in the file as they are */
    shape *targeted;         /* [n_targeted] */
    shape *properties;       /* [n_properties] */
    uint32_t n_targeted, targeted_room, n_properties, properties_room;
};

/* shape_params.c: takes one statement about a shape; refuses what it does not know. */
typedef struct shape_reader {
    shapes *all;
    const char *path;
    error_context *err;
} shape_reader;

qn_status shape_take_statement(shape_reader *r, shape *one, const table_fact *statement);
/* What only the whole shape shows: a pattern with its flags, bounds that no value could meet. */
qn_status shape_finish(shape_reader *r, shape *one);
void shape_free(shape *one); /* what it owns */
/* True when this predicate says something about a shape; *out_name is its name in the vocabulary. */
bool shape_is_known(fmt_str predicate, bool *out_constrains);
/* The name behind SH_IRI of a canonical IRI; size 0: none. */
fmt_str shape_vocabulary_name(fmt_str iri);
qn_status shape_refuse(const shape_reader *r, uint32_t line, const char *format, ...) ERROR_PRINTF(3, 4);
qn_status shape_add_term(const shape_reader *r, term_list *list, fmt_str term);
bool shape_list_has(const term_list *list, fmt_str term);

/* shape_values.c and shapes_validate.c */
typedef struct validation {
    const shapes *all;
    const shape_check *check;
    shape_report *report;
    error_context *err;
} validation;

/* The constraints on each of `values` (a set, in order). `one` is the shape or property. */
qn_status shape_check_values(validation *v, const shape *one, fmt_str focus, const term_pool *values);
/* Adds a result with the words of `format` unless the shape has a message of its own. */
qn_status shape_report_add(validation *v, const shape *one, const char *component, fmt_str focus, fmt_str path, fmt_str value,
                           const char *format, ...) ERROR_PRINTF(7, 8);
/* Is `node` an instance of `class`, itself or by rdfs:subClassOf? */
qn_status shape_is_instance(const fact_source *facts, fmt_str node, fmt_str class, bool *out_is, error_context *err);
/* The set of what the source has at `place` for a pattern. */
qn_status shape_collect(const fact_source *facts, const fmt_str pattern[FACT_PLACES], int place, term_pool *out_set,
                        error_context *err);

#endif
