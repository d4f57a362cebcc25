/* engine_options.c — opening model, backend, plan and session in order, and saying so. */
#include "cli/engine_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/adapter_options.h"
#include "cli/kept_panels.h"
#include "decode/session_scrub.h"
#include "decode/workload.h"

#define DEFAULT_CTX 4096u
#define MAX_CTX (1u << 24)

void engine_options_init(engine_options *e, option rows[ENGINE_OPTION_ROWS]) {
    *e = (engine_options){.numeric = "auto", .kv = "auto", .integrity = "full"};
    const option filled[ENGINE_OPTION_ROWS] = {
        {OPTION_UINT, "ctx", 'c', "N", "positions of the context (default: the model's, at most 4096)", &e->n_ctx, 1,
         MAX_CTX, NULL, NULL},
        {OPTION_STRING, "numeric", 0, "CLASS", "auto, f32acc (exact products) or act8 (8-bit activations)", &e->numeric,
         0, 0, "auto|f32acc|act8", NULL},
        {OPTION_STRING, "kv", 0, "TYPE", "KV cache: auto, f16, bf16, f32 or q8", &e->kv, 0, 0, "auto|f16|bf16|f32|q8", NULL},
        {OPTION_STRING, "companion", 0, "FILE", "companion volume of a P64 (default: beside it, NAME.q42 for NAME.p64)",
         &e->companion, 0, 0, NULL, NULL},
        {OPTION_STRING, "assume", 0, "ARCH", "run a P64 without companion volume as this architecture (llama)",
         &e->assume, 0, 0, NULL, NULL},
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standards", &e->strict, 0, 0, NULL, NULL},
        {OPTION_FLAG, "no-weight-check", 0, NULL, "do not look for NaN and infinity in the weights",
         &e->no_weight_check, 0, 0, NULL, NULL},
        {OPTION_STRING, "integrity", 0, "MODE", "full: all checksums at load; lazy: before the first use of each blob",
         &e->integrity, 0, 0, "full|lazy", NULL},
        {OPTION_FLAG, "keep-panels", 0, NULL, "keep the weights as the cpu backend wants them in the cache folder: no packing at the next start",
         &e->keep_panels, 0, 0, NULL, NULL},
        {OPTION_UINT, "chunk", 0, "N", "tokens of one prefill step (default 512)", &e->chunk, 1, 65536, NULL, NULL},
        {OPTION_STRING, "layers-on", 0, "SPEC=N", "the first N layers on this backend, the rest on --backend or cpu",
         &e->layers_on, 0, 0, NULL, NULL},
        {OPTION_LIST, "adapter", 0, "FILE[=SCALE]", "change the model by this LoRA adapter, SCALE times as much; repeatable",
         &e->adapters, 0, 0, NULL, NULL}};
    memcpy(rows, filled, sizeof filled);
}

static void print_note(void *ctx, const fmt_diag *note) {
    const char *path = ctx;
    log_line(QN_LOG_INFO, "note: %s: byte %llu: %s (rule %s)", path, (unsigned long long)note->offset, note->text,
             note->rule);
}

static uint32_t choose_ctx(const model *m, uint32_t asked, bool is_told) {
    const uint32_t trained = m->hparams.n_ctx_train;
    if (asked > 0) {
        if (is_told && trained > 0 && asked > trained) {
            log_line(QN_LOG_WARN, "--ctx %u is more than the %u positions that the model was trained for", asked,
                     trained);
        }
        return asked;
    }
    return trained > 0 && trained < DEFAULT_CTX ? trained : DEFAULT_CTX;
}

