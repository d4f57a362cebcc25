/* engine.c — the public API over the rooms of the host: it copies size-first structs in, translates errors out, and
 * nothing else. */
#include <quoin/engine.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "adapt/adapter_set.h"
#include "backends/choose.h"
#include "backends/host_services.h"
#include "backends/registry.h"
#include "base/machine.h"
#include "base/team.h"
#include "decode/generate.h"
#include "decode/sampler.h"
#include "decode/session.h"
#include "decode/session_scrub.h"
#include "model/model.h"

#define DEFAULT_CTX 4096u
#define DEFAULT_BUDGET 256u
#define MAX_ADAPTERS 64u

struct quoin_runtime {
    team *workers;
    registry backends;
    host_services services;
    backend on;
    atomic_uint n_working; /* calls that a cancel is meant for */
    char description[512];
};

struct quoin_model {
    quoin_runtime *runtime;
    model *m;
};

struct quoin_session {
    quoin_model *owner;
    adapter_set adapters;
    plan *p;
    session *s;
    bool scrubs; /* when it is destroyed */
};

/* Copies a caller's options into a zeroed struct of our size; null gives all defaults. */
static int32_t copy_options(void *own, uint32_t own_bytes, const void *theirs, error_context *err) {
    memset(own, 0, own_bytes);
    if (theirs == NULL) {
        return QN_OK;
    }
    const qn_status status = qn_copy_in(own, own_bytes, sizeof(uint32_t), theirs);
    return status == QN_OK ? QN_OK
                           : FAIL(err, status, "an option struct has a wrong size: set .size = sizeof the struct");
}

/* Gives the error to the caller, as much of it as their struct has room for. */
static int32_t give_error(const error_context *from, qn_status status, quoin_error *to) {
    if (status < 0 && to != NULL && to->size >= sizeof *to) {
        to->code = status;
        to->offset = from->offset;
        snprintf(to->rule, sizeof to->rule, "%s", from->rule != NULL ? from->rule : "");
        snprintf(to->text, sizeof to->text, "%s", error_text(from));
    }
    return status;
}

const char *quoin_version(void) {
    return QUOIN_VERSION;
}

static qn_status start_runtime(quoin_runtime *rt, const quoin_runtime_options *o, error_context *err) {
    qn_machine machine;
    bool was_named;
    const backend_request request = {.text = o->backend};
    const registry_options where = {.plugin_dirs = &o->plugin_dir, .n_plugin_dirs = o->plugin_dir != NULL};
    QN_TRY(machine_detect(&machine, err), err, "looking at the machine");
    QN_TRY(team_create(o->n_threads > 0 ? o->n_threads : machine.n_workers, &rt->workers, err), err,
           "starting threads");
    host_services_init(&rt->services, &machine, rt->workers);
    registry_discover(&where, &rt->backends);
    QN_TRY(backend_choose(&rt->backends, &rt->services, &request, &rt->on, &was_named, err), err,
           "choosing a backend");
    snprintf(rt->description, sizeof rt->description, "%s %s | %s | %s | %u threads", rt->on.spec.name, rt->on.version,
             rt->on.info.name, rt->on.info.driver, team_size(rt->workers));
    return QN_OK;
}

int32_t quoin_runtime_create(const quoin_runtime_options *options, quoin_runtime **out_runtime, quoin_error *err) {
    error_context inner = {0};
    quoin_runtime_options own;
    qn_status status = copy_options(&own, sizeof own, options, &inner);
    quoin_runtime *rt = status == QN_OK ? calloc(1, sizeof *rt) : NULL;
    if (status == QN_OK) {
        status = rt == NULL ? FAIL(&inner, QN_NO_HOST_MEM, "out of memory for a runtime")
                            : start_runtime(rt, &own, &inner);
    }
    if (status < 0) {
        quoin_runtime_destroy(rt);
        return give_error(&inner, status, err);
    }
    *out_runtime = rt;
    return QN_OK;
}

void quoin_runtime_destroy(quoin_runtime *runtime) {
    if (runtime != NULL) {
        backend_close(&runtime->on);
        team_destroy(runtime->workers);
        free(runtime);
    }
}

const char *quoin_runtime_describe(const quoin_runtime *runtime) {
    return runtime->description;
}

