/* rule_machine.c — steps carried out, rounds until nothing new comes. */
#include "rules/rule_machine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/datatype.h"

/* A premise that was matched, and may have further facts. */
typedef struct match_level {
    uint32_t step, fact;
} match_level;

typedef struct machine {
    const rule_program *program;
    fact_table *table;
    rule_verdict *verdict;
    error_context *err;
    term_ref *constants;   /* [program's constants + 1] their refs in the table's pool */
    uint64_t max_work, max_steps;
} machine;

/* One run of one rule or defeater. */
typedef struct frame {
    term_ref registers[RULE_REGISTERS];
    match_level levels[FACT_MAX_PREMISES];
    uint32_t n_levels;
    uint32_t rule;         /* FACT_GIVEN: a defeater */
    uint32_t n_visible;    /* facts that stood when the round began */
    bool is_definite_only, is_linear;
    bool has_drawn;        /* in this application: something new */
    bool has_drawn_any;
} frame;

/* What a run of steps came to: it has no further application, its premises hold (defeaters stop there), or the whole run ends. */
typedef uint32_t run_end;
enum { RUN_EXHAUSTED, RUN_HOLDS, RUN_ENDED };

const char *rule_outcome_name(rule_outcome outcome) {
    static const char *const names[] = {"OK", "FAIL", "LIMIT"};
    return outcome <= RULES_LIMIT ? names[outcome] : "?";
}

/* ---------------------------------------------------------------- ends */

__attribute__((format(printf, 2, 3)))
static run_end end_by_limit(machine *m, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(m->verdict->reason, sizeof m->verdict->reason, format, args);
    va_end(args);
    m->verdict->outcome = RULES_LIMIT;
    return RUN_ENDED;
}

static fmt_str text_of_ref(const machine *m, term_ref ref) {
    return term_pool_text(&m->table->pool, ref);
}

/* Appends to the reason; cut at its end. */
__attribute__((format(printf, 2, 3)))
static void say(rule_verdict *v, const char *format, ...) {
    const size_t used = strlen(v->reason);
    va_list args;
    va_start(args, format);
    vsnprintf(v->reason + used, sizeof v->reason - used, format, args);
    va_end(args);
}

static int shown(fmt_str text) {
    return (int)(text.size < 80 ? text.size : 80);
}

static term_ref value_of(const machine *m, const frame *f, rule_operand operand) {
    return operand == RULE_ANYTHING ? 0 : (operand & RULE_CONSTANT) != 0 ? m->constants[operand & ~RULE_CONSTANT] : f->registers[operand];
}

static run_end end_by_denial(machine *m, const frame *f, const rule_step *step) {
    const installed_rule *rule = &m->program->rules[f->rule];
    rule_verdict *v = m->verdict;
    v->outcome = RULES_FAIL;
    v->rule = f->rule;
    v->rule_id = rule->id;
    v->message = text_of_ref(m, value_of(m, f, step->operands[FACT_OBJECT]));
    v->n_bindings = rule->n_variables;
    for (uint32_t i = 0; i < rule->n_variables; i++) {
        v->bindings[i] = (rule_binding){rule->variables[i].name, text_of_ref(m, f->registers[rule->variables[i].in_register])};
    }
    v->n_premises = f->n_levels;
    for (uint32_t i = 0; i < f->n_levels; i++) {
        v->premises[i] = f->levels[i].fact;
    }
    say(v, "rule %.*s denies", shown(v->rule_id), v->rule_id.data);
    if (v->message.size > 0) {
        say(v, " %.*s", shown(v->message), v->message.data);
    }
    for (uint32_t i = 0; i < v->n_bindings; i++) {
        const rule_binding *b = &v->bindings[i];
        say(v, "%s %s%.*s = %.*s", i == 0 ? ":" : ",", b->name.size > 0 && *b->name.data == '_' ? "" : "?", shown(b->name), b->name.data,
            shown(b->value), b->value.data);
    }
    return RUN_ENDED;
}

/* ---------------------------------------------------------------- steps */

static bool is_usable(const machine *m, const frame *f, uint32_t fact) {
    const table_fact *one = &m->table->facts[fact];
    if ((f->is_definite_only && !one->origin.is_definite) || (f->is_linear && one->is_consumed)) {
        return false;
    }
    for (uint32_t i = 0; f->is_linear && i + 1 < f->n_levels; i++) { /* a fact pays for one premise */
        if (f->levels[i].fact == fact) {
            return false;
        }
    }
    return true;
}