static plan_options make_plan_options(const engine *made, const engine_options *e, bool is_told) {
    const model *m = made->m;
    const bool is_exact = strcmp(e->numeric, "f32acc") == 0;
    plan_options p = {.n_ctx = choose_ctx(m, e->n_ctx, is_told), .max_chunk = e->chunk, .max_outputs = e->max_outputs};
    p.deltas = made->adapters.deltas;
    p.n_deltas = made->adapters.n_deltas;
    p.numeric = is_exact ? QN_NUMERIC_F32ACC : strcmp(e->numeric, "act8") == 0 ? QN_NUMERIC_ACT8 : 0;
    /* Whoever asks for exact products does not want them rounded on the way through the cache. */
    const bool wants_f32 = strcmp(e->kv, "f32") == 0 || (is_exact && strcmp(e->kv, "auto") == 0);
    p.state_format = wants_f32 ? QN_FORMAT_F32
                   : strcmp(e->kv, "bf16") == 0 ? QN_FORMAT_BF16
                   : strcmp(e->kv, "q8") == 0 ? QN_FORMAT_Q8_0 : QN_FORMAT_F16;
    return p;
}

/* Before the memory is taken: whoever waits for a model that is too large knows why. */
static void print_memory(void *ctx, const plan *p) {
    const double mib = 1048576.0;
    const qn_memory_plan *memory = &p->memory;
    double device = 0.0;
    for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
        device += (double)memory->device_bytes[kind] / mib;
    }
    (void)ctx;
    log_line(QN_LOG_INFO,
             "memory: weights %.1f MiB mapped, %.1f MiB packed; KV cache %.1f MiB for %u positions; scratch %.1f MiB",
             (double)memory->borrowed_bytes / mib, (double)memory->host_bytes[QN_MEM_WEIGHTS] / mib,
             (double)memory->host_bytes[QN_MEM_STATE] / mib, p->n_ctx, (double)memory->host_bytes[QN_MEM_SCRATCH] / mib);
    if (device > 0.0) {
        log_line(QN_LOG_INFO, "memory: %.1f MiB on the device", device);
    }
}

static void print_summary(const command_context *c, const engine *e) {
    const qn_memory_plan *memory = &e->p->memory;
    log_line(QN_LOG_INFO, "using %s %s abi %d.%d | %s | %s | %u threads | %s | %u ops, 0 elsewhere", c->on.spec.name,
             c->on.version, QN_ABI_MAJOR, QN_ABI_MINOR, c->on.info.name, c->on.info.driver, team_size(c->workers),
             plan_numeric_name(memory->numeric), e->p->dec->program->n_ops);
    if (e->p->n_emulated > 0) {
        log_line(QN_LOG_WARN, "%u of %u ops are run in a slow way by this backend", e->p->n_emulated,
                 e->p->dec->program->n_ops);
    }
}

static qn_status open_model(command_context *c, const char *path, const engine_options *options,
                            command_progress *progress, model **out) {
    const bool is_lazy = strcmp(options->integrity, "lazy") == 0;
    const model_options settings = {.mode = options->strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                    .skip_integrity = is_lazy || options->keep_panels,
                                    .skip_weight_check = options->no_weight_check,
                                    .progress = command_show_progress,
                                    .progress_ctx = progress,
                                    .companion = options->companion,
                                    .assume = options->assume,
                                    .note = print_note,
                                    .note_ctx = (void *)(uintptr_t)path};
    const qn_status status = model_open(path, &settings, c->workers, out, &c->err);
    return status < 0 || !options->keep_panels ? status : kept_panels_use(c, *out, &settings, is_lazy, &c->err);
}

static void tell_stage(const engine_options *o, engine_stage stage, const engine *e, const char *error) {
    if (o->on_stage != NULL) {
        o->on_stage(o->stage_ctx, stage, e, error);
    }
}

/* What the two callbacks of the choice need. */
typedef struct opening {
    command_context *c;
    const engine_options *options;
    command_progress *progress;
    engine *e;
} opening;

static qn_status measure_model(void *ctx, workload *out, error_context *err) {
    const opening *o = ctx;
    const plan_options settings = make_plan_options(o->e, o->options, false);
    const decoder_options build = {.state_format = settings.state_format,
                                   .n_ctx = settings.n_ctx,
                                   .deltas = settings.deltas,
                                   .n_deltas = settings.n_deltas};
    return workload_measure(o->e->m, &build, out, err);
}

