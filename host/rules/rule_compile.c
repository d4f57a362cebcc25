/* rule_compile.c — rules into steps. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped_file.h"
#include "rules/rule_program.h"

#define SWAP_IRI "<http://www.w3.org/2000/10/swap/"
#define MOST_FILE_BYTES (UINT64_C(16) << 20)
#define NO_ENTRY UINT32_MAX

typedef struct rule_compiler {
    const n3_document *document;
    const char *name;
    rule_program *program;
    error_context *err;
    uint32_t (*entries)[N3_MAX_FORMULA]; /* [n_rules] of defeaters: the first step for each conclusion */
    /* Of the rule in work. */
    const n3_rule *rule;
    uint32_t rule_no;
    rule_variable variables[RULE_MAX_VARIABLES];
    uint32_t n_variables, n_registers;
} rule_compiler;

/* ---------------------------------------------------------------- words and steps */

__attribute__((format(printf, 3, 4)))
static qn_status refuse(const rule_compiler *c, uint32_t line, const char *format, ...) {
    char words[400];
    const fmt_str id = c->program->rules[c->rule_no].id;
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return FAIL(c->err, QN_BAD_INPUT, "%s: line %u: rule %.*s: %s", c->name, line, (int)id.size, id.data, words);
}

static int shown(fmt_str text) {
    return (int)(text.size < 100 ? text.size : 100);
}

static qn_status put_step(rule_compiler *c, rule_step step) {
    rule_program *p = c->program;
    if (p->n_steps == RULES_MAX_STEPS) {
        return FAIL(c->err, QN_LIMIT, "%s: the rules have more than %u steps", c->name, RULES_MAX_STEPS);
    }
    if (p->n_steps == p->steps_room) {
        const uint32_t room = p->steps_room == 0 ? 256 : p->steps_room * 2;
        rule_step *grown = realloc(p->steps, room * sizeof *grown);
        if (grown == NULL) {
            return FAIL(c->err, QN_NO_HOST_MEM, "%s: no memory for its rules", c->name);
        }
        p->steps = grown;
        p->steps_room = room;
    }
    p->steps[p->n_steps++] = step;
    return QN_OK;
}

static qn_status add_constant(rule_compiler *c, fmt_str text, rule_operand *out) {
    term_ref ref;
    const qn_status status = term_pool_add(&c->program->constants, text, &ref, c->err);
    *out = RULE_CONSTANT | ref;
    return status;
}

/* ---------------------------------------------------------------- variables */

static const rule_variable *find_variable(const rule_compiler *c, fmt_str name) {
    for (uint32_t i = 0; i < c->n_variables; i++) {
        if (texts_equal(c->variables[i].name, name)) {
            return &c->variables[i];
        }
    }
    return NULL;
}

static qn_status bind_variable(rule_compiler *c, fmt_str name, uint32_t in_register) {
    term_ref ref;
    if (c->n_variables == RULE_MAX_VARIABLES) {
        return refuse(c, c->rule->line, "more than %u variables", RULE_MAX_VARIABLES);
    }
    const qn_status status = term_pool_add(&c->program->constants, name, &ref, c->err);
    c->variables[c->n_variables++] = (rule_variable){term_pool_text(&c->program->constants, ref), in_register};
    return status;
}

static bool is_variable(const n3_term *term) {
    return term->kind == N3_VARIABLE || term->kind == N3_BLANK;
}

/* A constant or a variable that is bound; RULE_ANYTHING for one that is not. */
static qn_status find_operand(rule_compiler *c, const n3_term *term, rule_operand *out) {
    if (!is_variable(term)) {
        return add_constant(c, term->text, out);
    }
    const rule_variable *found = find_variable(c, term->text);
    *out = found != NULL ? found->in_register : RULE_ANYTHING;
    return QN_OK;
}

/* ---------------------------------------------------------------- built-ins */

typedef struct builtin {
    const char *name; /* behind SWAP_IRI, with the bracket */
    rule_op op;
    rule_test test;
} builtin;

