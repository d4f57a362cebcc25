/* sentinel_options.c — rules from a file, memory for observers, and what came of both. */
#include "cli/sentinel_options.h"

#include <string.h>

#include "base/log.h"

void sentinel_options_init(sentinel_options *o, option rows[SENTINEL_OPTION_ROWS]) {
    *o = (sentinel_options){0};
    const option filled[SENTINEL_OPTION_ROWS] = {
        {OPTION_STRING, "sentinel", 0, "FILE", "rules over each token, from an INI file with a section for each", &o->rules, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "observe", 0, "PATH", "let quoin observe PATH, or another program, see each token and end the run", &o->observe, 0,
         0, NULL, NULL}};
    memcpy(rows, filled, sizeof filled);
}

qn_status sentinel_run_open(const sentinel_options *o, sentinel_run *run, error_context *err) {
    *run = (sentinel_run){.shared = {.fd = -1}};
    if (o->rules != NULL) {
        QN_TRY(sentinel_settings_read(o->rules, &run->settings, err), err, "--sentinel");
    }
    if (o->observe != NULL) {
        QN_TRY(shared_streams_publish(o->observe, &run->shared, &run->streams, err), err, "--observe");
        run->is_watched = true;
    }
    return QN_OK;
}

qn_status sentinel_run_begin(const sentinel_options *o, sentinel_run *run, const tokenizer *tok, token_hooks *hooks, error_context *err) {
    if (o->rules == NULL && o->observe == NULL) {
        return QN_OK;
    }
    qn_status status = sentinel_create(&run->settings, tok, &run->judge, err);
    if (status < 0) {
        return o->rules != NULL ? error_put_path(err, status, o->rules) : status;
    }
    sentinel_watch(run->judge, run->is_watched ? &run->streams : NULL);
    hooks->judge = sentinel_judge(run->judge);
    return QN_OK;
}

void sentinel_run_end(sentinel_run *run, const generate_result *result) {
    if (run->judge != NULL) {
        sentinel_end(run->judge, result->n_generated, result->reason);
    }
}

void sentinel_run_tell(const sentinel_run *run) {
    char text[128];
    if (run->judge == NULL) {
        return;
    }
    const sentinel_report *report = sentinel_get_report(run->judge);
    if (report->is_aborted) {
        sentinel_describe_abort(report, text, sizeof text);
        log_line(QN_LOG_WARN, "ended by %s", text);
    }
    for (uint32_t i = 0; i < SENTINEL_RULES; i++) {
        if (report->n_fired[i] > 0) {
            log_line(QN_LOG_INFO, "sentinel: rule %s (%s) fired %llu times", sentinel_rule_name(i),
                     sentinel_action_name(run->settings.actions[i]), (unsigned long long)report->n_fired[i]);
        }
    }
}

static json_t *describe_end(const sentinel_report *r) {
    if (!r->is_aborted) {
        return json_null();
    }
    if (r->is_by_observer) {
        return json_pack("{s:s, s:i, s:s, s:i}", "who", "observer", "pid", (int)r->pid, "reason", r->reason, "step", (int)r->step);
    }
    return json_pack("{s:s, s:s, s:b, s:i, s:i}", "who", "rule", "rule", sentinel_rule_name(r->rule), "exhausted", (int)r->is_exhausted,
                     "step", (int)r->step, "token", (int)r->token);
}

json_t *sentinel_run_json(const sentinel_run *run) {
    if (run->judge == NULL) {
        return NULL;
    }
    const sentinel_report *r = sentinel_get_report(run->judge);
    json_t *fired = json_object();
    for (uint32_t i = 0; i < SENTINEL_RULES; i++) {
        if (run->settings.is_on[i]) {
            json_object_set_new(fired, sentinel_rule_name(i), json_integer((json_int_t)r->n_fired[i]));
        }
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:o}", "fired", fired, "resampled", (json_int_t)r->n_resampled, "records",
                     (json_int_t)r->n_records, "dropped", (json_int_t)r->n_dropped, "ended_by", describe_end(r));
}

void sentinel_run_scrub(sentinel_run *run, scrub_report *report) {
    if (run->judge != NULL) {
        report->bytes[SCRUB_RULES] += sentinel_scrub(run->judge);
    }
}

void sentinel_run_close(sentinel_run *run) {
    if (run->is_watched && !run->streams.is_ended) {
        run_streams_end(&run->streams, 0, STOP_ERROR);
    }
    sentinel_destroy(run->judge);
    sentinel_settings_free(&run->settings);
    shared_streams_close(&run->shared);
    *run = (sentinel_run){.shared = {.fd = -1}};
}