/* A backend is chosen when it can hold the model. */
static qn_status prepare_model(void *ctx, const backend *on, error_context *err) {
    const opening *o = ctx;
    const bool is_lazy = strcmp(o->options->integrity, "lazy") == 0;
    plan_options settings = make_plan_options(o->e, o->options, true);
    settings.check_with = is_lazy ? o->c->workers : NULL;
    settings.check_values = !o->options->no_weight_check;
    settings.progress = command_show_progress;
    settings.progress_ctx = o->progress;
    settings.on_memory = print_memory;
    tell_stage(o->options, ENGINE_PREPARING, o->e, NULL);
    const double begin = clock_seconds();
    QN_TRY(plan_create(o->e->m, on, &settings, &o->e->p, err), err, "preparing the model for backend %s", on->spec.name);
    const qn_status status = session_create(o->e->p, &o->e->s, err);
    if (status < 0) { /* the backend is closed next, and nothing of it may be left */
        plan_destroy(o->e->p);
        o->e->p = NULL;
    }
    o->e->bind_seconds = clock_seconds() - begin;
    return status;
}

static qn_status open_parts(command_context *c, const char *path, const engine_options *options,
                            command_progress *progress, engine *e) {
    opening o = {c, options, progress, e};
    QN_TRY(command_start_team(c), &c->err, "starting");
    const double begin = clock_seconds();
    QN_TRY(open_model(c, path, options, progress, &e->m), &c->err, "opening the model");
    e->open_seconds = clock_seconds() - begin;
    tell_stage(options, ENGINE_MAPPED, e, NULL);
    QN_TRY(adapter_options_open(&options->adapters, e->m, options->strict, &e->adapters, &c->err), &c->err, "opening the adapters");
    return command_choose_backend(c, options->layers_on, measure_model, prepare_model, &o);
}

qn_status engine_open(command_context *c, const char *path, const engine_options *options, engine *out) {
    const double begin = clock_seconds();
    memset(out, 0, sizeof *out);
    command_progress progress;
    command_begin_progress(&progress, c, "checking");
    const qn_status status = open_parts(c, path, options, &progress, out);
    command_end_progress(&progress);
    if (status < 0) {
        engine_close(out);
        tell_stage(options, ENGINE_FAILED, out, error_text(&c->err));
        return status;
    }
    tell_stage(options, ENGINE_READY, out, NULL);
    out->load_seconds = clock_seconds() - begin;
    print_summary(c, out);
    return QN_OK;
}

void engine_forget(engine *e, scrub_report *report) {
    if (e->s != NULL) {
        session_scrub(e->s, report);
    }
    report->bytes[SCRUB_ADAPTER] += adapter_set_scrub(&e->adapters); /* no step follows that would read them */
    if (report->is_partial && !e->is_forgotten) {
        log_line(QN_LOG_WARN, "not everything could be overwritten: %s", report->missing);
    }
    e->is_forgotten = true;
}

void engine_close(engine *e) {
    scrub_report report = {0};
    if (!e->is_forgotten) {
        engine_forget(e, &report);
    }
    session_destroy(e->s);
    plan_destroy(e->p);
    adapter_set_close(&e->adapters);
    model_close(e->m);
    memset(e, 0, sizeof *e);
}

json_t *engine_describe_json(const command_context *c, const engine *e) {
    json_t *object = json_object();
    json_object_set_new(object, "name", json_string(c->on.spec.name));
    json_object_set_new(object, "version", json_string(c->on.version));
    json_object_set_new(object, "device", json_string(c->on.info.name));
    json_object_set_new(object, "driver", json_string(c->on.info.driver));
    json_object_set_new(object, "numeric", json_string(plan_numeric_name(e->p->memory.numeric)));
    json_object_set_new(object, "threads", json_integer(team_size(c->workers)));
    if (e->adapters.n_uses > 0) {
        json_object_set_new(object, "adapters", adapter_set_json(&e->adapters));
    }
    return object;
}

