/* prove_options.c — keys, digests and the record of a run. */
#include "cli/prove_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <quoin/glue.h>

#include "base/log.h"
#include "graph/file_digest.h"
#include "keys/private_file.h"
#include "prove/prove_model.h"

void prove_options_init(prove_options *p, option rows[PROVE_OPTION_ROWS]) {
    memset(p, 0, sizeof *p);
    const option filled[PROVE_OPTION_ROWS] = {
        {OPTION_STRING, "prove", 0, "DIRECTORY", "append a record of this answer to the log there", &p->log, 0, 0, NULL, NULL},
        {OPTION_STRING, "key", 'k', "FILE", "the private key that signs the record", &p->key, 0, 0, NULL, NULL},
        {OPTION_STRING, "passphrase-file", 0, "FILE", "the key's passphrase is the first line of this private file; - for standard input",
         &p->passphrase_file, 0, 0, NULL, NULL},
        {OPTION_FLAG, "unsigned", 0, NULL, "record without a signature, and say so in the log", &p->is_unsigned, 0, 0, NULL, NULL},
        {OPTION_STRING, "mac-key", 0, "FILE", "the record has a MAC of the prompt under this key", &p->mac_key, 0, 0, NULL, NULL},
        {OPTION_FLAG, "store-prompt", 0, NULL, "the record has the prompt's token ids", &p->stores_prompt, 0, 0, NULL, NULL},
        {OPTION_STRING, "agent", 0, "DID", "who asked, in the record", &p->agent, 0, 0, NULL, NULL},
        {OPTION_STRING, "principal", 0, "DID", "for whom the agent asked, in the record", &p->principal, 0, 0, NULL, NULL}};
    memcpy(rows, filled, sizeof filled);
}

qn_status prove_options_check(const prove_options *p, error_context *err) {
    const bool has_more = p->key != NULL || p->passphrase_file != NULL || p->is_unsigned || p->mac_key != NULL || p->stores_prompt ||
                          p->agent != NULL || p->principal != NULL;
    if (p->log == NULL) {
        return has_more ? FAIL(err, QN_BAD_INPUT, "--key, --unsigned, --mac-key, --store-prompt, --agent and --principal are for the record "
                                                  "that --prove DIRECTORY writes")
                        : QN_OK;
    }
    return (p->key != NULL) != p->is_unsigned ? QN_OK : FAIL(err, QN_BAD_INPUT, "--prove needs --key FILE or --unsigned");
}

qn_status prove_open_key(const char *path, const char *passphrase_file, signing_key **out_key, error_context *err) {
    char room[PASSPHRASE_SIZE];
    const char *passphrase = passphrase_file != NULL ? room : NULL;
    qn_status status = passphrase != NULL ? private_file_passphrase(passphrase_file, room, err) : QN_OK;
    status = status < 0 ? status : signing_key_open(path, passphrase, out_key, err);
    private_file_forget(room, sizeof room);
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- program */

qn_status prove_describe_program(prove_runtime *out, error_context *err) {
    memset(out, 0, sizeof *out);
    out->name = "quoin";
    out->version = command_version_text();
    out->build = host_build_id();
    return prove_runtime_digest(out->digest, err);
}

static qn_status add_kernels(const engine *e, const char *backend, fmt_span plugin, prove_runtime *out, error_context *err) {
    const qn_program *program = e->p->dec->program;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        QN_TRY(prove_add_kernel(out, backend, qn_op_name(qn_program_op(program, i)->op), out->numeric, plugin, err), err,
               "describing the kernels");
    }
    return QN_OK;
}

qn_status prove_describe_engine(const command_context *c, const engine *e, prove_runtime *out, error_context *err) {
    const int index = registry_find(&c->backends, c->on.spec.name);
    mapped_file plugin;
    QN_TRY(prove_describe_program(out, err), err, "describing the program");
    if (index < 0) {
        return FAIL(err, QN_UNSUPPORTED, "a record names one backend; leave out --layers-on");
    }
    const registry_entry *entry = &c->backends.entries[index];
    out->backend = c->on.spec.name;
    out->device = c->on.info.name;
    out->driver = c->on.info.driver;
    out->numeric = plan_numeric_name(e->p->memory.numeric);
    out->n_threads = team_size(c->workers);
    QN_TRY(mapped_file_open(entry->origin == REGISTRY_BUILT_IN ? "/proc/self/exe" : entry->path, &plugin, err), err,
           "describing the kernels");
    const qn_status status = add_kernels(e, entry->name, plugin.span, out, err);
    mapped_file_close(&plugin);
    return status;
}

