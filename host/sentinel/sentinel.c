/* sentinel.c — the rules, one function each, and the verdict. */
#define _DEFAULT_SOURCE /* explicit_bzero */
#include "sentinel/sentinel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sentinel/deny_set.h"
#include "sentinel/repetition.h"
#include "sentinel/row_facts.h"

struct sentinel {
    const tokenizer *tok;
    bool is_on[SENTINEL_RULES];
    sentinel_action actions[SENTINEL_RULES];
    float least_margin, most_entropy;
    deny_set denied;
    repetition repeats;
    phrase_automaton phrases;
    uint32_t phrase_state;      /* behind what was taken */
    char *room;                 /* [room_bytes] of one token */
    size_t room_bytes;
    row_facts facts;            /* of the row in hand */
    bool needs_row;             /* a rule about the row is on, or somebody watches */
    run_streams *streams;
    token_judge hook;
    sentinel_report report;
};

/* ---------------------------------------------------------------- the rules */

/* Every rule about the token; the phrase's state behind it is left in *out_state. */
static uint32_t ask_token_rules(sentinel *s, const judge_question *q, uint32_t *out_state) {
    uint32_t fired = 0, found = PHRASE_NONE;
    if (s->is_on[SENTINEL_DENY] && deny_set_has(&s->denied, q->token)) {
        fired |= 1u << SENTINEL_DENY;
    }
    if (s->is_on[SENTINEL_REPETITION] && repetition_would_fire(&s->repeats, q->token)) {
        fired |= 1u << SENTINEL_REPETITION;
    }
    if (s->is_on[SENTINEL_PHRASE]) {
        const size_t n = tokenizer_token_bytes(s->tok, q->token, false, s->room, s->room_bytes);
        *out_state = phrase_automaton_walk(&s->phrases, s->phrase_state, s->room, n < s->room_bytes ? n : s->room_bytes, &found);
        fired |= found != PHRASE_NONE ? 1u << SENTINEL_PHRASE : 0;
    }
    if (s->is_on[SENTINEL_COMPAT_99]) {
        uint32_t bits;
        memcpy(&bits, &q->logits[q->token], sizeof bits);
        fired |= (bits & 0xffu) == 0x99u ? 1u << SENTINEL_COMPAT_99 : 0;
    }
    return fired;
}

static uint32_t ask_row_rules(const sentinel *s) {
    uint32_t fired = 0;
    if (s->is_on[SENTINEL_NON_FINITE] && s->facts.n_odd > 0) {
        fired |= 1u << SENTINEL_NON_FINITE;
    }
    if (s->is_on[SENTINEL_MARGIN] && s->facts.best - s->facts.second < s->least_margin) {
        fired |= 1u << SENTINEL_MARGIN;
    }
    if (s->is_on[SENTINEL_ENTROPY] && s->facts.entropy > s->most_entropy) {
        fired |= 1u << SENTINEL_ENTROPY;
    }
    return fired;
}

/* ---------------------------------------------------------------- the verdict */

static sentinel_action weigh(sentinel *s, uint32_t fired, sentinel_rule *out_rule) {
    sentinel_action strongest = SENTINEL_ALLOW;
    for (uint32_t i = 0; i < SENTINEL_RULES; i++) {
        if ((fired & 1u << i) == 0) {
            continue;
        }
        s->report.n_fired[i]++;
        if (*out_rule == SENTINEL_RULES || s->actions[i] > strongest) {
            *out_rule = i;
            strongest = s->actions[i];
        }
    }
    return strongest;
}

/* At most as many as the ring holds: whoever writes faster than we read does not keep us. */
static bool hears_abort(sentinel *s) {
    quoin_control_message message;
    for (uint32_t i = 0; s->streams != NULL && i < QUOIN_OBSERVER_MESSAGES && run_streams_hear(s->streams, &message); i++) {
        if (message.kind == QUOIN_CONTROL_ABORT) {
            s->report.is_by_observer = true;
            s->report.pid = message.pid;
            memcpy(s->report.reason, message.reason, sizeof s->report.reason);
            return true;
        }
    }
    return false;
}

/* The last that was refused is what a run ends with, if it ends here. */
static void note_refusal(sentinel *s, const judge_question *q, sentinel_rule rule) {
    s->report.rule = rule;
    s->report.step = q->step;
    s->report.token = q->token;
}

static void tell(sentinel *s, const judge_question *q, uint32_t fired, uint32_t flags) {
    const float logit = q->logits[q->token];
    if (s->streams != NULL) {
        const quoin_logit_record record = {.step = q->step, .token = q->token, .logit = logit,
                                           .runner_up = logit >= s->facts.best ? s->facts.second : s->facts.best,
                                           .entropy = s->facts.entropy, .flags = (uint16_t)(flags | fired << 4)};
        run_streams_post(s->streams, &record);
        s->report.n_records = s->streams->n_posted;
        s->report.n_dropped = s->streams->n_dropped;
    }
}