void sampling_options_init(sampling_options *s, option rows[SAMPLING_OPTION_ROWS]) {
    *s = (sampling_options){.temperature = 0.0, .top_p = 1.0, .repeat_penalty = 1.0, .repeat_last = 64};
    const option filled[SAMPLING_OPTION_ROWS] = {
        {OPTION_FLOAT, "temp", 0, "T", "temperature; 0 = always the most likely token (default)", &s->temperature, 0,
         100, NULL, NULL},
        {OPTION_UINT, "top-k", 0, "K", "only the K most likely tokens; 0 = all", &s->top_k, 0, UINT32_MAX, NULL, NULL},
        {OPTION_FLOAT, "top-p", 0, "P", "only the most likely tokens that together have P; 1 = all", &s->top_p, 0, 1,
         NULL, NULL},
        {OPTION_FLOAT, "min-p", 0, "P", "only tokens at least P times as likely as the best", &s->min_p, 0, 1, NULL,
         NULL},
        {OPTION_FLOAT, "repeat-penalty", 0, "R", "divide the logits of recent tokens by R; 1 = off", &s->repeat_penalty,
         1e-3, 100, NULL, NULL},
        {OPTION_UINT, "repeat-last", 0, "N", "how many tokens count as recent", &s->repeat_last, 1, 65536, NULL, NULL},
        {OPTION_UINT64, "seed", 0, "N", "seed of the random choice (default: from the clock, printed)", &s->seed, 0, 0,
         NULL, &s->has_seed},
        {OPTION_LIST, "logit-bias", 0, "ID:V", "add V to the logit of token ID; repeatable", &s->biases, 0, 0, NULL,
         NULL}};
    memcpy(rows, filled, sizeof filled);
}

static qn_status parse_bias(const char *text, uint32_t *out_id, float *out_value, error_context *err) {
    const char *colon = strchr(text, ':');
    double value = 0.0;
    uint32_t id = 0;
    char id_text[16];
    const option id_row = {OPTION_UINT, "logit-bias", 0, NULL, NULL, &id, 0, UINT32_MAX, NULL, NULL};
    const option value_row = {OPTION_FLOAT, "logit-bias", 0, NULL, NULL, &value, -1e30, 1e30, NULL, NULL};
    if (colon == NULL || colon == text || (size_t)(colon - text) >= sizeof id_text) {
        return FAIL(err, QN_BAD_INPUT, "--logit-bias %s: must be ID:VALUE", text);
    }
    snprintf(id_text, sizeof id_text, "%.*s", (int)(colon - text), text);
    QN_TRY(option_set(&id_row, id_text, "--", err), err, "reading --logit-bias");
    if (strcmp(colon + 1, "-inf") == 0) {
        value = -INFINITY;
    } else {
        QN_TRY(option_set(&value_row, colon + 1, "--", err), err, "reading --logit-bias");
    }
    *out_id = id;
    *out_value = (float)value;
    return QN_OK;
}

qn_status sampling_collect(const sampling_options *s, uint32_t n_tokens, sampler_options *out, error_context *err) {
    *out = (sampler_options){.temperature = (float)s->temperature,
                             .top_k = s->top_k,
                             .top_p = (float)s->top_p,
                             .min_p = (float)s->min_p,
                             .repeat_penalty = (float)s->repeat_penalty,
                             .repeat_last = s->repeat_last,
                             .seed = s->seed};
    for (uint32_t i = 0; i < s->biases.n_items; i++) {
        QN_TRY(parse_bias(s->biases.items[i], &out->biases[i].id, &out->biases[i].value, err), err,
               "reading the options");
        if (out->biases[i].id >= n_tokens) {
            return FAIL(err, QN_BAD_INPUT, "--logit-bias %s: the vocabulary has %u tokens", s->biases.items[i],
                        n_tokens);
        }
        out->n_biases = i + 1;
    }
    if (s->temperature > 0.0 && !s->has_seed) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        out->seed = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) &
                    0xFFFFFFFFu; /* short enough to type again */
        log_line(QN_LOG_INFO, "seed %llu", (unsigned long long)out->seed);
    }
    return QN_OK;
}
