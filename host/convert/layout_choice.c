/* layout_choice.c — planning, adding up, choosing. */
#include "convert/layout_choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/blocks.h>

#include "common/diag.h"

#define TIE 1.03

static const fmt_rule rule_memory = {"convert-memory", "", "memory for the plan of each layout is needed"};

static fmt_status refuse_memory(fmt_diag *diag) {
    return diag_refuse(diag, FMT_NO_SPACE, &rule_memory, (diag_place){0, FMT_NO_INDEX, 0, 0}, "there is not enough memory");
}

/* ----------------------------------------------------------------------------------------------------------- classes */

static bool is_same_class(const layout_class *a, const layout_class *b) {
    return a->width == b->width && memcmp(a->types, b->types, sizeof a->types) == 0;
}

static layout_class *find_class(layout_choice *c, const layout_class *like) {
    uint32_t i = 0;
    while (i < c->n_classes && !is_same_class(&c->classes[i], like)) {
        i++;
    }
    if (i == c->n_classes) {
        c->classes[c->n_classes++] = (layout_class){.width = like->width};
        memcpy(c->classes[i].types, like->types, sizeof like->types);
    }
    return &c->classes[i];
}

/* `tensor` has the types and bytes of one tensor; it is counted where a token multiplies it. An embedding that is not the output too
 * gives one row. */
static void add_tensor(layout_choice *c, const p64_source *source, uint32_t index, const layout_class *planned, bool has_output,
                       bool is_raw) {
    p64_source_tensor t;
    layout_class like = *planned;
    uint64_t n_rows = 1;
    source->get_tensor(source->ctx, index, &t);
    if (t.rank < 2 || (t.role == P64_ROLE_TOKEN_EMBD && has_output)) {
        return;
    }
    const uint32_t inner = is_raw ? t.rank - 1 : 0;
    for (uint32_t k = 0; k < t.rank; k++) {
        n_rows *= k == inner ? 1 : t.dims[k];
    }
    like.width = t.dims[inner];
    layout_class *to = find_class(c, &like);
    to->n_tensors++;
    to->n_rows += n_rows;
    for (uint32_t i = 0; i < c->n_options; i++) {
        to->bytes[i] += planned->bytes[i];
    }
}

/* One option's plan: its size, and each tensor's type and bytes into `planned`. A container that would be too large is no error. */
static fmt_status plan_option(const p64_source *source, const p64_write_options *asked, layout_choice *c, uint32_t i, layout_class *planned,
                              fmt_diag *diag) {
    layout_option *o = &c->options[i];
    p64_write_options options = *asked;
    p64_plan plan;
    uint64_t bytes = 0;
    options.layout = o->layout;
    options.form = o->form;
    fmt_status status = p64_plan_memory(source, &options, &bytes, diag);
    void *memory = status == FMT_OK ? malloc((size_t)bytes) : NULL;
    if (status == FMT_OK && memory == NULL) {
        return refuse_memory(diag);
    }
    status = status == FMT_OK ? p64_plan_make(source, &options, memory, bytes, &plan, NULL, NULL, NULL, NULL, diag) : status;
    o->is_possible = status == FMT_OK;
    if (o->is_possible) {
        o->file_bytes = plan.size;
        for (uint32_t k = 0; k < plan.header.tensor_count; k++) {
            planned[plan.entries[k].source].types[i] = plan.entries[k].dtype;
            planned[plan.entries[k].source].bytes[i] = plan.entries[k].blob_size;
        }
    }
    free(memory);
    return status == FMT_LIMIT ? FMT_OK : status;
}

static void add_options(layout_choice *c, p64_form form, bool is_allowed) {
    static const p64_layout layouts[] = {P64_LAYOUT_PACKED, P64_LAYOUT_PANEL};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        c->options[c->n_options++] = (layout_option){.layout = layouts[i], .form = form, .is_allowed = is_allowed};
    }
}