void quoin_cancel(quoin_runtime *runtime) {
    qn_flag_set(&runtime->services.cancel, true);
}

/* A cancel holds for all calls that run when it comes. It is taken back by the first call that finds no other running,
 * so that it neither outlives them nor is lost to one of them because another begins. */
static void begin_work(quoin_runtime *rt) {
    if (atomic_fetch_add(&rt->n_working, 1) == 0) {
        qn_flag_set(&rt->services.cancel, false);
    }
}

static void end_work(quoin_runtime *rt) {
    atomic_fetch_sub(&rt->n_working, 1);
}

int32_t quoin_model_open(quoin_runtime *runtime, const char *path, const quoin_model_options *options,
                         quoin_model **out_model, quoin_error *err) {
    error_context inner = {0};
    quoin_model_options own;
    qn_status status = copy_options(&own, sizeof own, options, &inner);
    quoin_model *opened = calloc(1, sizeof *opened);
    if (status == QN_OK && opened == NULL) {
        status = FAIL(&inner, QN_NO_HOST_MEM, "out of memory for a model");
    }
    if (status == QN_OK) {
        const model_options settings = {.mode = own.is_strict != 0 ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                        .skip_weight_check = own.skip_weight_check != 0, .assume = own.assume,
                                        .companion = own.companion};
        opened->runtime = runtime;
        status = model_open(path, &settings, runtime->workers, &opened->m, &inner);
    }
    if (status < 0) {
        free(opened);
        return give_error(&inner, status, err);
    }
    *out_model = opened;
    return QN_OK;
}

void quoin_model_close(quoin_model *closed) {
    if (closed != NULL) {
        model_close(closed->m);
        free(closed);
    }
}

const char *quoin_model_architecture(const quoin_model *of) {
    return of->m->arch->name;
}

uint32_t quoin_model_vocabulary_size(const quoin_model *of) {
    return tokenizer_size(of->m->tok);
}

int32_t quoin_tokenize(const quoin_model *of, const char *text, size_t text_bytes, int add_special, int parse_special,
                       uint32_t *ids, size_t room, size_t *out_count, quoin_error *err) {
    error_context inner = {0};
    token_list list = {0};
    const uint32_t flags = (add_special ? ENCODE_ADD_BOS : 0) | (parse_special ? ENCODE_SPECIAL : 0);
    const qn_status status = tokenizer_encode(of->m->tok, text, text_bytes, flags, &list, &inner);
    if (status == QN_OK) {
        memcpy(ids, list.ids, (list.count < room ? list.count : room) * sizeof *ids);
        *out_count = list.count;
    }
    token_list_free(&list);
    return give_error(&inner, status, err);
}

size_t quoin_token_bytes(const quoin_model *of, uint32_t id, char *bytes, size_t room) {
    return tokenizer_token_bytes(of->m->tok, id, true, bytes, room);
}

static qn_status choose_plan(const quoin_model *owner, const quoin_session_options *o, plan_options *out,
                             error_context *err) {
    const uint32_t trained = owner->m->hparams.n_ctx_train;
    const char *numeric = o->numeric != NULL ? o->numeric : "auto", *kv = o->kv != NULL ? o->kv : "f16";
    *out = (plan_options){.n_ctx = o->n_ctx > 0                           ? o->n_ctx
                                   : trained > 0 && trained < DEFAULT_CTX ? trained
                                                                          : DEFAULT_CTX};
    if (strcmp(numeric, "f32acc") == 0) {
        out->numeric = QN_NUMERIC_F32ACC;
    } else if (strcmp(numeric, "act8") == 0) {
        out->numeric = QN_NUMERIC_ACT8;
    } else if (strcmp(numeric, "auto") != 0) {
        return FAIL(err, QN_BAD_INPUT, "numeric \"%s\": choose auto, f32acc or act8", numeric);
    }
    if (strcmp(kv, "f16") == 0) {
        out->state_format = QN_FORMAT_F16;
    } else if (strcmp(kv, "bf16") == 0) {
        out->state_format = QN_FORMAT_BF16;
    } else if (strcmp(kv, "f32") == 0) {
        out->state_format = QN_FORMAT_F32;
    } else if (strcmp(kv, "q8") == 0) {
        out->state_format = QN_FORMAT_Q8_0;
    } else {
        return FAIL(err, QN_BAD_INPUT, "kv \"%s\": choose f16, bf16, f32 or q8", kv);
    }
    return QN_OK;
}

