/* step_speed.c — appending by the clock. */
#include "bench/step_speed.h"

#include <stdlib.h>

#include "base/clock.h"
#include "text/tokenizer.h"

uint64_t step_speed_context(const step_speed_options *options) {
    uint64_t most = options->n_prompt;
    for (uint32_t i = 0; i < options->n_depths; i++) {
        const uint64_t filled = (uint64_t)(options->depths[i] > 0 ? options->depths[i] : 1) + options->n_decode;
        most = filled > most ? filled : most;
    }
    return most;
}

/* Ids that are legal and not all equal. */
static void fill_ids(uint32_t *ids, uint64_t n, uint32_t n_vocab) {
    uint32_t state = 1;
    for (uint64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        ids[i] = (state >> 8) % n_vocab;
    }
}

/* Appends ids[at..at + n), all at once or one by one, and adds the rate. */
static qn_status time_append(session *s, const uint32_t *ids, uint32_t n, uint32_t at_once, spread *out, error_context *err) {
    const double begin = clock_seconds();
    for (uint32_t at = 0; at < n; at += at_once) {
        QN_TRY(session_append(s, ids + at, at_once, err), err, "measuring");
    }
    spread_add(out, n / (clock_seconds() - begin));
    return QN_OK;
}

static qn_status measure_prompt(session *s, const uint32_t *ids, const step_speed_options *o, spread *out, error_context *err) {
    spread warm_up = {.n = 0};
    for (uint32_t i = 0; i <= o->repeats; i++) {
        session_truncate(s, 0);
        QN_TRY(time_append(s, ids, o->n_prompt, o->n_prompt, i == 0 ? &warm_up : out, err), err, "prefill");
    }
    return QN_OK;
}

/* Makes the session `depth` long. Layers with a window may have lost what is needed to go back: then it is filled anew. */
static qn_status fill_to(session *s, const uint32_t *ids, uint32_t depth, error_context *err) {
    const uint32_t have = session_truncate(s, depth);
    return have < depth ? session_append(s, ids + have, depth - have, err) : QN_OK;
}

static qn_status measure_decode(session *s, const uint32_t *ids, const step_speed_options *o, uint32_t depth, spread *out,
                                error_context *err) {
    spread warm_up = {.n = 0};
    for (uint32_t i = 0; i <= o->repeats; i++) {
        QN_TRY(fill_to(s, ids, depth > 0 ? depth : 1, err), err, "filling the context up to %u", depth);
        QN_TRY(time_append(s, ids, o->n_decode, 1, i == 0 ? &warm_up : out, err), err, "decoding at depth %u", depth);
    }
    return QN_OK;
}

static qn_status measure_all(session *s, const uint32_t *ids, const step_speed_options *o, step_speed *out, error_context *err) {
    const double begin = clock_seconds();
    QN_TRY(session_append(s, ids, 1, err), err, "the first token");
    out->first_token_seconds = clock_seconds() - begin;
    QN_TRY(measure_prompt(s, ids, o, &out->prompt, err), err, "measuring prompts");
    for (uint32_t i = 0; i < o->n_depths; i++) {
        QN_TRY(measure_decode(s, ids, o, o->depths[i], &out->decode[i], err), err, "measuring steps");
    }
    return QN_OK;
}

qn_status step_speed_measure(session *s, const step_speed_options *options, step_speed *out, error_context *err) {
    const uint64_t n_ids = step_speed_context(options);
    uint32_t *ids = malloc(n_ids * sizeof *ids);
    *out = (step_speed){.first_token_seconds = 0.0};
    if (ids == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for %llu ids", (unsigned long long)n_ids);
    }
    fill_ids(ids, n_ids, tokenizer_size(s->p->m->tok));
    const qn_status status = measure_all(s, ids, options, out, err);
    free(ids);
    return status;
}