/* The next fact for the last premise that has one; the step behind it, or UINT32_MAX. */
static uint32_t go_back(machine *m, frame *f) {
    while (f->n_levels > 0) {
        match_level *level = &f->levels[f->n_levels - 1];
        const rule_step *step = &m->program->steps[level->step];
        const term_ref pattern[FACT_PLACES] = {value_of(m, f, step->operands[0]), value_of(m, f, step->operands[1]),
                                               value_of(m, f, step->operands[2])};
        do {
            level->fact = fact_table_next(m->table, pattern, level->fact, &m->verdict->n_work);
        } while (level->fact != FACT_NONE && level->fact < f->n_visible && !is_usable(m, f, level->fact));
        if (level->fact < f->n_visible) {
            return level->step + 1;
        }
        f->n_levels--;
    }
    return UINT32_MAX;
}

static bool holds_order(rule_test test, int order) {
    switch (test) {
    case RULE_EQUAL: return order == 0;
    case RULE_UNEQUAL: return order != 0;
    case RULE_LESS: return order < 0;
    case RULE_NOT_LESS: return order >= 0;
    case RULE_GREATER: return order > 0;
    default: return order <= 0;
    }
}

static bool holds(const machine *m, const frame *f, const rule_step *step) {
    const term_ref a = value_of(m, f, step->operands[0]), b = value_of(m, f, step->operands[1]);
    exact_decimal x, y;
    int order;
    if (step->op == RULE_TEST_EQ) {
        return (a == b) == (step->test == RULE_EQUAL);
    }
    return datatype_number(text_of_ref(m, a), &x) && datatype_number(text_of_ref(m, b), &y) && exact_decimal_compare(&x, &y, &order) &&
           holds_order(step->test, order);
}

static fact_origin origin_of(const machine *m, const frame *f) {
    fact_origin origin = {.rule = f->rule, .n_premises = f->n_levels, .is_definite = m->program->rules[f->rule].arrow == N3_STRICT};
    for (uint32_t i = 0; i < f->n_levels; i++) {
        origin.premises[i] = f->levels[i].fact;
        origin.is_definite = origin.is_definite && m->table->facts[f->levels[i].fact].origin.is_definite;
    }
    return origin;
}

/* The statement becomes a fact, if it is one. */
static run_end emit(machine *m, frame *f, const rule_step *step) {
    const term_ref terms[FACT_PLACES] = {value_of(m, f, step->operands[0]), value_of(m, f, step->operands[1]),
                                         value_of(m, f, step->operands[2])};
    const fact_origin origin = origin_of(m, f);
    if (*text_of_ref(m, terms[FACT_SUBJECT]).data == '"' || *text_of_ref(m, terms[FACT_PREDICATE]).data != '<') {
        return RUN_HOLDS;
    }
    const qn_status status = fact_table_derive(m->table, terms, &origin, NULL, NULL);
    if (status == QN_LIMIT) {
        const fmt_str id = m->program->rules[f->rule].id;
        return end_by_limit(m, "the table of %u facts is full at rule %.*s; give it more facts, or the rule fewer", m->table->most, shown(id), id.data);
    }
    f->has_drawn = f->has_drawn || status == QN_OK;
    return RUN_HOLDS;
}

/* One application is done. A linear one has used its facts up, and begins again with the next fact of its first premise. */
static void end_application(machine *m, frame *f) {
    if (f->is_linear && f->has_drawn) {
        for (uint32_t i = 0; i < f->n_levels; i++) {
            m->table->facts[f->levels[i].fact].is_consumed = true;
        }
        f->n_levels = f->n_levels > 0 ? 1 : 0;
    }
    f->has_drawn_any = f->has_drawn_any || f->has_drawn;
    f->has_drawn = false;
}

static run_end run_steps(machine *m, frame *f, uint32_t at);

static run_end test_defeater(machine *m, const frame *f, const rule_step *step) {
    frame inner = {.rule = FACT_GIVEN, .n_visible = m->table->n_facts, .is_definite_only = true};
    for (int place = 0; place < FACT_PLACES; place++) {
        inner.registers[place] = value_of(m, f, step->operands[place]);
    }
    return run_steps(m, &inner, step->target);
}

/* Carries out one step that is neither MATCH nor a halt. RUN_HOLDS goes on, RUN_EXHAUSTED goes back. */
static run_end do_step(machine *m, frame *f, const rule_step *step) {
    switch (step->op) {
    case RULE_BIND:
        f->registers[step->operands[0]] = m->table->facts[f->levels[f->n_levels - 1].fact].terms[step->place];
        return RUN_HOLDS;
    case RULE_EMIT: return emit(m, f, step);
    case RULE_UNLESS: {
        const run_end end = test_defeater(m, f, step);
        return end == RUN_ENDED ? RUN_ENDED : end == RUN_HOLDS ? RUN_EXHAUSTED : RUN_HOLDS;
    }
    default: return holds(m, f, step) ? RUN_HOLDS : RUN_EXHAUSTED;
    }
}

