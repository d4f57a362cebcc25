/* cmd_observe.c — quoin observe: looks over the shoulder of a run, and may end it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <quoin/glue.h>

#include "base/log.h"
#include "cli/command.h"
#include "decode/generate.h"
#include "sentinel/sentinel_settings.h"
#include "sentinel/shared_streams.h"

#define IDLE_NS 2000000L /* between two looks at an empty ring */
#define LINE_SIZE 512

static struct {
    option_list aborts;
    const char *reason;
} settings;

static const option *observe_options(void) {
    static option table[] = {
        {OPTION_LIST, "abort-on", 0, "WHAT",
         "ask for an end when a rule of this name fires, or at margin=X (below), entropy=X (above), token=ID, step=N", &settings.aborts, 0,
         0, NULL, NULL},
        {OPTION_STRING, "reason", 0, "TEXT", "what the run is told then; 19 characters (default: the condition)", &settings.reason, 0, 0,
         NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

/* ---------------------------------------------------------------- conditions */

typedef uint32_t condition_kind;
enum { ON_FLAG, ON_MARGIN, ON_ENTROPY, ON_TOKEN, ON_STEP };

typedef struct condition {
    condition_kind kind;
    uint16_t flag;
    double number;
    const char *text;
} condition;

static bool read_rule(const char *text, condition *out) {
    for (uint32_t i = 0; i < SENTINEL_RULES; i++) {
        if (strcmp(text, sentinel_rule_name(i)) == 0) {
            *out = (condition){.kind = ON_FLAG, .flag = (uint16_t)(QUOIN_RECORD_DENY << i), .text = text};
            return true;
        }
    }
    return false;
}

static qn_status read_condition(const char *text, condition *out, error_context *err) {
    static const char *const names[] = {[ON_MARGIN] = "margin=", [ON_ENTROPY] = "entropy=", [ON_TOKEN] = "token=", [ON_STEP] = "step="};
    if (read_rule(text, out)) {
        return QN_OK;
    }
    for (condition_kind kind = ON_MARGIN; kind <= ON_STEP; kind++) {
        const size_t n = strlen(names[kind]);
        if (strncmp(text, names[kind], n) == 0) {
            const option row = {OPTION_FLOAT, "abort-on", 0, NULL, NULL, &out->number, 0, UINT32_MAX, NULL, NULL};
            out->kind = kind;
            out->text = text;
            return option_set(&row, text + n, "--", err);
        }
    }
    return FAIL(err, QN_BAD_INPUT, "--abort-on %s: is neither a rule (deny, non-finite, margin, entropy, repetition, phrase, compat-0x99) nor "
                "margin=X, entropy=X, token=ID or step=N", text);
}

static bool is_met(const condition *c, const quoin_logit_record *r) {
    switch (c->kind) {
    case ON_FLAG:
        return (r->flags & c->flag) != 0;
    case ON_MARGIN:
        return (double)r->logit - (double)r->runner_up < c->number;
    case ON_ENTROPY:
        return (double)r->entropy > c->number;
    case ON_TOKEN:
        return (double)r->token == c->number;
    default:
        return (double)r->step >= c->number;
    }
}

/* ---------------------------------------------------------------- printing */

static void name_flags(uint16_t flags, char *text, size_t room) {
    static const char *const names[] = {"end", "resample", "abort", "observer"};
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t bit = 0; bit < 4 + SENTINEL_RULES && n < room; bit++) {
        if ((flags & 1u << bit) != 0) {
            n += (size_t)snprintf(text + n, room - n, "%s%s", n > 0 ? "," : "", bit < 4 ? names[bit] : sentinel_rule_name(bit - 4));
        }
    }
}

static bool print_json(const quoin_logit_record *r, const char *flags) {
    const bool is_end = (r->flags & QUOIN_RECORD_END) != 0;
    json_t *object = is_end ? json_pack("{s:i, s:s}", "step", (int)r->step, "end", stop_reason_name(r->token))
                            : json_pack("{s:i, s:i, s:f, s:f, s:f, s:s}", "step", (int)r->step, "token", (int)r->token, "logit",
                                        (double)r->logit, "runner_up", (double)r->runner_up, "entropy", (double)r->entropy, "flags", flags);
    char *line = json_dumps(object, JSON_COMPACT);
    const bool is_written = line != NULL && command_write(line, strlen(line)) && command_write("\n", 1);
    free(line);
    json_decref(object);
    return is_written;
}

static bool print_record(const command_context *c, const quoin_logit_record *r) {
    char flags[128], line[LINE_SIZE];
    name_flags(r->flags, flags, sizeof flags);
    if (c->json) {
        return print_json(r, flags);
    }
    const int n = (r->flags & QUOIN_RECORD_END) != 0
                      ? snprintf(line, sizeof line, "end after %u tokens: %s\n", r->step, stop_reason_name(r->token))
                      : snprintf(line, sizeof line, "%6u  token %6u  logit %9.4f  margin %8.4f  entropy %7.4f  %s\n", r->step, r->token,
                                 (double)r->logit, (double)r->logit - (double)r->runner_up, (double)r->entropy, flags);
    return command_write(line, (size_t)n);
}

/* ---------------------------------------------------------------- watching */

typedef struct watching {
    command_context *c;
    const char *path;
    observer_streams streams;
    condition conditions[OPTION_LIST_MAX];
    uint32_t n_conditions;
    bool has_aborted;
} watching;

static void judge_record(watching *w, const quoin_logit_record *r) {
    for (uint32_t i = 0; i < w->n_conditions && !w->has_aborted && (r->flags & QUOIN_RECORD_END) == 0; i++) {
        if (is_met(&w->conditions[i], r)) {
            w->has_aborted = observer_streams_abort(&w->streams, r->step, settings.reason != NULL ? settings.reason : w->conditions[i].text);
            log_line(QN_LOG_INFO, w->has_aborted ? "asked for an end at token %u: %s" : "token %u: %s, and the run takes no message",
                     r->step, w->conditions[i].text);
        }
    }
}

/* The link leads nowhere: whoever ran it was killed. */
static bool is_gone(const watching *w) {
    struct stat about;
    return stat(w->path, &about) != 0 && errno == ENOENT;
}

static int watch(watching *w) {
    const struct timespec pause = {0, IDLE_NS};
    bool was_gone = false;
    while (!w->streams.is_over) {
        quoin_logit_record record;
        if (qn_flag_is_up(&w->c->services.cancel)) {
            return EXIT_CANCELLED;
        }
        if (observer_streams_take(&w->streams, &record)) {
            judge_record(w, &record);
            if (!print_record(w->c, &record)) {
                return EXIT_IO;
            }
            continue;
        }
        if (was_gone) { /* and nothing came since */
            log_line(QN_LOG_ERROR, "%s: the run is gone without an end: it was killed", w->path);
            return EXIT_INCOMPLETE;
        }
        was_gone = is_gone(w);
        nanosleep(&pause, NULL);
    }
    if (observer_streams_dropped(&w->streams) > 0) {
        log_line(QN_LOG_WARN, "%llu records were not seen: the ring was full", (unsigned long long)observer_streams_dropped(&w->streams));
    }
    return EXIT_DONE;
}

static int run_observe(command_context *c) {
    watching w = {.c = c};
    shared_streams shared = {.fd = -1};
    qn_status status = c->args.n_items == 1 ? QN_OK : FAIL(&c->err, QN_BAD_INPUT, "observe needs one PATH, that of run --observe; %u were given",
                                                         c->args.n_items);
    for (uint32_t i = 0; i < settings.aborts.n_items && status == QN_OK; i++) {
        status = read_condition(settings.aborts.items[i], &w.conditions[w.n_conditions++], &c->err);
    }
    if (status < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    command_catch_signals(c);
    w.path = c->args.items[0];
    if (shared_streams_attach(w.path, &shared, &w.streams, &c->err) < 0) {
        return command_fail(c);
    }
    const int exit_status = watch(&w);
    shared_streams_close(&shared);
    return exit_status;
}

const command command_observe = {.name = "observe",
                                 .summary = "Watch each token of a run, and end it when a condition is met",
                                 .synopsis = "PATH [--abort-on WHAT]",
                                 .example = "  quoin run model.gguf --prompt 'The tide' --observe /tmp/tide &\n  quoin observe /tmp/tide "
                                            "--abort-on entropy=7\n",
                                 .options = observe_options,
                                 .run = run_observe,
                                 .is_without_backend = true};
