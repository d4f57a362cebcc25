/* check_generation.c — a record against the model, the prompt and a second run. */
#include "cli/check_generation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "wal/wal_verify.h"

const char *check_generation_name(uint32_t answer) {
    static const char *const names[CHECK_N_ANSWERS] = {"record", "log", "model", "prompt", "context", "replay"};
    return names[answer];
}

/* -------------------------------------------------------------------------------------------------------------- finding */

static qn_status read_log(check_generation *g, const check_generation_options *o, error_context *err) {
    QN_TRY(wal_set_open(o->log, FMT_MODE_DEFAULT, NULL, NULL, &g->set, err), err, "--log");
    QN_TRY(wal_state_build(&g->set, &g->state, err), err, "--log");
    return prove_generation_read_log(&g->set, &g->state, &g->reading, err);
}

/* Bytes at the end of the log that are in no whole transaction: of a crash, or because something before them was changed. */
static uint64_t count_torn(const check_generation *g) {
    return g->set.n_files > 0 ? g->set.files[g->set.n_files - 1].log.n_torn_bytes : 0;
}

static bool is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

qn_status check_generation_open(check_generation *g, const check_generation_options *o, error_context *err) {
    memset(g, 0, sizeof *g);
    const char *name = o->record;
    for (uint32_t i = 0; i < CHECK_N_ANSWERS; i++) {
        prove_answer_set(&g->answers[i], PROVE_NOT_CHECKED, "", "not asked for");
    }
    if (o->log == NULL && o->record == NULL) {
        return QN_OK;
    }
    g->is_asked = true;
    if (o->log != NULL) {
        QN_TRY(read_log(g, o, err), err, "reading the record");
    } else if (is_file(o->record)) {
        QN_TRY(prove_read_file(o->record, &g->reading, err), err, "--generation");
        name = NULL;
    } else {
        return FAIL(err, QN_NOT_FOUND, "--generation %s: is no volume; with --log DIRECTORY it is the id of a record", o->record);
    }
    const qn_status status = prove_generation_find(&g->reading, name, &g->record, err);
    return status == QN_NOT_FOUND && count_torn(g) > 0
               ? FAIL(err, status, "%s: its last %" PRIu64 " bytes are of no whole transaction; quoin wal verify says where that begins", o->log,
                      count_torn(g))
               : status;
}

void check_generation_close(check_generation *g) {
    prove_read_close(&g->reading);
    wal_state_free(&g->state);
    wal_set_close(&g->set);
    memset(g, 0, sizeof *g);
}

bool check_generation_engine(check_generation *g, run_settings *settings, engine_options *out) {
    error_context local = {0};
    option rows[ENGINE_OPTION_ROWS];
    engine_options_init(out, rows);
    if (settings_parse(g->record.sampler, settings, &local) < 0) {
        prove_answer_set(&g->answers[CHECK_REPLAY], PROVE_NOT_CHECKED, "", "not comparable: %s", error_text(&local));
        return false;
    }
    out->n_ctx = settings->n_ctx;
    out->chunk = settings->chunk;
    out->kv = settings->kv;
    out->numeric = strcmp(settings->numeric, "f16acc") == 0 ? "auto" : settings->numeric;
    return true;
}

/* ------------------------------------------------------------------------------------------------------- record and log */

static void ask_record(check_generation *g) {
    if (g->record.is_name_right) {
        prove_answer_set(&g->answers[CHECK_RECORD], PROVE_PASS, "", "its name is the digest of what it says; %" PRIu64 " tokens, %.*s%s",
                         g->record.n_tokens, (int)g->record.stop_reason.size, g->record.stop_reason.data,
                         g->record.is_partial ? ", partial" : "");
    } else {
        prove_answer_set(&g->answers[CHECK_RECORD], PROVE_FAIL, "DIGEST_MISMATCH", "its name is not the digest of what it says");
    }
}