static run_end run_steps(machine *m, frame *f, uint32_t at) {
    while (at != UINT32_MAX) {
        const rule_step *step = &m->program->steps[at];
        if (++m->verdict->n_work > m->max_work) {
            return end_by_limit(m, "the rules took more than %" PRIu64 " looks at facts; give fewer facts, or rules with fewer premises in common",
                                m->max_work);
        }
        if (step->op == RULE_HALT_FAIL) {
            return end_by_denial(m, f, step);
        }
        if (step->op == RULE_HALT_OK) {
            if (f->rule == FACT_GIVEN) {
                return RUN_HOLDS;
            }
            end_application(m, f);
            at = go_back(m, f);
        } else if (step->op == RULE_MATCH) {
            f->levels[f->n_levels++] = (match_level){at, FACT_NONE};
            at = go_back(m, f);
        } else {
            const run_end end = do_step(m, f, step);
            if (end == RUN_ENDED) {
                return end;
            }
            at = end == RUN_HOLDS ? at + 1 : go_back(m, f);
        }
    }
    return RUN_EXHAUSTED;
}

/* ---------------------------------------------------------------- rounds */

/* False when the whole run has ended. */
static bool run_rule(machine *m, uint32_t rule, uint32_t n_visible, bool *io_has_drawn) {
    const installed_rule *one = &m->program->rules[rule];
    frame f = {.rule = rule, .n_visible = n_visible, .is_linear = one->arrow == N3_LINEAR};
    if (m->verdict->n_steps == m->max_steps) {
        end_by_limit(m, "nothing final after %u runs of rules, the limit; allow a greater depth, or look at rule %.*s", m->verdict->n_steps,
                     shown(one->id), one->id.data);
        return false;
    }
    m->verdict->n_steps++;
    const run_end end = run_steps(m, &f, one->first_step);
    *io_has_drawn = *io_has_drawn || f.has_drawn_any;
    return end != RUN_ENDED;
}

/* Bits by 1 << arrow, and one for the rules that deny. */
#define KIND_DENIAL (1u << 8)

static uint32_t kind_of(const installed_rule *rule) {
    return rule->is_denial ? KIND_DENIAL : 1u << rule->arrow;
}

static bool has_kind(const rule_program *program, uint32_t kinds) {
    for (uint32_t i = 0; i < program->n_rules; i++) {
        if ((kind_of(&program->rules[i]) & kinds) != 0) {
            return true;
        }
    }
    return false;
}

static bool run_round(machine *m, uint32_t kinds, bool *out_has_drawn) {
    const uint32_t n_visible = m->table->n_facts;
    *out_has_drawn = false;
    for (uint32_t i = 0; i < m->program->n_rules; i++) {
        if ((kind_of(&m->program->rules[i]) & kinds) != 0 && !run_rule(m, i, n_visible, out_has_drawn)) {
            return false;
        }
    }
    return true;
}

static bool run_until_final(machine *m, uint32_t kinds) {
    bool has_drawn = has_kind(m->program, kinds);
    while (has_drawn) {
        if (!run_round(m, kinds, &has_drawn)) {
            return false;
        }
    }
    return true;
}

static void run_all(machine *m) {
    const uint32_t strict = 1u << N3_STRICT, plausible = strict | 1u << N3_DEFEASIBLE, linear = 1u << N3_LINEAR;
    bool has_drawn = has_kind(m->program, linear);
    if (!run_until_final(m, strict) || (has_kind(m->program, 1u << N3_DEFEASIBLE) && !run_until_final(m, plausible))) {
        return;
    }
    while (has_drawn) {
        if (!run_round(m, linear, &has_drawn) || (has_drawn && !run_until_final(m, plausible))) {
            return;
        }
    }
    run_round(m, KIND_DENIAL, &has_drawn);
}

/* ---------------------------------------------------------------- a run */

static qn_status place_constants(machine *m) {
    const term_pool *constants = &m->program->constants;
    m->constants = calloc((size_t)constants->n_texts + 1, sizeof *m->constants);
    if (m->constants == NULL) {
        return FAIL(m->err, QN_NO_HOST_MEM, "no memory to run the rules");
    }
    qn_status status = QN_OK;
    for (term_ref i = 1; status >= 0 && i <= constants->n_texts; i++) {
        status = term_pool_add(&m->table->pool, term_pool_text(constants, i), &m->constants[i], m->err);
    }
    return status;
}

