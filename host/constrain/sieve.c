/* sieve.c — three trees, one after the other. */
#include "constrain/sieve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "constrain/sieve_internal.h"

/* ------------------------------------------------------------------------------------------------------- life and death */

/* The volume's path seen from the spec's folder. */
static char *join_path(const char *spec_path, const char *volume) {
    const char *slash = strrchr(spec_path, '/');
    const size_t folder = volume[0] == '/' || slash == NULL ? 0 : (size_t)(slash - spec_path) + 1;
    char *path = malloc(folder + strlen(volume) + 1);
    if (path != NULL) {
        memcpy(path, spec_path, folder);
        memcpy(path + folder, volume, strlen(volume) + 1);
    }
    return path;
}

static qn_status open_volume(sieve *s, const sieve_spec *spec, error_context *err) {
    if (spec->volume == NULL) {
        return QN_OK;
    }
    s->volume_path = join_path(spec->path, spec->volume);
    if (s->volume_path == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a sieve");
    }
    return graph_volume_open(s->volume_path, FMT_MODE_DEFAULT, TERMS_AUTO, &s->volume, err);
}

static qn_status fill_slots(sieve *s, const sieve_spec *spec, const tokenizer *tok, error_context *err) {
    uint64_t left = (uint64_t)spec->memory_mib << 20;
    QN_TRY(sieve_graph_find(spec, s->volume, &s->graph_id, &s->graph, err), err, "finding the graph of a sieve");
    for (sieve_slot slot = 0; slot < SIEVE_SLOTS; slot++) {
        QN_TRY(candidate_list_fill(spec, slot, s->volume, &left, &s->candidates[slot], err), err, "filling a slot of the sieve");
        const qn_status status = term_trie_create(tok, &s->candidates[slot], slot == 0 ? "" : spec->separator, &left, &s->tries[slot], err);
        if (status < 0) {
            char where[512];
            snprintf(where, sizeof where, "%.400s: [%s]", spec->path, sieve_slot_name(slot));
            return error_put_path(err, status, where);
        }
    }
    return QN_OK;
}

static qn_status allocate(sieve *s, error_context *err) {
    uint32_t widest = SIEVE_MAX_STOPS;
    for (sieve_slot slot = 0; slot < SIEVE_SLOTS; slot++) {
        widest = s->tries[slot].widest > widest ? s->tries[slot].widest : widest;
    }
    s->inner = malloc((size_t)widest * sizeof *s->inner);
    s->outer = malloc((size_t)widest * sizeof *s->outer);
    return s->inner != NULL && s->outer != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory for a sieve");
}

static bool is_stop(const sieve *s, uint32_t id) {
    for (uint32_t i = 0; i < s->n_stops; i++) {
        if (s->stops[i] == id) {
            return true;
        }
    }
    return false;
}

static qn_status copy_stops(sieve *s, const constraint_target *target, error_context *err) {
    for (uint32_t i = 0; i < target->n_stops && s->n_stops < SIEVE_MAX_STOPS; i++) {
        if (target->stops[i] < s->n_tokens && !is_stop(s, target->stops[i])) {
            s->stops[s->n_stops++] = target->stops[i];
        }
    }
    const term_trie *last = &s->tries[SIEVE_OBJECT];
    for (uint32_t node = 1; s->n_stops == 0 && node < last->n_nodes; node++) {
        if (sieve_is_open_end(last, node)) {
            return FAIL(err, QN_BAD_INPUT, "\"%.200s\" begins another object, and this model has no stop token that could end it; give labels of "
                        "which none begins another", s->candidates[SIEVE_OBJECT].items[last->nodes[node].candidate].label);
        }
    }
    return QN_OK;
}

qn_status sieve_create(const sieve_spec *spec, const constraint_target *target, sieve **out, error_context *err) {
    sieve *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a sieve");
    }
    *s = (sieve){.n_tokens = tokenizer_size(target->tok), .beam = spec->beam, .review_below = spec->review_below};
    qn_status status = open_volume(s, spec, err);
    status = status < 0 ? status : fill_slots(s, spec, target->tok, err);
    status = status < 0 ? status : copy_stops(s, target, err);
    status = status < 0 ? status : allocate(s, err);
    if (status == QN_OK && s->volume != NULL) {
        status = graph_volume_check_files(s->volume, err);
    }
    if (status < 0) {
        sieve_destroy(s);
        return status;
    }
    sieve_reset(s);
    *out = s;
    return QN_OK;
}