static const builtin builtins[] = {
    {"math#lessThan>", RULE_TEST_NUM, RULE_LESS}, {"math#notLessThan>", RULE_TEST_NUM, RULE_NOT_LESS},
    {"math#greaterThan>", RULE_TEST_NUM, RULE_GREATER}, {"math#notGreaterThan>", RULE_TEST_NUM, RULE_NOT_GREATER},
    {"math#equalTo>", RULE_TEST_NUM, RULE_EQUAL}, {"math#notEqualTo>", RULE_TEST_NUM, RULE_UNEQUAL},
    {"log#equalTo>", RULE_TEST_EQ, RULE_EQUAL}, {"log#notEqualTo>", RULE_TEST_EQ, RULE_UNEQUAL}};

static bool is_of_swap(const n3_triple *triple) {
    const n3_term *predicate = &triple->terms[FACT_PREDICATE];
    const size_t n = sizeof SWAP_IRI - 1;
    return predicate->kind == N3_IRI && predicate->text.size > n && memcmp(predicate->text.data, SWAP_IRI, n) == 0;
}

static const builtin *find_builtin(const n3_triple *triple) {
    const fmt_str text = triple->terms[FACT_PREDICATE].text;
    const size_t n = sizeof SWAP_IRI - 1;
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++) {
        if (text.size - n == strlen(builtins[i].name) && memcmp(text.data + n, builtins[i].name, (size_t)text.size - n) == 0) {
            return &builtins[i];
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- premises */

static qn_status check_terms(rule_compiler *c, const n3_triple *triple) {
    for (int place = 0; place < FACT_PLACES; place++) {
        if (triple->terms[place].kind == N3_FORMULA) {
            return refuse(c, triple->line, "a formula as a term is not offered: no fact has one");
        }
    }
    return QN_OK;
}

/* A fact that fits, and its terms into the registers of variables that were not bound. */
static qn_status put_match(rule_compiler *c, const n3_triple *triple) {
    rule_step match = {.op = RULE_MATCH};
    qn_status status = triple->terms[FACT_SUBJECT].kind != N3_LITERAL ? QN_OK : refuse(c, triple->line, "no fact has a literal as subject");
    for (int place = 0; status >= 0 && place < FACT_PLACES; place++) {
        status = find_operand(c, &triple->terms[place], &match.operands[place]);
    }
    status = status < 0 ? status : put_step(c, match);
    for (int place = 0; status >= 0 && place < FACT_PLACES; place++) {
        if (match.operands[place] != RULE_ANYTHING) {
            continue;
        }
        const rule_variable *same = find_variable(c, triple->terms[place].text); /* twice in this statement */
        const uint32_t in_register = c->n_registers++;
        const rule_step test = {.op = RULE_TEST_EQ, .operands = {in_register, same != NULL ? same->in_register : 0}};
        status = put_step(c, (rule_step){.op = RULE_BIND, .place = (uint8_t)place, .operands = {in_register}});
        status = status < 0 ? status : same != NULL ? put_step(c, test) : bind_variable(c, triple->terms[place].text, in_register);
    }
    return status;
}

/* Puts a test when its variables are bound; *out_is_put tells. */
static qn_status put_test(rule_compiler *c, const n3_triple *triple, bool *out_is_put) {
    const builtin *which = find_builtin(triple);
    rule_operand a, b;
    *out_is_put = false;
    if (which == NULL) {
        return refuse(c, triple->line, "the built-in %.*s is not offered", shown(triple->terms[FACT_PREDICATE].text),
                      triple->terms[FACT_PREDICATE].text.data);
    }
    qn_status status = find_operand(c, &triple->terms[FACT_SUBJECT], &a);
    status = status < 0 ? status : find_operand(c, &triple->terms[FACT_OBJECT], &b);
    if (status < 0 || a == RULE_ANYTHING || b == RULE_ANYTHING) {
        return status;
    }
    *out_is_put = true;
    return put_step(c, (rule_step){.op = which->op, .test = which->test, .operands = {a, b}});
}

/* Every test that can be made now and was not yet. `io_left` has a bit for each statement. */
static qn_status put_tests(rule_compiler *c, const n3_triple *triples, uint32_t n_triples, uint32_t *io_left) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < n_triples; i++) {
        bool is_put = false;
        if ((*io_left >> i & 1) != 0) {
            status = put_test(c, &triples[i], &is_put);
            *io_left &= is_put ? ~(UINT32_C(1) << i) : UINT32_MAX;
        }
    }
    return status;
}