qn_status rules_run(const rule_program *program, fact_table *table, const rule_limits *limits, rule_verdict *out_verdict, error_context *err) {
    const uint32_t depth = limits->max_depth != 0 ? limits->max_depth : RULES_DEFAULT_DEPTH;
    machine m = {.program = program, .table = table, .verdict = out_verdict, .err = err,
                 .max_work = limits->max_work != 0 ? limits->max_work : RULES_DEFAULT_WORK, .max_steps = (uint64_t)depth * program->n_rules};
    memset(out_verdict, 0, sizeof *out_verdict);
    out_verdict->rule = FACT_GIVEN;
    out_verdict->n_given = table->n_facts;
    const qn_status status = place_constants(&m);
    if (status >= 0) {
        run_all(&m);
    }
    out_verdict->n_derived = table->n_facts - out_verdict->n_given;
    free(m.constants);
    return status;
}

/* ---------------------------------------------------------------- facts for a run */

qn_status rules_load_scope(const rule_program *program, const fact_source *scope, fact_table *table, error_context *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < program->n_steps; i++) {
        const rule_step *step = &program->steps[i];
        fmt_str pattern[FACT_PLACES] = {{"", 0}, {"", 0}, {"", 0}};
        for (int place = 0; step->op == RULE_MATCH && place < FACT_PLACES; place++) {
            if (step->operands[place] != RULE_ANYTHING && (step->operands[place] & RULE_CONSTANT) != 0) {
                pattern[place] = term_pool_text(&program->constants, step->operands[place] & ~RULE_CONSTANT);
            }
        }
        status = step->op == RULE_MATCH ? fact_table_load(table, scope, pattern, err) : status;
    }
    return status;
}

qn_status rules_check(const rule_program *program, const fact_source *scope, const fact *candidates, uint64_t n_candidates,
                      const rule_limits *limits, fact_table *out_table, rule_verdict *out_verdict, error_context *err) {
    error_context full = {.code = QN_OK};
    memset(out_verdict, 0, sizeof *out_verdict);
    out_verdict->rule = FACT_GIVEN;
    QN_TRY(fact_table_init(out_table, limits->max_facts != 0 ? limits->max_facts : FACT_TABLE_DEFAULT, err), err, "running the rules");
    qn_status status = QN_OK;
    for (uint64_t i = 0; status >= 0 && i < n_candidates; i++) {
        status = fact_table_add(out_table, candidates[i].terms, 0, NULL, &full);
    }
    status = status >= 0 && scope != NULL ? rules_load_scope(program, scope, out_table, &full) : status;
    if (status == QN_LIMIT) {
        out_verdict->outcome = RULES_LIMIT;
        out_verdict->n_given = out_table->n_facts;
        say(out_verdict, "%s", error_text(&full));
        return QN_OK;
    }
    if (status < 0) {
        return FAIL(err, status, "%s", error_text(&full));
    }
    return rules_run(program, out_table, limits, out_verdict, err);
}

/* ---------------------------------------------------------------- consequences and proofs */

qn_status rules_derive(const rule_program *program, fact_table *table, const rule_limits *limits, const fact *claim, uint32_t *out_fact,
                       rule_verdict *out_verdict, error_context *err) {
    term_ref terms[FACT_PLACES];
    *out_fact = FACT_NONE;
    QN_TRY(rules_run(program, table, limits, out_verdict, err), err, "deriving");
    for (int place = 0; place < FACT_PLACES; place++) {
        terms[place] = term_pool_find(&table->pool, claim->terms[place]);
        if (terms[place] == 0) {
            return QN_OK;
        }
    }
    *out_fact = fact_table_find(table, terms);
    return QN_OK;
}

qn_status rules_proof(const fact_table *table, uint32_t of_fact, uint32_t **out_facts, uint32_t *out_n, error_context *err) {
    uint32_t n = 0;
    bool *is_needed = calloc((size_t)of_fact + 1, sizeof *is_needed);
    uint32_t *facts = malloc(((size_t)of_fact + 1) * sizeof *facts);
    if (is_needed == NULL || facts == NULL) {
        free(is_needed);
        free(facts);
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a proof");
    }
    is_needed[of_fact] = true;
    for (uint32_t i = of_fact + 1; i-- > 0;) { /* premises stand before what rests on them */
        const fact_origin *origin = &table->facts[i].origin;
        for (uint32_t j = 0; is_needed[i] && j < origin->n_premises; j++) {
            is_needed[origin->premises[j]] = true;
        }
    }
    for (uint32_t i = 0; i <= of_fact; i++) {
        facts[n] = i;
        n += is_needed[i] ? 1 : 0;
    }
    free(is_needed);
    *out_facts = facts;
    *out_n = n;
    return QN_OK;
}