static qn_status open_adapters(const quoin_model *owner, const quoin_session_options *o, adapter_set *out, error_context *err) {
    adapter_request requests[MAX_ADAPTERS];
    if (o->n_adapters > MAX_ADAPTERS || (o->n_adapters > 0 && o->adapters == NULL)) {
        return FAIL(err, QN_BAD_INPUT, "%u adapters: there may be %u, and the list must be there", o->n_adapters, MAX_ADAPTERS);
    }
    for (uint32_t i = 0; i < o->n_adapters; i++) {
        if (o->adapters[i].path == NULL) {
            return FAIL(err, QN_BAD_INPUT, "adapter %u has no path", i);
        }
        requests[i] = (adapter_request){o->adapters[i].path, o->adapters[i].scale};
    }
    return o->n_adapters > 0 ? adapter_set_open(owner->m, requests, o->n_adapters, true, out, err) : QN_OK;
}

int32_t quoin_session_create(quoin_model *owner, const quoin_session_options *options, quoin_session **out_session,
                             quoin_error *err) {
    error_context inner = {0};
    quoin_session_options own;
    plan_options settings;
    quoin_session *made = calloc(1, sizeof *made);
    qn_status status = made == NULL ? FAIL(&inner, QN_NO_HOST_MEM, "out of memory for a session")
                                    : copy_options(&own, sizeof own, options, &inner);
    if (status == QN_OK) {
        status = choose_plan(owner, &own, &settings, &inner);
    }
    if (status == QN_OK) {
        made->owner = owner;
        made->scrubs = own.scrub != 0;
        status = open_adapters(owner, &own, &made->adapters, &inner);
        settings.deltas = made->adapters.deltas;
        settings.n_deltas = made->adapters.n_deltas;
    }
    if (status == QN_OK) {
        status = plan_create(owner->m, &owner->runtime->on, &settings, &made->p, &inner);
    }
    if (status == QN_OK) {
        status = session_create(made->p, &made->s, &inner);
    }
    if (status < 0) {
        quoin_session_destroy(made);
        return give_error(&inner, status, err);
    }
    *out_session = made;
    return QN_OK;
}

int32_t quoin_session_scrub(quoin_session *scrubbed, quoin_scrub_report *out_report, quoin_error *err) {
    scrub_report report = {0};
    error_context inner = {0};
    session_scrub(scrubbed->s, &report);
    if (out_report != NULL && out_report->size >= sizeof *out_report) {
        out_report->is_partial = report.is_partial;
        out_report->state_bytes = report.bytes[SCRUB_STATE];
        out_report->scratch_bytes = report.bytes[SCRUB_SCRATCH];
        out_report->logits_bytes = report.bytes[SCRUB_LOGITS];
        out_report->tokens_bytes = report.bytes[SCRUB_TOKENS];
        memcpy(out_report->missing, report.missing, sizeof out_report->missing);
    }
    return report.is_partial ? give_error(&inner, FAIL(&inner, QN_UNSUPPORTED, "not everything could be overwritten: %s", report.missing), err)
                             : QN_OK;
}

void quoin_session_destroy(quoin_session *destroyed) {
    if (destroyed != NULL) {
        if (destroyed->scrubs && destroyed->s != NULL) {
            quoin_session_scrub(destroyed, NULL, NULL);
        }
        session_destroy(destroyed->s);
        plan_destroy(destroyed->p);
        if (destroyed->scrubs) {
            adapter_set_scrub(&destroyed->adapters);
        }
        adapter_set_close(&destroyed->adapters);
        free(destroyed);
    }
}

int32_t quoin_session_append(quoin_session *to, const uint32_t *ids, size_t n_ids, quoin_error *err) {
    error_context inner = {0};
    begin_work(to->owner->runtime);
    const qn_status status = n_ids > UINT32_MAX
                                 ? FAIL(&inner, QN_LIMIT, "%zu tokens are more than any context has", n_ids)
                                 : session_append(to->s, ids, (uint32_t)n_ids, &inner);
    end_work(to->owner->runtime);
    return give_error(&inner, status, err);
}