static judge_verdict judge(void *ctx, const judge_question *q) {
    sentinel *s = ctx;
    uint32_t state = s->phrase_state, flags = 0;
    sentinel_rule rule = SENTINEL_RULES;
    if (q->attempt == 0 && s->needs_row) {
        s->facts = row_facts_of(q->logits, q->n_tokens, s->is_on[SENTINEL_ENTROPY] || s->streams != NULL);
    }
    const uint32_t fired = ask_token_rules(s, q, &state) | (q->attempt == 0 ? ask_row_rules(s) : 0);
    sentinel_action action = weigh(s, fired, &rule);
    if (hears_abort(s)) {
        action = SENTINEL_ABORT;
        flags = QUOIN_RECORD_OBSERVER;
    }
    if (action == SENTINEL_RESAMPLE) {
        flags |= QUOIN_RECORD_RESAMPLE;
        s->report.n_resampled++;
        note_refusal(s, q, rule);
    } else if (action == SENTINEL_ABORT) {
        flags |= QUOIN_RECORD_ABORT;
        s->report.is_aborted = true;
        note_refusal(s, q, rule);
    } else {
        s->phrase_state = state;
        if (s->is_on[SENTINEL_REPETITION]) {
            repetition_add(&s->repeats, q->token);
        }
    }
    tell(s, q, fired, flags);
    return action; /* the numbers are those of judge_verdict */
}

_Static_assert((int)SENTINEL_ALLOW == JUDGE_ALLOW && (int)SENTINEL_RESAMPLE == JUDGE_RESAMPLE && (int)SENTINEL_ABORT == JUDGE_ABORT,
               "actions are verdicts");
_Static_assert(QUOIN_RECORD_DENY == 1u << 4 << SENTINEL_DENY && QUOIN_RECORD_COMPAT_99 == 1u << 4 << SENTINEL_COMPAT_99,
               "rules are flags from bit 4 on");

/* ---------------------------------------------------------------- a sentinel's life */

static qn_status make_rules(sentinel *s, const sentinel_settings *settings, error_context *err) {
    memcpy(s->is_on, settings->is_on, sizeof s->is_on);
    memcpy(s->actions, settings->actions, sizeof s->actions);
    s->least_margin = (float)settings->least_margin;
    s->most_entropy = (float)settings->most_entropy;
    s->needs_row = s->is_on[SENTINEL_NON_FINITE] || s->is_on[SENTINEL_MARGIN] || s->is_on[SENTINEL_ENTROPY];
    if (s->is_on[SENTINEL_DENY]) {
        QN_TRY(deny_set_make(&s->denied, s->tok, settings, err), err, "making the deny list");
    }
    if (s->is_on[SENTINEL_REPETITION]) {
        QN_TRY(repetition_init(&s->repeats, settings->n, settings->times, settings->window, err), err, "[repetition]");
    }
    return s->is_on[SENTINEL_PHRASE]
               ? phrase_automaton_make(settings->phrases, settings->n_phrases, settings->folds_case, &s->phrases, err)
               : QN_OK;
}

qn_status sentinel_create(const sentinel_settings *settings, const tokenizer *tok, sentinel **out, error_context *err) {
    sentinel *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a sentinel");
    }
    s->tok = tok;
    s->hook = (token_judge){s, judge};
    s->room_bytes = detokenizer_room(tok);
    s->room = malloc(s->room_bytes);
    qn_status status = s->room != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory for a token's text");
    if (status == QN_OK && settings != NULL) {
        status = make_rules(s, settings, err);
    }
    if (status < 0) {
        sentinel_destroy(s);
        return status;
    }
    *out = s;
    return QN_OK;
}

void sentinel_destroy(sentinel *s) {
    if (s != NULL) {
        sentinel_scrub(s);
        deny_set_free(&s->denied);
        repetition_free(&s->repeats);
        phrase_automaton_free(&s->phrases);
        free(s->room);
        free(s);
    }
}

void sentinel_watch(sentinel *s, run_streams *streams) {
    s->streams = streams;
    s->needs_row |= streams != NULL;
}

void sentinel_begin(sentinel *s) {
    sentinel_scrub(s);
    s->report = (sentinel_report){0};
}

const token_judge *sentinel_judge(const sentinel *s) {
    return &s->hook;
}

void sentinel_end(sentinel *s, uint32_t n_taken, stop_reason reason) {
    if (reason == STOP_JUDGED && !s->report.is_aborted) {
        s->report.is_aborted = s->report.is_exhausted = true;
    }
    if (s->streams != NULL) {
        run_streams_end(s->streams, n_taken, reason);
        s->report.n_records = s->streams->n_posted;
    }
}

const sentinel_report *sentinel_get_report(const sentinel *s) {
    return &s->report;
}

void sentinel_describe_abort(const sentinel_report *r, char *text, size_t room) {
    if (!r->is_aborted) {
        snprintf(text, room, "nothing");
    } else if (r->is_by_observer) {
        snprintf(text, room, "an observer, process %u%s%s, at token %u", r->pid, r->reason[0] != '\0' ? ": " : "", r->reason, r->step);
    } else if (r->is_exhausted) {
        snprintf(text, room, "too many choices refused, the last one by rule %s, at token %u", sentinel_rule_name(r->rule), r->step);
    } else {
        snprintf(text, room, "rule %s at token %u", sentinel_rule_name(r->rule), r->step);
    }
}

uint64_t sentinel_scrub(sentinel *s) {
    uint64_t bytes = s->room_bytes + sizeof s->facts + sizeof s->phrase_state;
    if (s->room != NULL) {
        explicit_bzero(s->room, s->room_bytes);
    }
    if (s->repeats.ring != NULL) {
        bytes += (uint64_t)s->repeats.window * sizeof *s->repeats.ring;
        repetition_clear(&s->repeats);
    }
    explicit_bzero(&s->facts, sizeof s->facts);
    s->phrase_state = 0;
    return bytes;
}
