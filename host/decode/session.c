/* session.c — steps. */
#include "decode/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "backends/crash_report.h"

static qn_status allocate_arrays(session *s, error_context *err) {
    const qn_limits *limits = &s->p->limits;
    s->history = calloc(s->p->n_ctx, sizeof *s->history);
    s->positions = calloc(limits->max_tokens, sizeof *s->positions);
    s->rows = calloc(limits->max_outputs, sizeof *s->rows);
    s->logits = calloc((size_t)limits->max_outputs * s->p->m->hparams.n_vocab, sizeof *s->logits);
    if (s->history == NULL || s->positions == NULL || s->rows == NULL || s->logits == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a session of %u positions", s->p->n_ctx);
    }
    return kv_cells_init(&s->kv, limits, s->p->dec->group_window, err);
}

qn_status session_create(plan *p, session **out_session, error_context *err) {
    session *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a session");
    }
    s->p = p;
    qn_status status = allocate_arrays(s, err);
    if (status == QN_OK) {
        qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
        const qn_plugin *plugin = p->on->plugin;
        s->sampling = QN_HAS(plugin, get_ext) ? plugin->get_ext(QN_EXT_DEVICE_SAMPLE) : NULL;
        status = plugin->session_new(p->prog, &s->handle, &plugin_error);
        if (status < 0) {
            status = plan_plugin_error(p, "session", status, &plugin_error, err);
        }
    }
    if (status < 0) {
        session_destroy(s);
        return status;
    }
    *out_session = s;
    return QN_OK;
}

void session_destroy(session *s) {
    if (s != NULL) {
        if (s->handle != NULL) {
            s->p->on->plugin->session_free(s->handle);
        }
        kv_cells_deinit(&s->kv);
        free(s->history);
        free(s->positions);
        free(s->rows);
        free(s->logits);
        free(s);
    }
}

static qn_status check_input(const session *s, const uint32_t *ids, uint32_t n, error_context *err) {
    const uint32_t n_vocab = s->p->m->hparams.n_vocab;
    if (s->failure < 0) {
        return FAIL(err, s->failure, "this session failed before and cannot go on");
    }
    if (n > s->p->n_ctx - s->kv.length) {
        return FAIL(
            err, QN_LIMIT,
            "%u tokens do not fit: %u of %u positions of the context are used; raise --ctx or shorten the prompt", n,
            s->kv.length, s->p->n_ctx);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] >= n_vocab) {
            return FAIL(err, QN_BAD_INPUT, "token id %u at index %u is outside the vocabulary of %u", ids[i], i,
                        n_vocab);
        }
    }
    return QN_OK;
}

bool session_want_top(session *s, uint32_t k, uint32_t n_columns) {
    const bool can = s->sampling != NULL && k <= s->sampling->max_k && k <= SESSION_MAX_TOP && k <= n_columns;
    s->top_wanted = can ? k : 0;
    s->top_columns = n_columns;
    return can;
}

/* A step whose logits stay on the device. */
static qn_status step_for_top(session *s, const qn_step *step, qn_error *plugin_error) {
    const qn_sample sample = {.size = sizeof sample, .buffer = s->p->dec->logits, .k = s->top_wanted, .n_columns = s->top_columns,
                              .ids = s->top_ids, .values = s->top_values};
    const qn_status status = s->sampling->step(s->handle, step, &sample, plugin_error);
    while (status >= 0 && s->n_top < s->top_wanted && s->top_ids[s->n_top] != UINT32_MAX) {
        s->n_top++;
    }
    return status;
}

/* The first step is where drivers make what they have put off; later ones are not looked at, for they are timed. */
static qn_status call_step(session *s, const qn_step *step, qn_error *plugin_error) {
    const backend *on = s->p->on;
    process_state before;
    const bool is_first = !s->was_run;
    if (is_first) {
        backend_guard_begin(on, &before);
    }
    crash_report_enter(on->spec.name, "step");
    const qn_status status = s->top_wanted > 0 && step->n_outputs == 1 ? step_for_top(s, step, plugin_error)
                                                                       : on->plugin->step(s->handle, step, plugin_error);
    crash_report_leave();
    if (is_first) {
        backend_guard_end(on, &before, "step");
        s->was_run = true;
    }
    return status;
}