static void copy_word(const char *word, char out[SETTINGS_WORD_SIZE]) {
    snprintf(out, SETTINGS_WORD_SIZE, "%s", word != NULL ? word : "");
}

void prove_collect_settings(const engine *e, const engine_options *engine_settings, const prompt_options *prompt,
                            const sampler_options *sampling, bool has_context, uint32_t max_tokens, run_settings *out) {
    const bool is_exact = strcmp(engine_settings->numeric, "f32acc") == 0;
    *out = (run_settings){.sampler = *sampling, .n_ctx = e->p->n_ctx, .chunk = e->p->limits.max_tokens, .max_tokens = max_tokens,
                          .is_chat = prompt->is_chat, .has_context = has_context, .has_system = prompt->system != NULL, .has_bos = !prompt->no_bos,
                          .is_special = prompt->is_special, .is_tokens = prompt->tokens != NULL};
    copy_word(plan_numeric_name(e->p->memory.numeric), out->numeric);
    copy_word(strcmp(engine_settings->kv, "auto") != 0 ? engine_settings->kv : is_exact ? "f32" : "f16", out->kv);
    copy_word(prompt->is_chat ? prompt->family : NULL, out->family);
}

static qn_status name_file(const char *path, const char *kind, char out[SETTINGS_SOURCE_SIZE], error_context *err) {
    uint8_t digest[SHA256_BYTES];
    char hex[SHA256_HEX_SIZE];
    if (path != NULL) {
        QN_TRY(file_digest(path, NULL, NULL, digest, err), err, "what the record says of %s", path);
        sha256_to_hex(digest, hex);
        snprintf(out, SETTINGS_SOURCE_SIZE, "%ssha256:%s", kind, hex);
    }
    return QN_OK;
}

qn_status prove_collect_rules(const constrain_options *constrain, const sentinel_options *sentinel, run_settings *out, error_context *err) {
    QN_TRY(name_file(constrain->grammar, "grammar:", out->constraint, err), err, "recording");
    QN_TRY(name_file(constrain->schema, "json-schema:", out->constraint, err), err, "recording");
    QN_TRY(name_file(constrain->sieve, "sieve:", out->constraint, err), err, "recording");
    return name_file(sentinel->rules, "", out->sentinel, err);
}

/* ------------------------------------------------------------------------------------------------------------ recording */

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static qn_status open_keys(prove_recording *r, error_context *err) {
    const prove_options *o = r->options;
    if (o->key != NULL) {
        QN_TRY(prove_open_key(o->key, o->passphrase_file, &r->key, err), err, "--key");
    }
    return o->mac_key != NULL ? mac_key_open(o->mac_key, &r->mac, err) : QN_OK;
}

static qn_status take_room(prove_recording *r, const run_settings *settings, error_context *err) {
    r->settings = *settings;
    r->room = settings->max_tokens < settings->n_ctx ? settings->max_tokens : settings->n_ctx;
    r->ids = malloc(((size_t)r->room + 1) * sizeof *r->ids);
    if (r->ids == NULL || !sha256_begin(&r->text)) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory to record %u tokens", r->room);
    }
    return QN_OK;
}

qn_status prove_recording_begin(prove_recording *r, const prove_options *options, command_context *c, const engine *e,
                                const run_settings *settings, error_context *err) {
    memset(r, 0, sizeof *r);
    if (options->log == NULL) {
        return QN_OK;
    }
    r->options = options;
    r->is_source = e->m->format == MODEL_GGUF;
    r->has_adapter = adapter_set_digest(&e->adapters, r->adapter);
    QN_TRY(open_keys(r, err), err, "recording");
    QN_TRY(wal_open(&(wal_options){.directory = options->log, .may_create = true}, &r->log, NULL, err), err, "--prove");
    QN_TRY(prove_describe_engine(c, e, &r->runtime, err), err, "recording");
    QN_TRY(prove_span_digest(e->m->file.span, NULL, NULL, r->model, err), err, "hashing the model");
    QN_TRY(mapped_file_check(&e->m->file, err), err, "hashing the model");
    QN_TRY(take_room(r, settings, err), err, "recording");
    r->started_ms = now_ms();
    r->is_on = true;
    return QN_OK;
}