static qn_status put_premises(rule_compiler *c) {
    const n3_formula *premise = &c->rule->premise;
    const n3_triple *triples = n3_formula_statements(c->document, premise);
    uint32_t tests = 0;
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < premise->n_triples; i++) {
        status = check_terms(c, &triples[i]);
        tests |= is_of_swap(&triples[i]) ? UINT32_C(1) << i : 0;
    }
    uint32_t left = tests;
    status = status < 0 ? status : put_tests(c, triples, premise->n_triples, &left);
    for (uint32_t i = 0; status >= 0 && i < premise->n_triples; i++) {
        if ((tests >> i & 1) == 0) {
            status = put_match(c, &triples[i]);
            status = status < 0 ? status : put_tests(c, triples, premise->n_triples, &left);
        }
    }
    for (uint32_t i = 0; status >= 0 && i < premise->n_triples; i++) {
        if ((left >> i & 1) != 0) {
            return refuse(c, triples[i].line, "a comparison has a variable that no other premise gives");
        }
    }
    return status;
}

/* ---------------------------------------------------------------- conclusions */

static bool is_denial(const n3_triple *triple) {
    return texts_equal(triple->terms[FACT_PREDICATE].text, text_of(RULES_DENIED));
}

static qn_status check_conclusion(rule_compiler *c, const n3_triple *triple) {
    qn_status status = check_terms(c, triple);
    if (status < 0) {
        return status;
    }
    if (is_of_swap(triple)) {
        return refuse(c, triple->line, "a comparison is no conclusion");
    }
    for (int place = 0; place < FACT_PLACES; place++) {
        if (triple->terms[place].kind == N3_BLANK) {
            return refuse(c, triple->line, "a conclusion with a blank node would make new nodes; name it, or use a variable");
        }
    }
    return triple->terms[FACT_SUBJECT].kind == N3_LITERAL ? refuse(c, triple->line, "a literal is no subject") : QN_OK;
}

static qn_status find_operands(rule_compiler *c, const n3_triple *triple, rule_operand out[FACT_PLACES]) {
    qn_status status = QN_OK;
    for (int place = 0; status >= 0 && place < FACT_PLACES; place++) {
        status = find_operand(c, &triple->terms[place], &out[place]);
        if (status >= 0 && out[place] == RULE_ANYTHING) {
            return refuse(c, triple->line, "?%.*s is in the conclusion and in no premise", shown(triple->terms[place].text),
                          triple->terms[place].text.data);
        }
    }
    return status;
}

static bool may_unify(const n3_triple *a, const n3_triple *b) {
    for (int place = 0; place < FACT_PLACES; place++) {
        if (!is_variable(&a->terms[place]) && !is_variable(&b->terms[place]) && !texts_equal(a->terms[place].text, b->terms[place].text)) {
            return false;
        }
    }
    return true;
}

/* UNLESS for each conclusion of each defeater that may stand against this statement. */
static qn_status put_unless(rule_compiler *c, const n3_triple *triple) {
    rule_step step = {.op = RULE_UNLESS};
    qn_status status = find_operands(c, triple, step.operands);
    for (uint32_t i = 0; status >= 0 && i < c->document->n_rules; i++) {
        const n3_formula *against = &c->document->rules[i].conclusion;
        for (uint32_t j = 0; status >= 0 && j < against->n_triples; j++) {
            step.target = c->entries[i][j];
            if (step.target != NO_ENTRY && may_unify(triple, &c->document->formula_triples[against->first + j])) {
                status = put_step(c, step);
            }
        }
    }
    return status;
}