void sieve_destroy(sieve *s) {
    if (s == NULL) {
        return;
    }
    for (sieve_slot slot = 0; slot < SIEVE_SLOTS; slot++) {
        candidate_list_free(&s->candidates[slot]);
        term_trie_destroy(&s->tries[slot]);
    }
    graph_volume_close(s->volume);
    free(s->volume_path);
    free(s->graph);
    free(s->inner);
    free(s->outer);
    free(s);
}

void sieve_reset(sieve *s) {
    s->slot = SIEVE_SUBJECT;
    s->node = 0;
    s->log_probability = 0;
    s->has_row = false;
    for (sieve_slot slot = 0; slot < SIEVE_SLOTS; slot++) {
        s->margins[slot] = INFINITY;
    }
}

/* ----------------------------------------------------------------------------------------------------------------- masks */

double sieve_log_sum(const float *row, uint32_t n) {
    float most = -INFINITY;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        most = row[i] > most ? row[i] : most;
    }
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)expf(row[i] - most);
    }
    return (double)most + log(sum);
}

static uint32_t list_children(const term_trie *trie, uint32_t node, const float *logits, uint32_t n_tokens, sieve_choice *out) {
    uint32_t n = 0;
    for (uint32_t child = node + 1; child < trie->nodes[node].end; child = trie->nodes[child].end) {
        const uint32_t token = trie->nodes[child].token;
        if (token < n_tokens) {
            out[n++] = (sieve_choice){token, logits[token]};
        }
    }
    return n;
}

/* What may follow a candidate that is complete where the text stands. */
static uint32_t list_outer(const sieve *s, const float *logits, uint32_t n_tokens, sieve_choice *out) {
    uint32_t n = 0;
    if (!sieve_is_open_end(&s->tries[s->slot], s->node)) {
        return 0;
    }
    if (s->slot + 1 < SIEVE_SLOTS) {
        return list_children(&s->tries[s->slot + 1], 0, logits, n_tokens, out);
    }
    for (uint32_t i = 0; i < s->n_stops; i++) {
        if (s->stops[i] < n_tokens) {
            out[n++] = (sieve_choice){s->stops[i], logits[s->stops[i]]};
        }
    }
    return n;
}

static qn_status mask_logits(void *ctx, float *logits, uint32_t n_tokens, uint32_t *out_n_left, error_context *err) {
    sieve *s = ctx;
    *out_n_left = 0;
    if (s->slot == SIEVE_SLOTS) {
        return FAIL(err, QN_INTERNAL, "a sieve that is complete was asked for more");
    }
    s->log_sum = sieve_log_sum(logits, n_tokens);
    s->n_inner = list_children(&s->tries[s->slot], s->node, logits, n_tokens, s->inner);
    s->n_outer = list_outer(s, logits, n_tokens, s->outer);
    s->has_row = true;
    for (uint32_t i = 0; i < n_tokens; i++) {
        logits[i] = -INFINITY;
    }
    for (uint32_t i = 0; i < s->n_inner + s->n_outer; i++) {
        const sieve_choice *one = i < s->n_inner ? &s->inner[i] : &s->outer[i - s->n_inner];
        *out_n_left += logits[one->token] == -INFINITY && one->logit > -INFINITY;
        logits[one->token] = one->logit;
    }
    return QN_OK;
}

/* --------------------------------------------------------------------------------------------------------------- choices */

static double find_best(const sieve_choice *choices, uint32_t n, uint32_t but) {
    double best = -INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        best = choices[i].token != but && (double)choices[i].logit > best ? (double)choices[i].logit : best;
    }
    return best;
}

static void narrow(sieve *s, uint32_t slot, double chosen, double other) {
    const double margin = other == -INFINITY ? INFINITY : chosen - other;
    s->margins[slot] = margin < s->margins[slot] ? margin : s->margins[slot];
}

static double find_logit(const sieve_choice *choices, uint32_t n, uint32_t token) {
    for (uint32_t i = 0; i < n; i++) {
        if (choices[i].token == token) {
            return (double)choices[i].logit;
        }
    }
    return -INFINITY;
}

/* Going on in the slot, against everything else; or leaving it, against going on, and in the next slot against its other candidates. */
static void count_choice(sieve *s, uint32_t token, bool is_leaving) {
    if (!s->has_row) {
        return;
    }
    const double chosen = is_leaving ? find_logit(s->outer, s->n_outer, token) : find_logit(s->inner, s->n_inner, token);
    const double inner = find_best(s->inner, s->n_inner, token), outer = find_best(s->outer, s->n_outer, token);
    narrow(s, s->slot, chosen, is_leaving || inner > outer ? inner : outer);
    if (is_leaving) {
        narrow(s, s->slot + 1, chosen, outer);
    }
    s->log_probability += chosen - s->log_sum;
    s->has_row = false;
}

