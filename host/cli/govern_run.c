/* govern_run.c — a policy and a command line become a request; the gates run; what came of it is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/govern_infer.h"
#include "cli/govern_options.h"
#include "cli/govern_text.h"

/* Everything of one run. */
typedef struct governed {
    policy rules;
    request r;
    request_scope scopes[2 * OPTION_LIST_MAX];
    char *names[2 * OPTION_LIST_MAX]; /* owned; the IRIs in front of = */
    tensor10d near;
    thermal_monitor heat;
    thermal_sensors *sensors;
    prompt_input input;
    govern_engine engine;
} governed;

/* ---------------------------------------------------------------- filling the request */

/* An IRI may hold =; a path that begins behind the last one is meant. */
static qn_status take_scope(governed *g, const char *text, error_context *err) {
    const char *equals = strrchr(text, '=');
    const size_t size = equals != NULL ? (size_t)(equals - text) : strlen(text);
    char *name = strndup(text, size);
    if (name == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a scope");
    }
    g->names[g->r.n_scopes] = name;
    g->scopes[g->r.n_scopes++] = (request_scope){.name = name, .path = equals != NULL ? equals + 1 : NULL};
    return QN_OK;
}

static qn_status take_scopes(governed *g, const option_list *given, error_context *err) {
    const policy_words *usual = &g->rules.is.request.scope;
    for (uint32_t i = 0; i < given->n_items; i++) {
        QN_TRY(take_scope(g, given->items[i], err), err, "reading --scope");
    }
    const uint32_t n_usual = g->r.n_scopes > 0 ? 0 : usual->n_items < OPTION_LIST_MAX ? usual->n_items : OPTION_LIST_MAX;
    for (uint32_t i = 0; i < n_usual; i++) {
        g->scopes[g->r.n_scopes++] = (request_scope){.name = usual->items[i]};
    }
    return QN_OK;
}