static qn_status put_conclusions(rule_compiler *c) {
    const n3_formula *conclusion = &c->rule->conclusion;
    const n3_triple *triples = n3_formula_statements(c->document, conclusion);
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && c->rule->arrow == N3_DEFEASIBLE && i < conclusion->n_triples; i++) {
        status = put_unless(c, &triples[i]);
    }
    for (uint32_t i = 0; status >= 0 && i < conclusion->n_triples; i++) {
        rule_step step = {.op = RULE_EMIT};
        status = find_operands(c, &triples[i], step.operands);
        status = status < 0 ? status : put_step(c, step);
    }
    return status < 0 ? status : put_step(c, (rule_step){.op = RULE_HALT_OK});
}

static qn_status put_denial(rule_compiler *c) {
    const n3_formula *conclusion = &c->rule->conclusion;
    rule_step step = {.op = RULE_HALT_FAIL, .operands = {RULE_ANYTHING, RULE_ANYTHING, RULE_ANYTHING}};
    if (!conclusion->is_false) {
        if (conclusion->n_triples > 1) {
            return refuse(c, c->rule->line, "a rule that denies concludes nothing else");
        }
        QN_TRY(find_operands(c, n3_formula_statements(c->document, conclusion), step.operands), c->err, "compiling rules");
    }
    return put_step(c, step);
}

/* ---------------------------------------------------------------- rules */

static void begin_rule(rule_compiler *c, uint32_t rule_no, uint32_t n_registers) {
    c->rule = &c->document->rules[rule_no];
    c->rule_no = rule_no;
    c->n_variables = 0;
    c->n_registers = n_registers;
}

static qn_status check_rule(rule_compiler *c, installed_rule *out) {
    const n3_formula *conclusion = &c->rule->conclusion;
    qn_status status = QN_OK;
    out->is_denial = conclusion->is_false;
    for (uint32_t i = 0; status >= 0 && i < conclusion->n_triples; i++) {
        const n3_triple *triple = &c->document->formula_triples[conclusion->first + i];
        status = check_conclusion(c, triple);
        out->is_denial = out->is_denial || is_denial(triple);
    }
    return status >= 0 && out->is_denial && out->arrow != N3_STRICT ? refuse(c, c->rule->line, "only => denies, not %s", n3_arrow_text(out->arrow))
                                                                   : status;
}

/* The run of a defeater for one of its conclusions, which is in registers 0, 1 and 2 when it begins. */
static qn_status put_defeater(rule_compiler *c, uint32_t rule_no, uint32_t conclusion) {
    begin_rule(c, rule_no, FACT_PLACES);
    const n3_triple *triple = &c->document->formula_triples[c->rule->conclusion.first + conclusion];
    qn_status status = QN_OK;
    c->entries[rule_no][conclusion] = c->program->n_steps;
    for (uint32_t place = 0; status >= 0 && place < FACT_PLACES; place++) {
        rule_step test = {.op = RULE_TEST_EQ, .operands = {place}};
        status = find_operand(c, &triple->terms[place], &test.operands[1]);
        if (status >= 0) {
            status = test.operands[1] == RULE_ANYTHING ? bind_variable(c, triple->terms[place].text, place) : put_step(c, test);
        }
    }
    status = status < 0 ? status : put_premises(c);
    return status < 0 ? status : put_step(c, (rule_step){.op = RULE_HALT_OK});
}

static qn_status compile_defeaters(rule_compiler *c) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < c->document->n_rules; i++) {
        memset(c->entries[i], 0xFF, sizeof c->entries[i]);
        for (uint32_t j = 0; status >= 0 && c->document->rules[i].arrow == N3_DEFEATER && j < c->document->rules[i].conclusion.n_triples; j++) {
            status = put_defeater(c, i, j);
        }
    }
    return status;
}

