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
    s->row = malloc((size_t)s->n_tokens * sizeof *s->row);
    return s->row != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory for a sieve");
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
    if (status == QN_OK && (status = copy_stops(s, target, err)) < 0) {
        error_put_path(err, status, spec->path);
    }
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
    free(s->row);
    free(s);
}

void sieve_reset(sieve *s) {
    s->readings[0] = (sieve_reading){.margins = {INFINITY, INFINITY, INFINITY}};
    s->n_readings = 1;
    s->log_probability = 0;
    s->has_row = false;
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

/* Puts a token's logit back; true when it was not there yet. */
static bool put_back(sieve *s, float *logits, uint32_t n_tokens, uint32_t token) {
    if (token >= n_tokens || logits[token] > -INFINITY || s->row[token] == -INFINITY) {
        return false;
    }
    logits[token] = s->row[token];
    return true;
}

static uint32_t put_children(sieve *s, const term_trie *trie, uint32_t node, float *logits, uint32_t n_tokens) {
    uint32_t n = 0;
    for (uint32_t child = node + 1; child < trie->nodes[node].end; child = trie->nodes[child].end) {
        const uint32_t token = trie->nodes[child].token;
        if (!put_back(s, logits, n_tokens, token)) {
            continue;
        }
        n++;
        if (logits[token] > s->best) {
            s->second = s->best;
            s->best = logits[token];
            s->best_token = token;
        } else if (logits[token] > s->second) {
            s->second = logits[token];
        }
    }
    return n;
}

/* The reading's text may end here. */
static bool may_end(const sieve *s, const sieve_reading *r) {
    return r->slot == SIEVE_SLOTS || (r->slot == SIEVE_OBJECT && sieve_is_open_end(&s->tries[SIEVE_OBJECT], r->node));
}

static uint32_t put_reading(sieve *s, const sieve_reading *r, float *logits, uint32_t n_tokens) {
    uint32_t n = r->slot < SIEVE_SLOTS ? put_children(s, &s->tries[r->slot], r->node, logits, n_tokens) : 0;
    if (r->slot + 1 < SIEVE_SLOTS && sieve_is_open_end(&s->tries[r->slot], r->node)) {
        n += put_children(s, &s->tries[r->slot + 1], 0, logits, n_tokens);
    }
    for (uint32_t i = 0; may_end(s, r) && i < s->n_stops; i++) {
        n += put_back(s, logits, n_tokens, s->stops[i]);
        s->best_stop = s->row[s->stops[i]] > s->best_stop ? s->row[s->stops[i]] : s->best_stop;
    }
    return n;
}

static qn_status mask_logits(void *ctx, float *logits, uint32_t n_tokens, uint32_t *out_n_left, error_context *err) {
    sieve *s = ctx;
    (void)err;
    n_tokens = n_tokens < s->n_tokens ? n_tokens : s->n_tokens;
    *out_n_left = 0;
    memcpy(s->row, logits, (size_t)n_tokens * sizeof *logits);
    s->log_sum = sieve_log_sum(logits, n_tokens);
    s->best = s->second = s->best_stop = -INFINITY;
    s->best_token = TOKEN_NONE;
    s->has_row = true;
    for (uint32_t i = 0; i < n_tokens; i++) {
        logits[i] = -INFINITY;
    }
    for (uint32_t i = 0; i < s->n_readings; i++) {
        *out_n_left += put_reading(s, &s->readings[i], logits, n_tokens);
    }
    return QN_OK;
}

/* --------------------------------------------------------------------------------------------------------------- choices */

static void narrow(sieve_reading *r, uint32_t slot, double margin) {
    r->margins[slot] = margin < r->margins[slot] ? margin : r->margins[slot];
}

/* By how much the token is better than the best other one. */
static double find_margin(const sieve *s, uint32_t token) {
    const float other = token == s->best_token ? s->second : s->best;
    const float most = other > s->best_stop ? other : s->best_stop;
    return !s->has_row || most == -INFINITY ? INFINITY : (double)s->row[token] - (double)most;
}

static void leave_slot(const sieve *s, sieve_reading *r) {
    r->chosen[r->slot] = s->tries[r->slot].nodes[r->node].candidate;
    r->slot++;
    r->node = 0;
}

/* Adds the reading that stands at `node` of its slot now. */
static qn_status add_reading(sieve *s, sieve_reading r, uint32_t node, double margin, uint32_t *n, error_context *err) {
    const term_trie *trie = &s->tries[r.slot];
    if (*n == SIEVE_MAX_READINGS) {
        return FAIL(err, QN_LIMIT, "the text can be divided into terms in more than %u ways; give labels that differ from their begin on",
                    SIEVE_MAX_READINGS);
    }
    narrow(&r, r.slot, margin);
    r.node = node;
    if (trie->nodes[node].candidate != NO_CANDIDATE && !term_trie_has_children(trie, node)) {
        leave_slot(s, &r);
    }
    s->next[(*n)++] = r;
    return QN_OK;
}

/* What becomes of one reading: it goes on in its slot, and it begins the next one. */
static qn_status advance(sieve *s, const sieve_reading *r, uint32_t token, double margin, uint32_t *n, error_context *err) {
    const uint32_t on = r->slot < SIEVE_SLOTS ? term_trie_find(&s->tries[r->slot], r->node, token) : 0;
    qn_status status = on != 0 ? add_reading(s, *r, on, margin, n, err) : QN_OK;
    if (status < 0 || r->slot + 1 >= SIEVE_SLOTS || !sieve_is_open_end(&s->tries[r->slot], r->node)) {
        return status;
    }
    const uint32_t begun = term_trie_find(&s->tries[r->slot + 1], 0, token);
    if (begun == 0) {
        return QN_OK;
    }
    sieve_reading left = *r;
    narrow(&left, left.slot, margin);
    leave_slot(s, &left);
    return add_reading(s, left, begun, margin, n, err);
}

/* Nothing can follow, or nobody could say that the text ends here. */
static bool is_over(const sieve *s) {
    bool has_end = false, has_more = false;
    for (uint32_t i = 0; i < s->n_readings; i++) {
        has_end |= s->readings[i].slot == SIEVE_SLOTS;
        has_more |= s->readings[i].slot != SIEVE_SLOTS;
    }
    return has_end && (!has_more || s->n_stops == 0);
}

static qn_status accept_token(void *ctx, uint32_t id, bool *out_is_complete, error_context *err) {
    sieve *s = ctx;
    uint32_t n = 0;
    const double margin = id < s->n_tokens ? find_margin(s, id) : INFINITY;
    for (uint32_t i = 0; i < s->n_readings; i++) {
        QN_TRY(advance(s, &s->readings[i], id, margin, &n, err), err, "taking token %u", id);
    }
    if (n == 0) {
        return FAIL(err, QN_BAD_INPUT, "token %u may not come here: no candidate of the sieve goes on with it", id);
    }
    memcpy(s->readings, s->next, n * sizeof *s->next);
    s->n_readings = n;
    s->log_probability += s->has_row ? (double)s->row[id] - s->log_sum : 0;
    s->has_row = false;
    *out_is_complete = is_over(s);
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

/* The first reading, the one with the longest match, whose text may end here. */
static const sieve_reading *find_end(const sieve *s) {
    for (uint32_t i = 0; i < s->n_readings; i++) {
        if (may_end(s, &s->readings[i])) {
            return &s->readings[i];
        }
    }
    return NULL;
}

bool sieve_is_complete(const sieve *s) {
    return find_end(s) != NULL;
}

qn_status sieve_get_result(const sieve *s, sieve_result *out, error_context *err) {
    uint64_t ids[SIEVE_SLOTS];
    const sieve_reading *r = find_end(s);
    if (r == NULL) {
        return FAIL(err, QN_NOT_FOUND, "the sieve is not complete: it stopped within the %s", sieve_slot_name(s->readings[0].slot));
    }
    *out = (sieve_result){.graph = s->graph, .log_probability = s->log_probability};
    for (sieve_slot slot = 0; slot < SIEVE_SLOTS; slot++) {
        const uint32_t chosen = slot < r->slot ? r->chosen[slot] : s->tries[slot].nodes[r->node].candidate;
        const sieve_candidate *one = &s->candidates[slot].items[chosen];
        ids[slot] = one->id;
        out->terms[slot] = one->term;
        out->labels[slot] = one->label;
        out->margins[slot] = r->margins[slot];
    }
    if (s->has_row && s->best > -INFINITY) { /* a stop token ended it, where it could have gone on */
        const double margin = (double)s->best_stop - (double)s->best;
        out->margins[SIEVE_OBJECT] = margin < out->margins[SIEVE_OBJECT] ? margin : out->margins[SIEVE_OBJECT];
    }
    for (sieve_slot slot = 0; slot < SIEVE_SLOTS; slot++) {
        out->needs_review |= out->margins[slot] < s->review_below;
    }
    out->quin = q42_quin_make(ids[0], ids[1], ids[2], s->graph_id, 0);
    return QN_OK;
}
