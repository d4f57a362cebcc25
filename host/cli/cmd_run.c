/* cmd_run.c — quoin run: a prompt in, text out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text_buffer.h"
#include "cli/constrain_options.h"
#include "cli/engine_options.h"
#include "cli/events_options.h"
#include "cli/govern_options.h"
#include "cli/graph_options.h"
#include "cli/prompt_input.h"
#include "cli/prove_options.h"
#include "cli/sentinel_options.h"
#include "decode/generate.h"
#include "decode/prompt_lookup.h"

#define DEFAULT_BUDGET 256u
#define DEFAULT_DEADLINE 30.0
#define MAX_CONTEXT_TOKENS (1u << 24)
#define MAX_CITED 256u /* facts that one record names */

static struct {
    prompt_options prompt;
    uint32_t budget, logprobs, drafts;
    double deadline;
    bool has_deadline, has_budget;
    constrain_options constrain;
    engine_options engine;
    sampling_options sampling;
    graph_options graph;
    sentinel_options sentinel;
    events_options events;
    prove_options prove;
    govern_options govern;
} settings;

static const option *run_options(void) {
    static option table[PROMPT_OPTION_ROWS + 4 + CONSTRAIN_OPTION_ROWS + ENGINE_OPTION_ROWS + SAMPLING_OPTION_ROWS + GRAPH_OPTION_ROWS +
                        SENTINEL_OPTION_ROWS + EVENTS_OPTION_ROWS + PROVE_OPTION_ROWS + GOVERN_OPTION_ROWS + 1];
    settings.budget = DEFAULT_BUDGET;
    option *row = table;
    prompt_options_init(&settings.prompt, row);
    row += PROMPT_OPTION_ROWS;
    *row++ = (option){OPTION_UINT, "max-tokens", 'n', "N", "tokens to generate (default 256); 0 = only read the prompt",
                      &settings.budget, 0, MAX_CONTEXT_TOKENS, NULL, &settings.has_budget};
    *row++ = (option){OPTION_FLOAT, "deadline", 0, "S",
                      "stop after S seconds; 0 = never (default 30 unless output is a terminal)", &settings.deadline, 0,
                      1e9, NULL, &settings.has_deadline};
    *row++ = (option){OPTION_UINT, "logprobs", 0, "K", "with --json: the K most likely tokens at each step",
                      &settings.logprobs, 0, GENERATE_MAX_LOGPROBS, NULL, NULL};
    *row++ = (option){OPTION_UINT, "drafts", 0, "N",
                      "run up to N tokens ahead that followed the same words before; the answer is the same (default 0)",
                      &settings.drafts, 0, TOKEN_MAX_DRAFT, NULL, NULL};
    constrain_options_init(&settings.constrain, row);
    row += CONSTRAIN_OPTION_ROWS;
    engine_options_init(&settings.engine, row);
    row += ENGINE_OPTION_ROWS;
    sampling_options_init(&settings.sampling, row);
    row += SAMPLING_OPTION_ROWS;
    graph_options_init(&settings.graph, row);
    row += GRAPH_OPTION_ROWS;
    sentinel_options_init(&settings.sentinel, row);
    row += SENTINEL_OPTION_ROWS;
    events_options_init(&settings.events, row);
    row += EVENTS_OPTION_ROWS;
    prove_options_init(&settings.prove, row);
    row += PROVE_OPTION_ROWS;
    govern_options_init(&settings.govern, row);
    row += GOVERN_OPTION_ROWS;
    row->kind = OPTION_END;
    return table;
}

/* What a run has besides the engine. */
typedef struct run_parts {
    prompt_input input;
    prompt_facts facts;
    sentinel_run sentinel;
    run_events events;
} run_parts;

/* What a run collects for --json. */
typedef struct transcript {
    command_context *c;
    const tokenizer *tok;
    json_t *tokens, *logprobs;
    prompt_facts *facts;
    text_buffer text;
    run_constraint constraint;
    sentinel_run *sentinel;
    prove_recording record;
    bool is_closed; /* standard output does not take any more */
} transcript;

static json_t *make_logprobs(const generate_event *event) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < event->n_top; i++) {
        json_array_append_new(
            list, json_pack("{s:i, s:f}", "id", (int)event->top[i].id, "logprob", (double)event->top[i].value));
    }
    return list;
}