const float *quoin_session_logits(const quoin_session *of, size_t *out_count) {
    *out_count = of->s->n_logits > 0 ? of->owner->m->hparams.n_vocab : 0;
    return of->s->n_logits > 0 ? of->s->logits : NULL;
}

size_t quoin_session_length(const quoin_session *of) {
    return session_length(of->s);
}

size_t quoin_session_truncate(quoin_session *of, size_t length) {
    return session_truncate(of->s, length < UINT32_MAX ? (uint32_t)length : UINT32_MAX);
}

typedef struct text_relay {
    quoin_text_fn *on_text;
    void *ctx;
} text_relay;

static bool relay_text(void *ctx, const generate_event *event) {
    const text_relay *relay = ctx;
    return relay->on_text == NULL || event->text_bytes == 0 ||
           (*relay->on_text)(relay->ctx, event->text, event->text_bytes) != 0;
}

static sampler_options make_sampling(const quoin_generate_options *o) {
    sampler_options sampling = sampler_defaults();
    sampling.temperature = o->temperature;
    sampling.top_k = o->top_k;
    sampling.top_p = o->top_p > 0.0f ? o->top_p : 1.0f;
    sampling.min_p = o->min_p;
    sampling.repeat_penalty = o->repeat_penalty > 0.0f ? o->repeat_penalty : 1.0f;
    sampling.seed = o->seed;
    return sampling;
}

static void give_result(const generate_result *from, quoin_generate_result *to) {
    if (to != NULL && to->size >= sizeof *to) {
        to->n_prompt = from->n_prompt;
        to->n_generated = from->n_generated;
        snprintf(to->stop_reason, sizeof to->stop_reason, "%s", stop_reason_name(from->reason));
        to->prefill_seconds = from->prefill_seconds;
        to->decode_seconds = from->decode_seconds;
    }
}

int32_t quoin_generate(quoin_session *with, const uint32_t *ids, size_t n_ids, const quoin_generate_options *options,
                       quoin_text_fn on_text, void *ctx, quoin_generate_result *out_result, quoin_error *err) {
    error_context inner = {0};
    quoin_generate_options own;
    generate_result result = {0};
    sampler chooser = {0};
    const model *m = with->owner->m;
    host_services *services = &with->owner->runtime->services;
    qn_status status = n_ids > UINT32_MAX ? FAIL(&inner, QN_LIMIT, "%zu tokens are more than any context has", n_ids)
                                          : copy_options(&own, sizeof own, options, &inner);
    if (status == QN_OK) {
        const sampler_options sampling = make_sampling(&own);
        status = sampler_create(&sampling, m->hparams.n_vocab, tokenizer_size(m->tok), &chooser, &inner);
    }
    if (status == QN_OK) {
        text_relay relay = {on_text != NULL ? &on_text : NULL, ctx};
        generate_options settings = {.max_tokens = own.max_tokens > 0 ? own.max_tokens : DEFAULT_BUDGET,
                                     .deadline_ms = own.deadline_ms,
                                     .cancel = &services->cancel,
                                     .on_token = relay_text,
                                     .ctx = &relay};
        settings.n_stops = model_stop_ids(m, settings.stops, GENERATE_MAX_STOPS);
        begin_work(with->owner->runtime);
        status = generate_run(with->s, &chooser, ids, (uint32_t)n_ids, &settings, &result, &inner);
        end_work(with->owner->runtime);
        give_result(&result, out_result);
    }
    sampler_destroy(&chooser);
    return give_error(&inner, status, err);
}

int32_t quoin_generate_text(quoin_session *with, const char *text, size_t text_bytes,
                            const quoin_generate_options *options, quoin_text_fn on_text, void *ctx,
                            quoin_generate_result *out_result, quoin_error *err) {
    error_context inner = {0};
    token_list ids = {0};
    qn_status status = tokenizer_encode(with->owner->m->tok, text, text_bytes, ENCODE_ADD_BOS, &ids, &inner);
    status = status < 0 ? give_error(&inner, status, err)
                        : quoin_generate(with, ids.ids, ids.count, options, on_text, ctx, out_result, err);
    token_list_free(&ids);
    return status;
}
