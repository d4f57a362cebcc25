/* constrain_options.c — constraints of a run, and what is told of them. */
#include "cli/constrain_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "base/clock.h"
#include "base/log.h"

void constrain_options_init(constrain_options *o, option rows[CONSTRAIN_OPTION_ROWS]) {
    *o = (constrain_options){.grammar = NULL};
    const option filled[CONSTRAIN_OPTION_ROWS] = {
        {OPTION_STRING, "grammar", 0, "FILE", "only texts of this grammar (GBNF)", &o->grammar, 0, 0, NULL, NULL},
        {OPTION_STRING, "json-schema", 0, "FILE", "only JSON that this schema allows", &o->schema, 0, 0, NULL, NULL},
        {OPTION_STRING, "sieve", 0, "FILE", "only three terms: the subject, predicate and object of a statement", &o->sieve, 0, 0, NULL,
         NULL}};
    memcpy(rows, filled, sizeof filled);
}

qn_status constrain_options_check(const constrain_options *o, error_context *err) {
    if ((o->grammar != NULL) + (o->schema != NULL) + (o->sieve != NULL) > 1) {
        return FAIL(err, QN_BAD_INPUT, "--grammar, --json-schema and --sieve exclude each other: give one");
    }
    return QN_OK;
}

static qn_status open_sieve(run_constraint *rc, const char *path, fmt_str text, const constraint_target *target, bool has_budget,
                            generate_options *options, error_context *err) {
    sieve_spec spec;
    QN_TRY(text.data != NULL ? sieve_spec_parse(text, path, &spec, err) : sieve_spec_read(path, &spec, err), err, "reading %s", path);
    const qn_status status = sieve_create(&spec, target, &rc->terms, err);
    sieve_spec_free(&spec);
    if (status < 0) {
        return status;
    }
    if (!has_budget && options->max_tokens < sieve_budget(rc->terms)) {
        options->max_tokens = sieve_budget(rc->terms);
    }
    QN_TRY(sieve_check_budget(rc->terms, options->max_tokens, err), err, "opening the sieve %s", path);
    rc->hook = sieve_hook(rc->terms);
    return QN_OK;
}

qn_status run_constraint_open(run_constraint *rc, const constrain_options *o, const tokenizer *tok, bool has_budget,
                              generate_options *options, error_context *err) {
    const constraint_target target = {.tok = tok, .stops = options->stops, .n_stops = options->n_stops, .at_start = options->at_start};
    *rc = (run_constraint){.language = NULL};
    if (o->grammar == NULL && o->schema == NULL && o->sieve == NULL) {
        return QN_OK;
    }
    if (o->sieve != NULL) {
        QN_TRY(open_sieve(rc, o->sieve, o->sieve_text, &target, has_budget, options, err), err, "opening a sieve");
    } else {
        QN_TRY(o->grammar != NULL ? constraint_create_grammar(o->grammar, &target, &rc->language, err)
                                  : constraint_create_schema(o->schema, &target, &rc->language, err),
               err, "opening a constraint");
        rc->hook = constraint_hook(rc->language);
    }
    options->hooks.constraint = &rc->hook;
    return QN_OK;
}

void run_constraint_close(run_constraint *rc) {
    constraint_destroy(rc->language);
    sieve_destroy(rc->terms);
    *rc = (run_constraint){.language = NULL};
}

/* ------------------------------------------------------------------------------------------------------------ generating */

/* Hands the tokens out as generate_run does. */
static qn_status emit(const session *s, const generate_options *options, const uint32_t *ids, generate_result *r, error_context *err) {
    const tokenizer *tok = s->p->m->tok;
    detokenizer text;
    const size_t room_bytes = detokenizer_room(tok);
    char *room = malloc(room_bytes);
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a token's text");
    }
    bool goes_on = true;
    detokenizer_init(&text, tok, options->show_special, options->at_start);
    for (uint32_t i = 0; i < r->n_generated && goes_on; i++) {
        const generate_event event = {.id = ids[i], .text = room, .text_bytes = detokenizer_push(&text, ids[i], room, room_bytes)};
        goes_on = options->on_token(options->ctx, &event);
    }
    r->reason = goes_on ? STOP_COMPLETE : STOP_CANCELLED;
    free(room);
    return QN_OK;
}

/* Reads the prompt, lets the beam choose, and hands the terms out. */
static qn_status generate_with_beam(run_constraint *rc, session *s, sampler *chooser, const token_list *ids,
                                    const generate_options *options, generate_result *r, error_context *err) {
    generate_options reading = *options;
    reading.max_tokens = 0;
    QN_TRY(generate_run(s, chooser, ids->ids, (uint32_t)ids->count, &reading, r, err), err, "reading the prompt");
    if (r->reason != STOP_BUDGET) {
        return QN_OK;
    }
    const double begin = clock_seconds();
    uint32_t *terms = malloc((size_t)sieve_budget(rc->terms) * sizeof *terms);
    if (terms == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the tokens of three terms");
    }
    qn_status status = sieve_beam_run(rc->terms, s, sieve_beam(rc->terms), terms, &r->n_generated, err);
    status = status < 0 ? status : emit(s, options, terms, r, err);
    r->decode_seconds = clock_seconds() - begin;
    free(terms);
    if (status == QN_CANCELLED && options->cancel != NULL && qn_flag_is_up(options->cancel)) {
        r->reason = STOP_CANCELLED;
        return QN_OK;
    }
    return status;
}