static qn_status ask_log(check_generation *g, const check_generation_options *o, error_context *err) {
    const trusted_keys none = {0};
    wal_verify_report report;
    prove_answer *a = &g->answers[CHECK_LOG];
    if (o->log == NULL) {
        return QN_OK;
    }
    QN_TRY(wal_verify(&g->set, &g->state, o->keys != NULL ? o->keys : &none, &report, err), err, "checking the log");
    const wal_signatures *s = &report.transactions;
    if (s->n_wrong > 0 || s->n_revoked > 0) {
        prove_answer_set(a, PROVE_FAIL, "BAD_SIGNATURE", "%" PRIu64 " wrong signatures and %" PRIu64 " of revoked keys, the first wrong in record %" PRIu64,
                         s->n_wrong, s->n_revoked, report.first_wrong);
    } else if (s->n_unknown > 0 || g->state.n_unsigned > 0) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "UNSIGNED", "%" PRIu64 " transactions are unsigned, %" PRIu64 " signed by keys in no list of trusted keys",
                         g->state.n_unsigned, s->n_unknown);
    } else if (count_torn(g) > 0) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "PARSE", "%" PRIu64 " transactions, all signed by trusted keys; the last %" PRIu64 " bytes are of none",
                         s->n_valid, count_torn(g));
    } else {
        prove_answer_set(a, PROVE_PASS, "", "%" PRIu64 " transactions, all signed by trusted keys", s->n_valid);
    }
    return QN_OK;
}

void check_generation_ask_model(check_generation *g, bool is_source, const uint8_t digest[SHA256_BYTES]) {
    char hex[2][SHA256_HEX_SIZE];
    const bool is_same = g->record.is_source == is_source && memcmp(g->record.model, digest, SHA256_BYTES) == 0;
    sha256_to_hex(g->record.model, hex[0]);
    sha256_to_hex(digest, hex[1]);
    if (is_same) {
        prove_answer_set(&g->answers[CHECK_MODEL], PROVE_PASS, "", "computed with this file");
    } else {
        prove_answer_set(&g->answers[CHECK_MODEL], PROVE_FAIL, "DIGEST_MISMATCH", "computed with sha256:%s, this file is sha256:%s", hex[0], hex[1]);
    }
}

/* ------------------------------------------------------------------------------------------------------------ the prompt */

static void judge_mac(prove_answer *a, const mac_key *key, const void *bytes, size_t size, bool has_mac, const uint8_t mac[MAC_BYTES],
                      const char *what) {
    if (!has_mac) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "MISSING", "the record has no MAC of the %s", what);
    } else if (mac_key_verify(key, bytes, size, mac)) {
        prove_answer_set(a, PROVE_PASS, "", "this was the %s", what);
    } else {
        prove_answer_set(a, PROVE_FAIL, "DIGEST_MISMATCH", "this was not the %s, or not this key", what);
    }
}

static void ask_context(check_generation *g, const mac_key *key, fmt_str context) {
    if (context.size > 0 && key != NULL) {
        judge_mac(&g->answers[CHECK_CONTEXT], key, context.data, context.size, g->record.has_context_mac, g->record.context_mac, "context");
    }
}

/* The ids of the prompt, from --prompt or from the record; none when neither has it. */
static qn_status find_prompt(const check_generation *g, const check_generation_options *o, const run_settings *settings, const model *m,
                             fmt_str context, prompt_input *out, error_context *err) {
    const prompt_options how = {.file = o->prompt, .is_special = settings->is_special, .no_bos = !settings->has_bos,
                                .is_chat = settings->is_chat, .family = settings->family[0] != '\0' ? settings->family : NULL};
    memset(out, 0, sizeof *out);
    const bool lacks_words = settings->is_tokens || settings->has_system || (settings->has_context && context.size == 0);
    if (o->prompt == NULL || lacks_words) {
        uint32_t n = 0;
        if (prove_generation_prompt(&g->reading, g->record.subject, &out->ids.ids, &n)) {
            out->ids.count = out->ids.capacity = n;
        }
        return QN_OK;
    }
    QN_TRY(prompt_load(&how, out, err), err, "--prompt");
    out->preface = context;
    return prompt_encode(&how, m, out, err);
}