/* Packed in the form that was asked for first; Q4_K and Q4_K_SOA are held against each other whoever asked for which. */
static void list_options(layout_choice *c, p64_form form, bool may_convert, bool has_q4_k) {
    add_options(c, form, true);
    if (has_q4_k && form == P64_FORM_KEEP) {
        add_options(c, P64_FORM_Q4_K_SOA, may_convert);
    } else if (has_q4_k && form == P64_FORM_Q4_K_SOA) {
        add_options(c, P64_FORM_KEEP, false);
    }
}

static void look_through(const p64_source *source, bool *out_has_q4_k, bool *out_has_output) {
    *out_has_q4_k = *out_has_output = false;
    for (uint32_t i = 0; i < source->n_tensors; i++) {
        p64_source_tensor t;
        source->get_tensor(source->ctx, i, &t);
        *out_has_q4_k = *out_has_q4_k || t.dtype == BLK_Q4_K;
        *out_has_output = *out_has_output || t.role == P64_ROLE_OUTPUT;
    }
}

static fmt_status make_classes(layout_choice *c, const p64_source *source, const p64_write_options *asked, bool has_output,
                               layout_class *planned, fmt_diag *diag) {
    for (uint32_t i = 0; i < c->n_options; i++) {
        const fmt_status status = plan_option(source, asked, c, i, planned, diag);
        if (status != FMT_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < source->n_tensors; i++) {
        add_tensor(c, source, i, &planned[i], has_output, asked->is_raw);
    }
    return FMT_OK;
}

fmt_status layout_choice_init(layout_choice *out, const p64_source *source, const p64_write_options *asked, bool may_convert,
                              fmt_diag *diag) {
    bool has_q4_k, has_output;
    *out = (layout_choice){.criterion = LAYOUT_BY_NOTHING};
    look_through(source, &has_q4_k, &has_output);
    list_options(out, asked->form, may_convert, has_q4_k);
    layout_class *planned = calloc((size_t)source->n_tensors + 1, sizeof *planned);
    out->classes = calloc((size_t)source->n_tensors + 1, sizeof *out->classes);
    const fmt_status status = planned == NULL || out->classes == NULL
                                  ? refuse_memory(diag) : make_classes(out, source, asked, has_output, planned, diag);
    free(planned);
    if (status != FMT_OK) {
        layout_choice_free(out);
    }
    return status;
}

void layout_choice_free(layout_choice *c) {
    free(c->classes);
    *c = (layout_choice){.criterion = LAYOUT_BY_NOTHING};
}

/* ------------------------------------------------------------------------------------------------------------ choice */

static void add_up(layout_choice *c, uint32_t i) {
    layout_option *o = &c->options[i];
    o->ms_per_token = o->start_s = o->copy_bytes = 0.0;
    o->is_measured = o->is_possible && c->n_classes > 0;
    for (uint32_t k = 0; k < c->n_classes; k++) {
        const layout_rate *rate = &c->classes[k].rates[i];
        const double n_rows = (double)c->classes[k].n_rows;
        o->is_measured = o->is_measured && rate->is_run;
        o->ms_per_token += 1e3 * rate->step_s * n_rows;
        o->start_s += rate->start_s * n_rows;
        o->copy_bytes += rate->copy_bytes * n_rows;
    }
}

static double speed_of(const layout_option *o) {
    return o->ms_per_token;
}

static double size_of(const layout_option *o) {
    return (double)o->file_bytes;
}

static double start_of(const layout_option *o) {
    return o->start_s;
}

/* Keeps of the set of options (a bit each) those that have least of this, or up to `tie` times as much. */
static uint32_t keep_least(const layout_choice *c, uint32_t set, double (*value)(const layout_option *), double tie) {
    double least = INFINITY;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->n_options; i++) {
        least = (set >> i & 1) != 0 ? fmin(least, value(&c->options[i])) : least;
    }
    for (uint32_t i = 0; i < c->n_options; i++) {
        kept |= (set >> i & 1) != 0 && value(&c->options[i]) <= least * tie ? UINT32_C(1) << i : 0;
    }
    return kept;
}

static bool is_one(uint32_t set) {
    return set != 0 && (set & (set - 1)) == 0;
}

