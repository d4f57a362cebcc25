/* layout_choice.h — which layout a container should have, from what was measured on a device.
 *
 *     layout_choice_init     what the writer would make of every tensor in each layout, and how large the container would be
 *     (the caller measures)  classes[].rates: a matrix with rows of this width, in the element types that the layouts give it
 *     layout_choice_settle   adds up, chooses
 *     layout_choice_reason   says why
 *
 * The rule: the fewest predicted milliseconds a token, which are those of the matrix products, since layouts have the rest in common.
 * Within 3 % of the fastest, the smallest file; within 3 % of that, the shortest start (packing, reading pages for the first time);
 * within 3 % of that, the smaller file again, and then packed. So Q4_K_SOA, which takes 11 % more bytes than Q4_K, has to earn
 * them. It also rounds the product of two scales, so it is looked at wherever it could help, and taken only where the user allows it.
 *
 * Threading: pure.
 * Memory:    the classes are the choice's own, freed by layout_choice_free.
 */
#ifndef HOST_LAYOUT_CHOICE_H
#define HOST_LAYOUT_CHOICE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quoin/p64.h>

#define LAYOUT_MOST 4u

/* What a row of a class costs in one layout. */
typedef struct layout_rate {
    bool is_run;        /* false: the device does not take it, or nobody asked */
    double step_s;      /* each token */
    double start_s;     /* once */
    double copy_bytes;  /* of memory beside the file */
} layout_rate;

/* Matrices that are the same work, row by row, in each layout. */
typedef struct layout_class {
    uint64_t width;                /* elements of a row */
    uint32_t types[LAYOUT_MOST];   /* as in the container: BLK_PANEL_DTYPE + type for panels */
    uint64_t bytes[LAYOUT_MOST];   /* of their blobs */
    uint32_t n_tensors;
    uint64_t n_rows;
    layout_rate rates[LAYOUT_MOST];
} layout_class;

typedef struct layout_option {
    p64_layout layout;
    p64_form form;
    bool is_possible;     /* the container would fit into its 2^32 bytes */
    bool is_allowed;      /* the user takes its form */
    bool is_measured;     /* what follows is known */
    uint64_t file_bytes;  /* of the container; always known where it is possible */
    double ms_per_token;
    double start_s;
    double copy_bytes;
} layout_option;

typedef enum layout_criterion {
    LAYOUT_BY_NOTHING, /* nothing was measured */
    LAYOUT_BY_LACK,    /* no other could be taken */
    LAYOUT_BY_SPEED,
    LAYOUT_BY_SIZE,
    LAYOUT_BY_START,
    LAYOUT_BY_ORDER    /* nothing tells them apart */
} layout_criterion;

typedef struct layout_choice {
    layout_option options[LAYOUT_MOST]; /* [n_options]; packed in the form that was asked for stands first */
    uint32_t n_options;
    layout_class *classes; /* [n_classes] that are multiplied with each token */
    uint32_t n_classes;
    uint32_t chosen;       /* index in options; 0 until it is settled */
    layout_criterion criterion;
} layout_choice;

/* Plans the container in every layout that comes into question: packed and panel, and both with Q4_K_SOA for a model of Q4_K. `asked`
 * says everything but the layout; with may_convert the form as well is free between P64_FORM_KEEP and Q4_K_SOA. No rate is known then.
 *
 * FMT_NO_SPACE: no memory for the plan; nothing is to be freed. */
fmt_status layout_choice_init(layout_choice *out, const p64_source *source, const p64_write_options *asked, bool may_convert,
                              fmt_diag *diag);
void layout_choice_free(layout_choice *c);

/* Adds up the rates of the classes and chooses among the allowed options that could be measured. */
void layout_choice_settle(layout_choice *c);

/* One sentence about the choice. */
void layout_choice_reason(const layout_choice *c, char *out, size_t room);

/* One sentence about Q4_K_SOA beside Q4_K, both at their best; "" when they were not both measured. */
void layout_choice_soa(const layout_choice *c, char *out, size_t room);

/* "panel", or "panel with q4_k_soa". Static. */
const char *layout_option_name(const layout_option *o);

#endif