static void ask_prompt(check_generation *g, const mac_key *key, const prompt_input *prompt) {
    prove_answer *a = &g->answers[CHECK_PROMPT];
    uint8_t *bytes = prove_tokens_bytes(prompt->ids.ids, (uint32_t)prompt->ids.count);
    if (key == NULL) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "", "no key for MACs is given (--mac-key FILE)");
    } else if (prompt->ids.count == 0 || bytes == NULL) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "", "no prompt is at hand (--prompt FILE)");
    } else {
        judge_mac(a, key, bytes, prompt->ids.count * 4, g->record.has_prompt_mac, g->record.prompt_mac, "prompt");
    }
    free(bytes);
}

/* --------------------------------------------------------------------------------------------------------------- replay */

/* What differs between then and now, or null. */
static const char *find_difference(const check_generation *g, const run_settings *then, const prove_runtime *now) {
    uint64_t unused;
    uint8_t kernel[SHA256_BYTES];
    const generation_record *r = &g->record;
    if (memcmp(r->runtime, now->digest, sizeof r->runtime) != 0) {
        return "another build of the program";
    }
    if (!prove_text_is(r->backend, now->backend) || !prove_text_is(r->device, now->device) || !prove_text_is(r->driver, now->driver) ||
        !prove_text_is(r->numeric, now->numeric)) {
        return "another backend, device, driver or numeric class";
    }
    if (r->n_threads != now->n_threads) {
        return "another number of threads";
    }
    for (uint32_t i = 0; i < now->n_kernels; i++) {
        if (!prove_get_digest(&g->reading, r->subject, "q42m:usesKernel", i, PROVE_KERNEL, kernel) ||
            memcmp(kernel, now->kernels[i].digest, sizeof kernel) != 0) {
            return "other kernels";
        }
    }
    return prove_get_object(&g->reading, r->subject, "q42m:usesKernel", now->n_kernels, &unused) ? "other kernels"
           : then->constraint[0] != '\0' || prove_text_is(r->stop_reason, "complete")           ? "a constraint"
           : then->sentinel[0] != '\0'                                                          ? "rules over each token"
           : r->has_adapter                                                                     ? "an adapter"
                                                                                                : NULL;
}

typedef struct replaying {
    uint32_t *ids; /* [room] */
    uint32_t n, room;
} replaying;

static bool keep_token(void *ctx, const generate_event *event) {
    replaying *r = ctx;
    if (event->id != TOKEN_NONE && r->n < r->room) {
        r->ids[r->n++] = event->id;
    }
    return true;
}

static qn_status run_again(const check_generation *g, const run_settings *settings, engine *e, const prompt_input *prompt,
                           command_context *c, replaying *out) {
    sampler chooser = {0};
    sampler_options sampling = settings->sampler;
    generate_result result;
    sampling.seed = g->record.seed;
    QN_TRY(sampler_create(&sampling, e->m->hparams.n_vocab, tokenizer_size(e->m->tok), &chooser, &c->err), &c->err, "replaying");
    generate_options options = {.max_tokens = g->record.is_partial ? out->room : settings->max_tokens, .at_start = prompt->starts_text,
                                .cancel = &c->services.cancel, .on_token = keep_token, .ctx = out};
    options.n_stops = model_stop_ids(e->m, options.stops, GENERATE_MAX_STOPS);
    for (uint32_t i = 0; i < prompt->stops.count && options.n_stops < GENERATE_MAX_STOPS; i++) {
        options.stops[options.n_stops++] = prompt->stops.ids[i];
    }
    const qn_status status = generate_run(e->s, &chooser, prompt->ids.ids, (uint32_t)prompt->ids.count, &options, &result, &c->err);
    sampler_destroy(&chooser);
    return status < 0 ? status : result.reason == STOP_CANCELLED ? FAIL(&c->err, QN_CANCELLED, "stopped on request") : QN_OK;
}