static bool on_token(void *ctx, const generate_event *event) {
    transcript *t = ctx;
    prove_recording_take(&t->record, event);
    if (!t->c->json) {
        t->is_closed = !command_write(event->text, event->text_bytes);
        return !t->is_closed && (t->facts->facts.n == 0 || text_buffer_append(&t->text, event->text, event->text_bytes));
    }
    if (event->id != TOKEN_NONE) {
        json_array_append_new(t->tokens, json_integer(event->id));
        if (t->logprobs != NULL) {
            json_array_append_new(t->logprobs, make_logprobs(event));
        }
    }
    return text_buffer_append(&t->text, event->text, event->text_bytes);
}

static json_t *make_timings(const engine *e, const generate_result *r) {
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "load_s", e->load_seconds, "prefill_s", r->prefill_seconds,
                     "decode_s", r->decode_seconds, "prefill_tokens_per_s",
                     r->prefill_seconds > 0 ? r->n_prompt / r->prefill_seconds : 0.0, "decode_tokens_per_s",
                     r->decode_seconds > 0 ? r->n_generated / r->decode_seconds : 0.0, "weight_check_s",
                     e->m->check_seconds);
}

static int print_result(command_context *c, const engine *e, const token_list *prompt, transcript *t,
                        const generate_result *r) {
    json_t *ids = json_array();
    for (size_t i = 0; i < prompt->count; i++) {
        json_array_append_new(ids, json_integer(prompt->ids[i]));
    }
    json_t *object = json_object();
    json_object_set_new(object, "prompt_tokens", ids);
    json_object_set(object, "tokens", t->tokens);
    json_object_set_new(object, "text", command_json_text(t->text.size > 0 ? t->text.text : "", t->text.size));
    json_object_set_new(object, "stop_reason", json_string(stop_reason_name(r->reason)));
    json_object_set_new(object, "stop_token", r->stop_token != TOKEN_NONE ? json_integer(r->stop_token) : json_null());
    json_object_set_new(object, "model",
                        json_pack("{s:s, s:s, s:s}", "path", e->m->file.path, "format", model_format_name(e->m->format),
                                  "architecture", e->m->arch->name));
    json_object_set_new(object, "backend", engine_describe_json(c, e));
    json_object_set_new(object, "timings", make_timings(e, r));
    if (t->record.is_on) {
        json_object_set_new(object, "generation", json_string(t->record.name));
    }
    if (t->logprobs != NULL) {
        json_object_set(object, "logprobs", t->logprobs);
    }
    run_constraint_add_json(&t->constraint, object);
    json_object_set_new(object, "sentinel", sentinel_run_json(t->sentinel));
    if (settings.drafts > 0) {
        json_object_set_new(object, "drafts", json_pack("{s:i, s:i}", "run", (int)r->n_drafted, "taken", (int)r->n_accepted));
    }
    if (prompt_facts_add_json(t->facts, t->text.size > 0 ? t->text.text : "", t->text.size, object, &c->err) < 0) {
        json_decref(object);
        return command_fail(c);
    }
    return command_print_json(c, object);
}

static void report_stop(const generate_result *r, bool is_default_deadline) {
    log_line(QN_LOG_INFO, "%s: %u prompt tokens in %.2f s (%.1f/s), %u tokens in %.2f s (%.1f/s)",
             stop_reason_name(r->reason), r->n_prompt, r->prefill_seconds,
             r->prefill_seconds > 0 ? r->n_prompt / r->prefill_seconds : 0.0, r->n_generated, r->decode_seconds,
             r->decode_seconds > 0 ? r->n_generated / r->decode_seconds : 0.0);
    if (settings.drafts > 0) {
        log_line(QN_LOG_INFO, "drafts: %u tokens were run ahead, %u of them taken", r->n_drafted, r->n_accepted);
    }
    if (r->reason == STOP_DEADLINE) {
        log_line(QN_LOG_INFO, "stopped by the %s deadline; --deadline S sets another, 0 none",
                 is_default_deadline ? "default" : "given");
    }
}

/* Status of a run that ended without an error of the engine. */
static int finish_run(command_context *c, const engine *e, const token_list *prompt, transcript *t,
                      const generate_result *r) {
    if (c->json) {
        const int status = print_result(c, e, prompt, t, r);
        if (status != EXIT_DONE) {
            return status;
        }
    } else if (!t->is_closed && r->n_generated > 0) {
        t->is_closed = !command_write("\n", 1);
    }
    if (t->is_closed) {
        log_line(QN_LOG_ERROR, "stopped after %u tokens: nobody takes the text", r->n_generated);
        return EXIT_IO;
    }
    if (!c->json) {
        prompt_facts_report(t->facts, t->text.size > 0 ? t->text.text : "", t->text.size);
    }
    sentinel_run_tell(t->sentinel);
    report_stop(r, !settings.has_deadline);
    return r->reason == STOP_CANCELLED ? EXIT_CANCELLED : run_constraint_report(&t->constraint, r, c->json);
}