/* One chunk: n <= max_tokens, n_rows <= min(n, max_outputs). */
static qn_status run_step(session *s, const uint32_t *ids, uint32_t n, uint32_t n_rows, error_context *err) {
    const decoder *d = s->p->dec;
    const uint32_t begin = s->kv.length;
    for (uint32_t i = 0; i < n; i++) {
        s->history[begin + i] = (int32_t)ids[i];
        s->positions[i] = (int32_t)(begin + i);
    }
    for (uint32_t i = 0; i < n_rows; i++) {
        s->rows[i] = (int32_t)(n - n_rows + i);
    }
    kv_cells_place(&s->kv, n);
    const uint64_t logits_bytes = (uint64_t)n_rows * s->p->m->hparams.n_vocab * sizeof(float);
    const qn_binding bindings[] = {{d->ids, 0, s->history + begin, (uint64_t)n * 4},
                                   {d->rows, 0, s->rows, (uint64_t)n_rows * 4},
                                   {d->logits, 0, s->logits, logits_bytes}};
    const qn_step step = {.size = sizeof step,
                          .n_tokens = n,
                          .n_outputs = n_rows,
                          .n_sequences = 1,
                          .positions = s->positions,
                          .placements = s->kv.placements,
                          .placement_stride = sizeof s->kv.placements[0],
                          .bindings = bindings,
                          .binding_stride = sizeof bindings[0],
                          .n_bindings = sizeof bindings / sizeof bindings[0]};
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    const bool wants_top = s->top_wanted > 0 && n_rows == 1;
    s->n_logits = 0;
    s->n_top = 0;
    const qn_status status = call_step(s, &step, &plugin_error);
    if (status < 0) {
        s->failure = status == QN_CANCELLED || status == QN_TIMEOUT ? QN_OK : status;
        return plan_plugin_error(s->p, "step", status, &plugin_error, err);
    }
    const qn_status intact = model_check_files(s->p->m, err);
    if (intact < 0) {
        s->failure = intact;
        return intact;
    }
    kv_cells_commit(&s->kv, n);
    s->n_logits = wants_top ? 0 : n_rows;
    return QN_OK;
}

qn_status session_append(session *s, const uint32_t *ids, uint32_t n, error_context *err) {
    QN_TRY(check_input(s, ids, n, err), err, "appending %u tokens", n);
    const uint32_t chunk = s->p->limits.max_tokens;
    for (uint32_t at = 0; at < n;) {
        const uint32_t now = n - at < chunk ? n - at : chunk;
        const bool is_last = at + now == n;
        QN_TRY(run_step(s, ids + at, now, is_last ? 1 : 0, err), err, "running tokens %u to %u", at, at + now - 1);
        at += now;
    }
    return QN_OK;
}

qn_status session_append_rows(session *s, const uint32_t *ids, uint32_t n, uint32_t n_rows, error_context *err) {
    if (n == 0 || n > s->p->limits.max_tokens || n_rows > n || n_rows > s->p->limits.max_outputs) {
        return FAIL(err, QN_BAD_ARG, "%u tokens with %u rows of logits: the plan allows %u and %u", n, n_rows,
                    s->p->limits.max_tokens, s->p->limits.max_outputs);
    }
    QN_TRY(check_input(s, ids, n, err), err, "appending %u tokens", n);
    return run_step(s, ids, n, n_rows, err);
}

uint32_t session_truncate(session *s, uint32_t length) {
    s->n_logits = 0;
    s->n_top = 0;
    return kv_cells_truncate(&s->kv, length);
}