static bool is_same_file(const char *one, const char *other) {
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* --graph VOLUME is the scope that this file serves. One that serves none is asked for under its own name, which the policy does not have. */
static qn_status take_graph(governed *g, const char *path, error_context *err) {
    char room[POLICY_PATH_SIZE];
    request_scope *next = &g->scopes[g->r.n_scopes++];
    *next = (request_scope){.name = path, .path = path};
    for (uint32_t i = 0; i < g->rules.n_scopes; i++) {
        if (g->rules.scopes[i].volume != NULL) {
            QN_TRY(policy_resolve(&g->rules, g->rules.scopes[i].volume, room, err), err, "finding the scope of %s", path);
            next->name = is_same_file(room, path) ? g->rules.scopes[i].head.name : next->name;
        }
    }
    return QN_OK;
}

static qn_status take_graphs(governed *g, const option_list *given, error_context *err) {
    for (uint32_t i = 0; i < given->n_items; i++) {
        QN_TRY(take_graph(g, given->items[i], err), err, "reading --graph");
    }
    return QN_OK;
}

static void take_words(governed *g, const govern_parts *parts) {
    const govern_options *options = parts->options;
    const policy_values *is = &g->rules.is;
    request *r = &g->r;
    r->rules = &g->rules;
    r->intent = options->intent != NULL ? options->intent : is->request.intent;
    r->frame = options->frame != NULL ? options->frame : is->request.frame;
    r->profile = options->profile != NULL ? options->profile : is->request.profile;
    r->agent = is->agent.did;
    r->principal = is->agent.principal;
    r->namespaces = (const char *const *)is->request.namespaces.items;
    r->n_namespaces = is->request.namespaces.n_items;
    r->mode = strcmp(is->request.output, "n3") == 0 ? OUTPUT_N3 : strcmp(is->request.output, "graph") == 0 ? OUTPUT_GRAPH : OUTPUT_TEXT;
    r->mode = parts->constrain->sieve != NULL ? OUTPUT_GRAPH : r->mode;
    r->clearance = is->request.clearance;
    r->label = is->request.label;
    r->needs_network = is->request.network;
    r->scopes = g->scopes;
}

static qn_status resolve_unless_none(const policy *rules, const char *path, char room[POLICY_PATH_SIZE], error_context *err) {
    return strcmp(path, "none") == 0 ? (memcpy(room, "none", 5), QN_OK) : policy_resolve(rules, path, room, err);
}

static qn_status take_sensors(governed *g, error_context *err) {
    char hwmon[POLICY_PATH_SIZE], zones[POLICY_PATH_SIZE];
    QN_TRY(resolve_unless_none(&g->rules, g->rules.is.thermal.hwmon, hwmon, err), err, "looking for sensors");
    QN_TRY(resolve_unless_none(&g->rules, g->rules.is.thermal.zones, zones, err), err, "looking for sensors");
    g->sensors = thermal_sensors_open(hwmon, zones, g->rules.is.thermal.nvml, &g->rules.is.thermal.sensors);
    g->heat = (thermal_monitor){.read = thermal_sensors_read, .ctx = g->sensors, .warm = g->rules.is.thermal.warm,
                                .critical = g->rules.is.thermal.critical, .hysteresis = g->rules.is.thermal.hysteresis, .last_seconds = -1.0};
    g->r.world.heat = &g->heat;
    return QN_OK;
}

static qn_status take_point(governed *g, const char *near, error_context *err) {
    if (near != NULL) {
        QN_TRY(tensor10d_read(near, strlen(near), &g->near, err), err, "reading --near");
        g->r.near = &g->near;
    }
    return QN_OK;
}

/* The farther of the two: facts that were cited, and with --show-prompt all of them, go to standard error. */
static destination find_destination(void) {
    const destination out = destination_of_descriptor(STDOUT_FILENO), told = destination_of_descriptor(STDERR_FILENO);
    return out > told ? out : told;
}

static qn_status fill(command_context *c, const govern_parts *parts, governed *g, error_context *err) {
    request_init(&g->r);
    QN_TRY(policy_read(parts->options->policy, &g->rules, err), err, "reading the policy");
    take_words(g, parts);
    QN_TRY(take_graphs(g, &parts->graph->volumes, err), err, "reading --graph");
    QN_TRY(take_scopes(g, &parts->options->scopes, err), err, "reading --scope");
    g->r.n_facts_wanted = parts->prompt->tokens != NULL ? 0 : parts->graph->has_n_facts ? parts->graph->n_facts : g->rules.is.request.facts;
    QN_TRY(take_point(g, parts->graph->near, err), err, "reading --near");
    QN_TRY(take_sensors(g, err), err, "looking for sensors");
    if (!parts->options->explain) {
        QN_TRY(run_events_open(parts->events_options, c->args.n_items > 0 ? c->args.items[0] : "", parts->events, err), err, "--events");
        QN_TRY(prompt_load(parts->prompt, &g->input, err), err, "reading the prompt");
        g->r.prompt = (fmt_str){g->input.text != NULL ? g->input.text : parts->prompt->text, g->input.text_bytes};
    }
    g->engine = (govern_engine){.c = c, .parts = parts, .sentinel = {.shared = {.fd = -1}}, .model_path = c->args.n_items > 0 ? c->args.items[0] : NULL, .input = &g->input};
    g->r.is_dry = parts->options->explain;
    g->r.world.where = find_destination(); /* before a backend is loaded: standard output is another descriptor then */
    g->r.world.cancel = &c->services.cancel;
    g->r.world.infer = govern_infer;
    g->r.world.record = g->rules.is.provenance.record ? govern_add_record : NULL;
    g->r.model_path = g->engine.model_path;
    QN_TRY(command_start_team(c), err, "starting");
    g->r.world.workers = c->workers;
    g->r.world.ctx = &g->engine;
    return QN_OK;
}

/* ---------------------------------------------------------------- running */

static int print(command_context *c, const governed *g) {
    const request *r = &g->r;
    if (c->json) {
        const int printed = command_print_json(c, r->is_dry ? govern_text_describe_dry(r) : govern_text_describe(r));
        return printed != EXIT_DONE || r->is_dry ? printed : governed_exit_status(r->outcome);
    }
    if (!(r->is_dry ? govern_text_print_dry(r) : govern_text_print(r))) {
        return EXIT_IO;
    }
    return r->is_dry ? EXIT_DONE : governed_exit_status(r->outcome);
}

/* Whatever came of the run: what was asked and answered is overwritten. */
static void release(governed *g, const govern_parts *parts) {
    prompt_forget(parts->prompt, &parts->events->early);
    govern_engine_close(&g->engine);
    request_deinit(&g->r);
    thermal_sensors_close(g->sensors);
    prompt_free(&g->input);
    run_events_close(parts->events);
    for (size_t i = 0; i < sizeof g->names / sizeof g->names[0]; i++) {
        free(g->names[i]);
    }
    policy_free(&g->rules);
    scrub_free(g, sizeof *g);
}

int govern_run(command_context *c, const govern_parts *parts) {
    governed *g = calloc(1, sizeof *g);
    int status;
    if (g == NULL) {
        FAIL(&c->err, QN_NO_HOST_MEM, "out of memory for a request");
        return command_fail(c);
    }
    if (fill(c, parts, g, &c->err) < 0) {
        status = command_fail(c);
    } else {
        gates_run(&g->r);
        status = print(c, g);
    }
    release(g, parts);
    return status;
}