static double choose_deadline(void) {
    return settings.has_deadline ? settings.deadline : command_output_is_terminal() ? 0.0 : DEFAULT_DEADLINE;
}

static qn_status record_answer(transcript *t, const prompt_input *input, const generate_result *result, error_context *err) {
    uint64_t cites[MAX_CITED];
    const uint32_t n = prompt_facts_cited(t->facts, t->text.size > 0 ? t->text.text : "", t->text.size, cites, MAX_CITED);
    return prove_recording_commit(&t->record, input, cites, n, result, err);
}

/* Whoever has a say or wants to know, then the generation. */
static qn_status ask_model(command_context *c, engine *e, run_parts *parts, sampler *chooser, transcript *t, generate_options *options,
                           generate_result *result) {
    const prompt_input *input = &parts->input;
    run_settings record;
    prove_collect_settings(e, &settings.engine, &settings.prompt, &chooser->options, input->preface.size > 0, settings.budget, &record);
    if (settings.prove.log != NULL) {
        QN_TRY(prove_collect_rules(&settings.constrain, &settings.sentinel, &record, &c->err), &c->err, "recording");
    }
    QN_TRY(prove_recording_begin(&t->record, &settings.prove, c, e, &record, &c->err), &c->err, "recording");
    QN_TRY(sentinel_run_begin(&settings.sentinel, &parts->sentinel, e->m->tok, &options->hooks, &c->err), &c->err, "preparing the rules");
    QN_TRY(run_constraint_open(&t->constraint, &settings.constrain, e->m->tok, settings.has_budget, options, &c->err), &c->err,
           "preparing the constraint");
    run_events_begin(&parts->events, (uint32_t)input->ids.count);
    const qn_status status = run_constraint_generate(&t->constraint, e->s, chooser, &input->ids, options, result, &c->err);
    run_events_end(&parts->events, result);
    sentinel_run_end(&parts->sentinel, result);
    return status < 0 ? status : record_answer(t, input, result, &c->err);
}

static int generate(command_context *c, engine *e, run_parts *parts) {
    const prompt_input *input = &parts->input;
    sampler chooser = {0};
    sampler_options sampling;
    const uint32_t n_tokens = tokenizer_size(e->m->tok);
    if (sampling_collect(&settings.sampling, n_tokens, &sampling, &c->err) < 0 ||
        sampler_create(&sampling, e->m->hparams.n_vocab, n_tokens, &chooser, &c->err) < 0) {
        return command_fail(c);
    }
    transcript t = {.c = c, .tok = e->m->tok, .facts = &parts->facts, .tokens = json_array(),
                    .logprobs = settings.logprobs > 0 ? json_array() : NULL, .sentinel = &parts->sentinel};
    generate_options options = {.max_tokens = settings.budget,
                                .deadline_ms = (uint64_t)(choose_deadline() * 1e3),
                                .n_logprobs = settings.logprobs,
                                .at_start = input->starts_text,
                                .hooks = {.drafts = settings.drafts > 0 ? &prompt_lookup : NULL},
                                .cancel = &c->services.cancel,
                                .on_token = on_token,
                                .ctx = &t,
                                .on_prefilled = run_events_prefilled,
                                .prefilled_ctx = &parts->events};
    options.n_stops = model_stop_ids(e->m, options.stops, GENERATE_MAX_STOPS);
    for (uint32_t i = 0; i < input->stops.count && options.n_stops < GENERATE_MAX_STOPS; i++) {
        options.stops[options.n_stops++] = input->stops.ids[i];
    }
    generate_result result = {.reason = STOP_ERROR};
    const qn_status status = ask_model(c, e, parts, &chooser, &t, &options, &result);
    const int exit_status = status < 0 ? command_fail(c) : finish_run(c, e, &input->ids, &t, &result);
    json_decref(t.tokens);
    json_decref(t.logprobs);
    sentinel_run_scrub(&parts->sentinel, &parts->events.early);
    scrub_memory(&parts->events.early, SCRUB_TEXT, t.text.text, t.text.capacity);
    scrub_memory(&parts->events.early, SCRUB_LOGITS, chooser.candidates, (size_t)chooser.n_vocab * sizeof *chooser.candidates);
    text_buffer_free(&t.text);
    run_constraint_close(&t.constraint);
    prove_recording_end(&t.record);
    sampler_destroy(&chooser);
    return exit_status;
}