static qn_status compile_rule(rule_compiler *c, uint32_t rule_no) {
    installed_rule *out = &c->program->rules[rule_no];
    begin_rule(c, rule_no, 0);
    out->first_step = c->program->n_steps;
    if (out->arrow == N3_DEFEATER) {
        return QN_OK;
    }
    qn_status status = put_premises(c);
    status = status < 0 ? status : out->is_denial ? put_denial(c) : put_conclusions(c);
    out->n_variables = c->n_variables;
    memcpy(out->variables, c->variables, sizeof out->variables);
    return status;
}

static qn_status name_rule(rule_compiler *c, uint32_t rule_no) {
    const n3_rule *rule = &c->document->rules[rule_no];
    char words[32];
    term_ref ref;
    snprintf(words, sizeof words, "line %u", rule->line);
    const qn_status status = term_pool_add(&c->program->constants, rule->id.size > 0 ? rule->id : text_of(words), &ref, c->err);
    c->program->rules[rule_no] = (installed_rule){.id = term_pool_text(&c->program->constants, ref), .arrow = rule->arrow, .line = rule->line};
    return status;
}

static qn_status compile_all(rule_compiler *c) {
    const uint32_t n = c->document->n_rules;
    qn_status status = QN_OK;
    c->program->n_rules = n;
    for (uint32_t i = 0; status >= 0 && i < n; i++) {
        status = name_rule(c, i);
        begin_rule(c, i, 0);
        status = status < 0 ? status : check_rule(c, &c->program->rules[i]);
    }
    status = status < 0 ? status : compile_defeaters(c);
    for (uint32_t i = 0; status >= 0 && i < n; i++) {
        status = compile_rule(c, i);
    }
    return status;
}

static qn_status check_document(const n3_document *document, const char *name, error_context *err) {
    if (document->n_assertions > 0) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %u: a statement outside of rules; write { } => { ... } . to install it", name,
                    document->assertions[0].line);
    }
    if (document->n_rules == 0) {
        return FAIL(err, QN_BAD_INPUT, "%s: there is no rule in it", name);
    }
    return document->n_rules <= RULES_MAX ? QN_OK : FAIL(err, QN_LIMIT, "%s: %u rules; the limit is %u", name, document->n_rules, RULES_MAX);
}

qn_status rule_program_compile(const n3_document *document, const char *name, rule_program **out_program, error_context *err) {
    QN_TRY(check_document(document, name, err), err, "compiling rules");
    rule_compiler c = {.document = document, .name = name, .err = err};
    c.program = calloc(1, sizeof *c.program);
    c.entries = malloc(document->n_rules * sizeof *c.entries);
    qn_status status = c.program != NULL && c.entries != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "%s: no memory for its rules", name);
    if (status >= 0) {
        c.program->rules = calloc(document->n_rules, sizeof *c.program->rules);
        status = c.program->rules != NULL ? compile_all(&c) : FAIL(err, QN_NO_HOST_MEM, "%s: no memory for its rules", name);
    }
    free(c.entries);
    if (status < 0) {
        rule_program_free(c.program);
        return status;
    }
    *out_program = c.program;
    return QN_OK;
}

qn_status rule_program_read(const char *path, rule_program **out_program, error_context *err) {
    const n3_options options = {.name = path};
    mapped_file file = {.fd = -1};
    n3_document document = {0};
    QN_TRY(mapped_file_open(path, &file, err), err, "reading rules");
    qn_status status = file.span.size <= MOST_FILE_BYTES ? QN_OK : FAIL(err, QN_LIMIT, "%s: a rules file has at most 16 MiB", path);
    status = status < 0 ? status : n3_read((fmt_str){(const char *)file.span.data, file.span.size}, &options, &document, err);
    status = status < 0 ? status : mapped_file_check(&file, err);
    status = status < 0 ? status : rule_program_compile(&document, path, out_program, err);
    n3_free(&document);
    mapped_file_close(&file);
    return status;
}

void rule_program_free(rule_program *program) {
    if (program == NULL) {
        return;
    }
    free(program->rules);
    free(program->steps);
    term_pool_free(&program->constants);
    free(program);
}