void prove_recording_take(prove_recording *r, const generate_event *event) {
    if (!r->is_on) {
        return;
    }
    if (event->id != TOKEN_NONE && r->n_ids < r->room) {
        r->ids[r->n_ids++] = event->id;
    }
    sha256_add(&r->text, event->text, event->text_bytes);
}

static bool is_partial(stop_reason reason) {
    return reason == STOP_DEADLINE || reason == STOP_CANCELLED || reason == STOP_ERROR || reason == STOP_JUDGED || reason == STOP_WATCH ||
           reason == STOP_DEAD_END;
}

/* Of the prompt's ids, and of the words that were put before it. */
static qn_status make_macs(const prove_recording *r, const prompt_input *prompt, uint8_t out[2][MAC_BYTES], error_context *err) {
    uint8_t *bytes = prove_tokens_bytes(prompt->ids.ids, (uint32_t)prompt->ids.count);
    const bool is_done = bytes != NULL && mac_key_compute(&r->mac, bytes, prompt->ids.count * 4, out[0]) &&
                         mac_key_compute(&r->mac, prompt->preface.data, prompt->preface.size, out[1]);
    free(bytes);
    return is_done ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "no memory for the prompt's MAC");
}

static qn_status write_record(prove_recording *r, const generation_facts *facts, error_context *err) {
    prove_graph record;
    uint8_t name[SHA256_BYTES];
    qn_status status = prove_generation(facts, &record, name, err);
    status = status < 0 ? status : prove_generation_commit(r->log, &record, r->key, NULL, err);
    prove_end(&record);
    if (status >= 0) {
        prove_urn(PROVE_GENERATION, name, r->name);
        log_line(QN_LOG_INFO, "recorded as %s in %s%s", r->name, r->options->log, r->key != NULL ? "" : ", unsigned");
    }
    return status;
}

qn_status prove_recording_commit(prove_recording *r, const prompt_input *prompt, const uint64_t *cites, uint32_t n_cites,
                                 const generate_result *result, error_context *err) {
    uint8_t macs[2][MAC_BYTES], output[SHA256_BYTES];
    char sampler[PROVE_MAX_TEXT];
    if (!r->is_on) {
        return QN_OK;
    }
    const size_t size = settings_print(&r->settings, sampler);
    if (size == 0 || !sha256_end(&r->text, output)) {
        return FAIL(err, QN_LIMIT, "the settings of this run do not fit into a record");
    }
    const bool has_macs = r->options->mac_key != NULL;
    if (has_macs) {
        QN_TRY(make_macs(r, prompt, macs, err), err, "recording");
    }
    const generation_facts facts = {.model = r->model, .is_source = r->is_source, .runtime = &r->runtime, .sampler = {sampler, size},
                                    .seed = r->settings.sampler.seed, .prompt_mac = has_macs ? macs[0] : NULL,
                                    .context_mac = has_macs && prompt->preface.size > 0 ? macs[1] : NULL,
                                    .prompt = r->options->stores_prompt ? prompt->ids.ids : NULL, .n_prompt = (uint32_t)prompt->ids.count,
                                    .adapter = r->has_adapter ? r->adapter : NULL, .cites = cites, .n_cites = n_cites,
                                    .tokens = r->ids, .n_tokens = r->n_ids, .output_sha256 = output,
                                    .stop_reason = stop_reason_name(result->reason), .is_partial = is_partial(result->reason),
                                    .agent = r->options->agent, .principal = r->options->principal, .started_ms = r->started_ms,
                                    .ended_ms = now_ms()};
    return write_record(r, &facts, err);
}

void prove_recording_end(prove_recording *r) {
    sha256_abandon(&r->text);
    free(r->ids);
    wal_close(r->log);
    signing_key_close(r->key);
    mac_key_forget(&r->mac);
    memset(r, 0, sizeof *r);
}