static void leave_slot(sieve *s) {
    s->chosen[s->slot] = s->tries[s->slot].nodes[s->node].candidate;
    s->slot++;
    s->node = 0;
}

static qn_status accept_token(void *ctx, uint32_t id, bool *out_is_complete, error_context *err) {
    sieve *s = ctx;
    *out_is_complete = false;
    uint32_t next = s->slot < SIEVE_SLOTS ? term_trie_find(&s->tries[s->slot], s->node, id) : 0;
    const bool is_leaving = next == 0 && s->slot + 1 < SIEVE_SLOTS && sieve_is_open_end(&s->tries[s->slot], s->node);
    if (is_leaving) {
        next = term_trie_find(&s->tries[s->slot + 1], 0, id);
    }
    if (next == 0) {
        return FAIL(err, QN_BAD_INPUT, "token %u may not come here: no candidate of the sieve goes on with it", id);
    }
    count_choice(s, id, is_leaving);
    if (is_leaving) {
        leave_slot(s);
    }
    s->node = next;
    const term_trie *trie = &s->tries[s->slot];
    if (trie->nodes[next].candidate != NO_CANDIDATE && !term_trie_has_children(trie, next)) {
        leave_slot(s);
    }
    *out_is_complete = s->slot == SIEVE_SLOTS;
    return QN_OK;
}

token_constraint sieve_hook(sieve *s) {
    return (token_constraint){.ctx = s, .mask = mask_logits, .accept = accept_token};
}

/* --------------------------------------------------------------------------------------------------------------- results */

uint32_t sieve_budget(const sieve *s) {
    return s->tries[0].deepest + s->tries[1].deepest + s->tries[2].deepest;
}

qn_status sieve_check_budget(const sieve *s, uint32_t max_tokens, error_context *err) {
    const uint32_t budget = sieve_budget(s);
    return max_tokens >= budget ? QN_OK
                                : FAIL(err, QN_LIMIT, "the longest terms of the sieve take %u tokens with their separators, and %u may be generated; "
                                       "allow more, or give shorter labels", budget, max_tokens);
}

uint32_t sieve_beam(const sieve *s) {
    return s->beam;
}

/* In the last slot, at a candidate that others begin with, a stop token ends the text; it is no token that accept is told of. */
static bool is_at_open_end(const sieve *s) {
    return s->slot == SIEVE_OBJECT && sieve_is_open_end(&s->tries[SIEVE_OBJECT], s->node);
}

bool sieve_is_complete(const sieve *s) {
    return s->slot == SIEVE_SLOTS || is_at_open_end(s);
}

qn_status sieve_get_result(const sieve *s, sieve_result *out, error_context *err) {
    uint64_t ids[SIEVE_SLOTS];
    if (!sieve_is_complete(s)) {
        return FAIL(err, QN_NOT_FOUND, "the sieve is not complete: it stopped within the %s", sieve_slot_name(s->slot));
    }
    *out = (sieve_result){.graph = s->graph, .log_probability = s->log_probability};
    for (sieve_slot slot = 0; slot < SIEVE_SLOTS; slot++) {
        const uint32_t chosen = slot < s->slot ? s->chosen[slot] : s->tries[slot].nodes[s->node].candidate;
        const sieve_candidate *one = &s->candidates[slot].items[chosen];
        ids[slot] = one->id;
        out->terms[slot] = one->term;
        out->labels[slot] = one->label;
        out->margins[slot] = s->margins[slot];
    }
    if (s->slot == SIEVE_OBJECT && s->has_row) { /* stopped rather than gone on */
        const double stop = find_best(s->outer, s->n_outer, TOKEN_NONE), on = find_best(s->inner, s->n_inner, TOKEN_NONE);
        out->margins[SIEVE_OBJECT] = stop - on < out->margins[SIEVE_OBJECT] ? stop - on : out->margins[SIEVE_OBJECT];
    }
    for (sieve_slot slot = 0; slot < SIEVE_SLOTS; slot++) {
        out->needs_review |= out->margins[slot] < s->review_below;
    }
    out->quin = q42_quin_make(ids[0], ids[1], ids[2], s->graph_id, 0);
    return QN_OK;
}