qn_status run_constraint_generate(run_constraint *rc, session *s, sampler *chooser, const token_list *ids, const generate_options *options,
                                  generate_result *out_result, error_context *err) {
    return rc->terms != NULL && sieve_beam(rc->terms) > 0
               ? generate_with_beam(rc, s, chooser, ids, options, out_result, err)
               : generate_run(s, chooser, ids->ids, (uint32_t)ids->count, options, out_result, err);
}

/* --------------------------------------------------------------------------------------------------------------- telling */

static bool is_there(const run_constraint *rc) {
    return rc->language != NULL || rc->terms != NULL;
}

static bool is_complete(const run_constraint *rc) {
    return rc->terms != NULL ? sieve_is_complete(rc->terms) : rc->language == NULL || constraint_is_complete(rc->language);
}

/* "S P O ." or "S P O G .", malloc'ed; null without memory. */
static char *write_statement(const sieve_result *r) {
    const char *const parts[] = {r->terms[0], r->terms[1], r->terms[2], r->graph != NULL ? r->graph : ""};
    const size_t size = strlen(parts[0]) + strlen(parts[1]) + strlen(parts[2]) + strlen(parts[3]) + sizeof "     .";
    char *line = malloc(size);
    if (line != NULL) {
        snprintf(line, size, "%s %s %s %s%s.", parts[0], parts[1], parts[2], parts[3], r->graph != NULL ? " " : "");
    }
    return line;
}

static json_t *make_words(const q42_quin *quin) {
    const uint64_t words[] = {quin->subject, quin->predicate, quin->object, quin->context, quin->metadata, quin->parity};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char hex[17];
        snprintf(hex, sizeof hex, "%016" PRIx64, words[i]);
        json_array_append_new(list, json_string(hex));
    }
    return list;
}

static void add_sieve(const sieve *terms, json_t *object) {
    sieve_result r;
    if (sieve_get_result(terms, &r, NULL) < 0) {
        return;
    }
    for (sieve_slot slot = 0; slot < SIEVE_SLOTS; slot++) {
        json_t *one = json_object();
        json_object_set_new(one, "term", command_json_text(r.terms[slot], strlen(r.terms[slot])));
        json_object_set_new(one, "text", command_json_text(r.labels[slot], strlen(r.labels[slot])));
        json_object_set_new(one, "margin", isfinite(r.margins[slot]) ? json_real(r.margins[slot]) : json_null());
        json_object_set_new(object, sieve_slot_name(slot), one);
    }
    char *line = write_statement(&r);
    json_object_set_new(object, "quin", line != NULL ? command_json_text(line, strlen(line)) : json_null());
    free(line);
    json_object_set_new(object, "quin_words", make_words(&r.quin));
    json_object_set_new(object, "log_probability", json_real(r.log_probability));
    json_object_set_new(object, "needs_review", json_boolean(r.needs_review));
}

void run_constraint_add_json(const run_constraint *rc, json_t *object) {
    if (!is_there(rc)) {
        return;
    }
    json_t *told = json_object();
    json_object_set_new(told, "kind", json_string(rc->terms != NULL ? "sieve" : constraint_kind(rc->language)));
    json_object_set_new(told, "complete", json_boolean(is_complete(rc)));
    if (rc->terms != NULL) {
        json_object_set_new(told, "budget", json_integer(sieve_budget(rc->terms)));
        add_sieve(rc->terms, told);
    }
    json_object_set_new(object, "constraint", told);
}

static void say_quin(const sieve *terms) {
    sieve_result r;
    if (sieve_get_result(terms, &r, NULL) < 0) {
        return;
    }
    char *line = write_statement(&r);
    log_line(QN_LOG_INFO, "%s", line != NULL ? line : "");
    free(line);
    if (r.needs_review) {
        log_line(QN_LOG_WARN, "a margin is below what the sieve asks for: review this (subject %.3f, predicate %.3f, object %.3f)",
                 r.margins[0], r.margins[1], r.margins[2]);
    }
}

int run_constraint_report(const run_constraint *rc, const generate_result *r, bool is_json) {
    if (is_complete(rc)) {
        if (rc->terms != NULL && !is_json) {
            say_quin(rc->terms);
        }
        return EXIT_DONE;
    }
    const char *advice = r->reason == STOP_BUDGET ? "; -n N allows more tokens"
                         : r->reason == STOP_DEADLINE ? "; --deadline S allows more time"
                         : r->reason == STOP_DEAD_END ? ": the vocabulary has no token that may come next" : "";
    log_line(QN_LOG_ERROR, "the text is no whole one of the %s: it ended after %u tokens (%s)%s",
             rc->terms != NULL ? "sieve" : constraint_kind(rc->language), r->n_generated, stop_reason_name(r->reason), advice);
    return EXIT_INCOMPLETE;
}