static void judge_replay(check_generation *g, const replaying *again) {
    uint8_t digest[SHA256_BYTES];
    char hex[SHA256_HEX_SIZE];
    prove_answer *a = &g->answers[CHECK_REPLAY];
    if (!prove_tokens_digest(again->ids, again->n, digest)) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "", "no memory to compare");
    } else if (again->n == g->record.n_tokens && memcmp(digest, g->record.tokens, sizeof digest) == 0) {
        prove_answer_set(a, PROVE_PASS, "", "the same %u tokens", again->n);
    } else {
        sha256_to_hex(digest, hex);
        prove_answer_set(a, PROVE_FAIL, "DIGEST_MISMATCH", "other tokens from this prompt: %u, sha256:%s; the record has %" PRIu64, again->n, hex,
                         g->record.n_tokens);
    }
}

static qn_status replay(check_generation *g, const run_settings *settings, engine *e, const prompt_input *prompt, command_context *c) {
    replaying again = {.room = settings->n_ctx};
    if (g->record.is_partial && g->record.n_tokens < again.room) {
        again.room = (uint32_t)g->record.n_tokens;
    }
    again.ids = malloc(((size_t)again.room + 1) * sizeof *again.ids);
    if (again.ids == NULL) {
        return FAIL(&c->err, QN_NO_HOST_MEM, "no memory to replay");
    }
    const qn_status status = run_again(g, settings, e, prompt, c, &again);
    if (status >= 0) {
        judge_replay(g, &again);
    }
    free(again.ids);
    return status;
}

static qn_status ask_replay(check_generation *g, const run_settings *settings, engine *e, const prove_runtime *running,
                            const prompt_input *prompt, command_context *c) {
    prove_answer *a = &g->answers[CHECK_REPLAY];
    const char *difference = find_difference(g, settings, running);
    if (difference != NULL) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "", "not comparable: %s", difference);
    } else if (prompt->ids.count == 0) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "MISSING", "%s", settings->has_system || settings->is_tokens || settings->has_context
                         ? "a prompt with --system, of ids, or behind a context that is not given (--context) is replayed when the record stores it"
                         : "no prompt is at hand (--prompt FILE)");
    } else {
        return replay(g, settings, e, prompt, c);
    }
    return QN_OK;
}

static qn_status ask_with_model(check_generation *g, const check_generation_options *o, const run_settings *settings, command_context *c,
                                const model *m, engine *e, const mac_key *key, fmt_str context, const prove_runtime *running) {
    prompt_input prompt;
    qn_status status = find_prompt(g, o, settings, m, context, &prompt, &c->err);
    if (status >= 0) {
        ask_prompt(g, key, &prompt);
        status = e != NULL ? ask_replay(g, settings, e, running, &prompt, c) : QN_OK;
    }
    prompt_free(&prompt);
    return status;
}

qn_status check_generation_ask(check_generation *g, const check_generation_options *o, command_context *c, const char *model_path,
                               engine *e, const prove_runtime *running) {
    const model_options words_only = {.vocabulary_only = true, .skip_integrity = true};
    run_settings settings;
    engine_options unused;
    mac_key key;
    model *m = NULL;
    ask_record(g);
    QN_TRY(ask_log(g, o, &c->err), &c->err, "checking the record");
    if (o->mac_key != NULL) {
        QN_TRY(mac_key_open(o->mac_key, &key, &c->err), &c->err, "--mac-key");
    }
    const mac_key *used = o->mac_key != NULL ? &key : NULL;
    char *text = NULL;
    size_t size = 0;
    qn_status status = o->context != NULL ? prompt_read_file(o->context, &text, &size, &c->err) : QN_OK;
    const fmt_str context = {text, size};
    ask_context(g, used, context);
    const bool is_known = check_generation_engine(g, &settings, &unused);
    if (status >= 0 && is_known && (e != NULL || used != NULL)) {
        status = e == NULL ? model_open(model_path, &words_only, c->workers, &m, &c->err) : QN_OK;
        status = status < 0 ? status : ask_with_model(g, o, &settings, c, e != NULL ? e->m : m, e, used, context, running);
        model_close(m);
    }
    free(text);
    mac_key_forget(&key);
    return status;
}