static uint32_t first_of(uint32_t set) {
    uint32_t i = 0;
    while ((set >> i & 1) == 0) {
        i++;
    }
    return i;
}

static uint32_t list_measured(const layout_choice *c) {
    uint32_t set = 0;
    for (uint32_t i = 0; i < c->n_options; i++) {
        set |= c->options[i].is_allowed && c->options[i].is_measured ? UINT32_C(1) << i : 0;
    }
    return set;
}

void layout_choice_settle(layout_choice *c) {
    static const struct {
        double (*value)(const layout_option *);
        double tie;
        layout_criterion criterion;
    } order[] = {{speed_of, TIE, LAYOUT_BY_SPEED},
                 {size_of, TIE, LAYOUT_BY_SIZE},
                 {start_of, TIE, LAYOUT_BY_START},
                 {size_of, 1.0, LAYOUT_BY_SIZE}};
    for (uint32_t i = 0; i < c->n_options; i++) {
        add_up(c, i);
    }
    uint32_t set = list_measured(c);
    c->chosen = 0;
    c->criterion = set == 0 ? LAYOUT_BY_NOTHING : is_one(set) ? LAYOUT_BY_LACK : LAYOUT_BY_ORDER;
    for (size_t i = 0; i < sizeof order / sizeof order[0] && set != 0 && !is_one(set); i++) {
        set = keep_least(c, set, order[i].value, order[i].tie);
        c->criterion = is_one(set) ? order[i].criterion : c->criterion;
    }
    c->chosen = set != 0 ? first_of(set) : 0;
}

/* ------------------------------------------------------------------------------------------------------------- words */

const char *layout_option_name(const layout_option *o) {
    const bool is_soa = o->form == P64_FORM_Q4_K_SOA;
    return o->layout == P64_LAYOUT_PANEL ? is_soa ? "panel with q4_k_soa" : "panel" : is_soa ? "packed with q4_k_soa" : "packed";
}

void layout_choice_reason(const layout_choice *c, char *out, size_t room) {
    static const char *const words[] = {
        [LAYOUT_BY_NOTHING] = "nothing was measured",
        [LAYOUT_BY_LACK] = "no other is taken",
        [LAYOUT_BY_SPEED] = "the fastest by more than 3 %",
        [LAYOUT_BY_SIZE] = "nothing is faster by 3 %, and what is as fast is larger",
        [LAYOUT_BY_START] = "nothing is faster or smaller by 3 %, and what is as fast takes longer to start",
        [LAYOUT_BY_ORDER] = "nothing tells the layouts apart"};
    snprintf(out, room, "%s: %s", layout_option_name(&c->options[c->chosen]), words[c->criterion]);
}

/* The fastest measured option of a form; null without one. */
static const layout_option *find_fastest(const layout_choice *c, p64_form form) {
    const layout_option *best = NULL;
    for (uint32_t i = 0; i < c->n_options; i++) {
        const layout_option *o = &c->options[i];
        best = o->is_measured && o->form == form && (best == NULL || o->ms_per_token < best->ms_per_token) ? o : best;
    }
    return best;
}

void layout_choice_soa(const layout_choice *c, char *out, size_t room) {
    const layout_option *kept = find_fastest(c, P64_FORM_KEEP), *soa = find_fastest(c, P64_FORM_Q4_K_SOA);
    out[0] = '\0';
    if (kept == NULL || soa == NULL) {
        return;
    }
    const double time = 100.0 * (soa->ms_per_token / kept->ms_per_token - 1.0);
    const double bytes = 100.0 * ((double)soa->file_bytes / (double)kept->file_bytes - 1.0);
    const char *verdict = time < -3.0 ? "its bytes pay" : time > 3.0 ? "its bytes cost more than they save" : "its bytes buy nothing";
    snprintf(out, room, "q4_k_soa beside Q4_K: %+.1f %% bytes of the file, %+.1f %% time a token; %s%s", bytes, time, verdict,
             time < -3.0 && !soa->is_allowed ? ", but it changes weights, so only --weights auto or q4_k_soa takes it" : "");
}