/* What would be given in vain. */
static qn_status check_own_options(const command_context *c, error_context *err) {
    return settings.logprobs == 0 || c->json ? events_options_check(&settings.events, err)
                                             : FAIL(err, QN_BAD_INPUT, "--logprobs %u: they are printed with --json alone", settings.logprobs);
}

static int run_governed(command_context *c) {
    run_events events = {0};
    const govern_parts parts = {.options = &settings.govern, .prompt = &settings.prompt, .engine = &settings.engine,
                                .sampling = &settings.sampling, .constrain = &settings.constrain, .sentinel = &settings.sentinel, .budget = settings.budget,
                                .has_budget = settings.has_budget, .has_deadline = settings.has_deadline, .deadline = settings.deadline,
                                .graph = &settings.graph, .events_options = &settings.events, .events = &events, .drafts = settings.drafts > 0 ? &prompt_lookup : NULL};
    const char *alien = settings.logprobs > 0 ? "--logprobs" : settings.prove.log != NULL ? "--prove" : NULL;
    if (alien != NULL) {
        FAIL(&c->err, QN_BAD_INPUT, "%s does not go with --governed", alien);
    }
    settings.engine.max_outputs = settings.drafts + 1;
    if (alien != NULL || constrain_options_check(&settings.constrain, &c->err) < 0 || events_options_check(&settings.events, &c->err) < 0 ||
        (!settings.govern.explain && prompt_check_options(&settings.prompt, &c->err) < 0)) {
        command_fail(c);
        return EXIT_USAGE;
    }
    settings.engine.on_stage = run_events_stage;
    settings.engine.stage_ctx = &events;
    command_catch_signals(c);
    return govern_run(c, &parts);
}

/* From a prompt that was read to an exit status. */
static int run_prompt(command_context *c, run_parts *parts) {
    engine e;
    settings.engine.on_stage = run_events_stage;
    settings.engine.stage_ctx = &parts->events;
    if (engine_open(c, c->args.items[0], &settings.engine, &e) < 0) {
        return command_fail(c);
    }
    const qn_status encoded = prompt_facts_encode(&settings.graph, &settings.prompt, e.m, e.p->n_ctx, &parts->facts, &parts->input, &c->err);
    const int status = encoded < 0 ? command_fail(c) : generate(c, &e, parts);
    prompt_forget(&settings.prompt, &parts->events.early);
    run_events_evict(&parts->events, &e, &parts->input);
    return status;
}

/* Everything that can be refused before a model is opened. */
static qn_status open_parts(run_parts *parts, const char *model_path, error_context *err) {
    QN_TRY(prompt_load(&settings.prompt, &parts->input, err), err, "reading the prompt");
    QN_TRY(prompt_facts_load(&settings.graph, &settings.prompt, &parts->input, &parts->facts, err), err, "taking facts");
    QN_TRY(sentinel_run_open(&settings.sentinel, &parts->sentinel, err), err, "reading the rules");
    return run_events_open(&settings.events, model_path, &parts->events, err);
}

static int run(command_context *c) {
    run_parts parts = {.sentinel = {.shared = {.fd = -1}}};
    if (govern_check_options(&settings.govern, &c->err) < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    if (settings.govern.policy != NULL && c->args.n_items <= 1) {
        return run_governed(c);
    }
    if (c->args.n_items != 1) {
        FAIL(&c->err, QN_BAD_INPUT, "run needs one MODEL file; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    command_catch_signals(c);
    if (check_own_options(c, &c->err) < 0 || prompt_check_options(&settings.prompt, &c->err) < 0 || constrain_options_check(&settings.constrain, &c->err) < 0 ||
        graph_options_check(&settings.graph, &settings.prompt, &c->err) < 0 || prove_options_check(&settings.prove, &c->err) < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    settings.engine.max_outputs = settings.drafts + 1;
    const int status = open_parts(&parts, c->args.items[0], &c->err) < 0 ? command_fail(c) : run_prompt(c, &parts);
    sentinel_run_close(&parts.sentinel);
    run_events_close(&parts.events);
    prompt_facts_free(&parts.facts);
    prompt_free(&parts.input);
    return status;
}

const command command_run = {.name = "run",
                             .summary = "Continue a text with a model",
                             .synopsis = "MODEL --prompt TEXT [options]",
                             .example = "  quoin run smollm2.p64 --prompt 'The tide comes in' -n 64\n  quoin run "
                                        "model.gguf --chat --prompt 'Why is the sea salty?' --temp 0.7 --seed 1\n",
                             .options = run_options,
                             .run = run};
