/* events_options.c — lines of JSON, and forgetting. */
#include "cli/events_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

void events_options_init(events_options *o, option rows[EVENTS_OPTION_ROWS]) {
    *o = (events_options){.format = "none"};
    const option filled[EVENTS_OPTION_ROWS] = {
        {OPTION_STRING, "events", 0, "FORMAT", "what happens to the model, one JSON object a line on standard error: json or none",
         &o->format, 0, 0, "json|none", NULL},
        {OPTION_STRING, "events-file", 0, "FILE", "with --events json: into this file instead", &o->file, 0, 0, NULL, NULL}};
    memcpy(rows, filled, sizeof filled);
}

/* ---------------------------------------------------------------- lines */

static uint64_t clock_ns(void) {
    return (uint64_t)(clock_seconds() * 1e9);
}

/* Takes over the reference. */
static void write_line(run_events *events, const char *name, json_t *more) {
    if (events->out != NULL) {
        json_t *object = json_pack("{s:I, s:s}", "time_ns", (json_int_t)(clock_ns() - events->begin_ns), "event", name);
        json_object_update(object, more);
        char *line = json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
        if (line != NULL) {
            fprintf(events->out, "%s\n", line); /* its own lines, not the log's: --quiet does not silence what was asked for */
            fflush(events->out);
        }
        free(line);
        json_decref(object);
    }
    json_decref(more);
}

static json_t *describe_scrub(const scrub_report *report) {
    json_t *object = json_object();
    for (uint32_t i = 0; i < SCRUB_CLASSES; i++) {
        json_object_set_new(object, scrub_class_name(i), json_integer((json_int_t)report->bytes[i]));
    }
    json_object_set_new(object, "total", json_integer((json_int_t)scrub_total(report)));
    json_object_set_new(object, "is_partial", json_boolean(report->is_partial));
    json_object_set_new(object, "missing", json_string(report->missing));
    return object;
}

static void on_change(void *ctx, const residency_change *change) {
    run_events *events = ctx;
    json_t *more = json_pack("{s:s, s:s, s:s, s:I, s:i}", "from", residency_state_name(change->from), "to",
                             residency_state_name(change->to), "by", residency_event_name(change->event), "bytes",
                             (json_int_t)change->bytes, "sessions", (int)change->n_sessions);
    if (change->error != NULL) {
        json_object_set_new(more, "error", json_string(change->error));
    }
    if (change->scrubbed != NULL) {
        json_object_set_new(more, "scrubbed", describe_scrub(change->scrubbed));
    }
    write_line(events, "state", more);
}

/* ---------------------------------------------------------------- opening */

qn_status events_options_check(const events_options *o, error_context *err) {
    return o->file == NULL || strcmp(o->format, "json") == 0
               ? QN_OK
               : FAIL(err, QN_BAD_INPUT, "--events-file %s: nothing is written without --events json", o->file);
}

static qn_status open_file(const events_options *o, run_events *events, error_context *err) {
    if (strcmp(o->format, "json") != 0) {
        return QN_OK;
    }
    events->out = o->file != NULL ? fopen(o->file, "we") : stderr;
    events->owns_out = o->file != NULL;
    return events->out != NULL ? QN_OK : error_from_errno(err, errno, o->file, "cannot write the events");
}

qn_status run_events_open(const events_options *o, const char *model_path, run_events *events, error_context *err) {
    struct timespec now;
    const residency_options options = {.on_change = on_change, .ctx = events};
    memset(events, 0, sizeof *events);
    events->begin_ns = clock_ns();
    QN_TRY(open_file(o, events, err), err, "--events");
    QN_TRY(residency_create(&options, &events->model, err), err, "--events");
    clock_gettime(CLOCK_REALTIME, &now);
    write_line(events, "begin", json_pack("{s:I, s:o}", "unix_ms", (json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, "model",
                                          command_json_text(model_path, strlen(model_path))));
    return QN_OK;
}

/* ---------------------------------------------------------------- states */

static uint64_t resident_bytes(const engine *e) {
    const qn_memory_plan *memory = &e->p->memory;
    uint64_t bytes = memory->borrowed_bytes;
    for (uint32_t i = 0; i < QN_MEM_KINDS; i++) {
        bytes += memory->host_bytes[i] + memory->device_bytes[i];
    }
    return bytes;
}

void run_events_stage(void *ctx, engine_stage stage, const engine *e, const char *error) {
    run_events *events = ctx;
    const residency_state now = residency_look(events->model).state;
    if (stage == ENGINE_MAPPED) {
        events->identity = model_identity_of(&e->m->file, NULL);
        residency_load(events->model, &events->identity, e->m->file.span.size, NULL, NULL);
    } else if (stage == ENGINE_PREPARING && now == RESIDENCY_MAPPED) { /* with auto, each backend that is tried comes by */
        residency_validated(events->model, NULL);
    } else if (stage == ENGINE_READY) {
        residency_ready(events->model, resident_bytes(e), NULL);
    } else if (stage == ENGINE_FAILED && now != RESIDENCY_DISCOVERED) {
        residency_fail(events->model, error, NULL);
    } else if (stage == ENGINE_FAILED) { /* the file never was a model: there is no state to leave */
        write_line(events, "refused", json_pack("{s:o}", "error", command_json_text(error, strlen(error))));
    }
}

void run_events_begin(run_events *events, uint32_t n_prompt) {
    events->has_session = residency_begin(events->model, &events->identity, NULL) == QN_OK;
    write_line(events, "prefill_begin", json_pack("{s:i}", "tokens", (int)n_prompt));
}

void run_events_prefilled(void *ctx, uint32_t n_prompt) {
    write_line(ctx, "prefill_end", json_pack("{s:i}", "tokens", (int)n_prompt));
    write_line(ctx, "decode_begin", json_object());
}

void run_events_end(run_events *events, const generate_result *result) {
    write_line(events, "decode_end",
               json_pack("{s:i, s:s, s:f, s:f}", "tokens", (int)result->n_generated, "stop_reason", stop_reason_name(result->reason),
                         "prefill_s", result->prefill_seconds, "decode_s", result->decode_seconds));
    if (events->has_session) {
        residency_end(events->model, NULL);
    }
    events->has_session = false;
}

/* ---------------------------------------------------------------- the end */

static void scrub_run(void *ctx, scrub_report *report) {
    run_events *events = ctx;
    *report = events->early;
    scrub_memory(report, SCRUB_TOKENS, events->input->ids.ids, events->input->ids.capacity * sizeof *events->input->ids.ids);
    if (events->input->text != NULL) {
        scrub_memory(report, SCRUB_TEXT, events->input->text, events->input->text_bytes);
    }
    engine_forget(events->e, report);
    engine_close(events->e);
}

void run_events_evict(run_events *events, engine *e, prompt_input *input) {
    const residency_eviction how = {.scrub = scrub_run, .ctx = events};
    events->e = e;
    events->input = input;
    const bool is_active = residency_look(events->model).state == RESIDENCY_ACTIVE; /* not when it never came that far */
    if (!is_active || residency_evict(events->model, &events->identity, &how, NULL, NULL) < 0) {
        scrub_report report;
        scrub_run(events, &report); /* whatever the account says: nothing is left */
    }
}

void run_events_close(run_events *events) {
    residency_destroy(events->model);
    if (events->owns_out && events->out != NULL && fclose(events->out) != 0) {
        log_line(QN_LOG_ERROR, "the file of events could not be written to its end");
    }
    memset(events, 0, sizeof *events);
}
