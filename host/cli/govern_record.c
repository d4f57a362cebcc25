/* govern_record.c — from a request that is over to the statements about its answer. */
#include "cli/govern_record.h"

#include <stdlib.h>
#include <string.h>

#include "prove/prove_check.h"
#include "prove/prove_model.h"

/* ---------------------------------------------------------------- beginning */

static qn_status make_mac(govern_record *g, const request *r, const token_list *prompt, error_context *err) {
    char path[POLICY_PATH_SIZE];
    mac_key key;
    QN_TRY(policy_resolve(r->rules, r->rules->is.provenance.mac_key, path, err), err, "opening the key of the prompt's MAC");
    QN_TRY(mac_key_open(path, &key, err), err, "opening the key of the prompt's MAC");
    uint8_t *bytes = prove_tokens_bytes(prompt->ids, (uint32_t)prompt->count);
    g->has_mac = bytes != NULL && mac_key_compute(&key, bytes, prompt->count * 4, g->prompt_mac);
    g->has_context_mac = r->preface.size > 0 && mac_key_compute(&key, r->preface.text, r->preface.size, g->context_mac);
    mac_key_forget(&key);
    free(bytes);
    return g->has_mac ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "no memory for the prompt's MAC");
}

qn_status govern_record_begin(govern_record *g, const request *r, const command_context *c, const engine *e, const run_settings *settings,
                              const token_list *prompt, error_context *err) {
    memset(g, 0, sizeof *g);
    if (!r->rules->is.provenance.record) {
        return QN_OK;
    }
    g->is_source = e->m->format == MODEL_GGUF;
    g->settings = *settings;
    g->room = settings->max_tokens < settings->n_ctx ? settings->max_tokens : settings->n_ctx;
    g->ids = malloc(((size_t)g->room + 1) * sizeof *g->ids);
    if (g->ids == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory to record %u tokens", g->room);
    }
    QN_TRY(prove_describe_engine(c, e, &g->runtime, err), err, "recording");
    QN_TRY(prove_span_digest(e->m->file.span, NULL, NULL, g->model, err), err, "hashing the model");
    QN_TRY(mapped_file_check(&e->m->file, err), err, "hashing the model");
    if (r->rules->is.provenance.mac_key != NULL) {
        QN_TRY(make_mac(g, r, prompt, err), err, "recording");
    }
    g->is_on = true;
    return QN_OK;
}

void govern_record_take(govern_record *g, uint32_t id) {
    if (g->is_on && id != TOKEN_NONE && g->n_ids < g->room) {
        g->ids[g->n_ids++] = id;
    }
}

void govern_record_end(govern_record *g) {
    free(g->ids);
    memset(g, 0, sizeof *g);
}

/* ---------------------------------------------------------------- adding */

/* The digest of what the gates said so far: name, verdict, code, detail, each with its end. */
static bool trace_gates(const request *r, uint8_t out[SHA256_BYTES]) {
    sha256_stream stream;
    if (!sha256_begin(&stream)) {
        return false;
    }
    for (uint32_t i = 0; i < r->n_results; i++) {
        const gate_result *one = &r->results[i];
        const uint8_t verdict[2] = {(uint8_t)one->verdict, (uint8_t)(one->verdict >> 8)};
        uint8_t code[8];
        for (size_t k = 0; k < sizeof code; k++) {
            code[k] = (uint8_t)(one->code >> 8 * k);
        }
        sha256_add(&stream, one->gate, strlen(one->gate) + 1);
        sha256_add(&stream, verdict, sizeof verdict);
        sha256_add(&stream, code, sizeof code);
        sha256_add(&stream, one->detail, strlen(one->detail) + 1);
    }
    return sha256_end(&stream, out);
}

qn_status govern_record_add(govern_record *g, const request *r, wal *log, error_context *err) {
    char sampler[PROVE_MAX_TEXT];
    uint8_t trace[SHA256_BYTES], name[SHA256_BYTES];
    q42_quin emitted[REQUEST_MAX_CLAIMS];
    prove_graph record;
    const size_t size = settings_print(&g->settings, sampler);
    if (size == 0 || !trace_gates(r, trace)) {
        return FAIL(err, QN_LIMIT, "the settings of this run do not fit into a record");
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        emitted[i] = r->claims[i].quin;
    }
    const generation_facts facts = {
        .model = g->model, .is_source = g->is_source, .runtime = &g->runtime, .sampler = {sampler, size}, .seed = g->settings.sampler.seed,
        .prompt_mac = g->has_mac ? g->prompt_mac : NULL, .context_mac = g->has_context_mac ? g->context_mac : NULL, .tokens = g->ids, .n_tokens = g->n_ids,
        .output = {r->answer.text.text, r->answer.text.size}, .stop_reason = r->answer.stop_reason, .is_partial = r->answer.is_partial,
        .agent = r->agent, .principal = r->principal, .has_intent = r->intent != NULL,
        .intent = r->intent != NULL ? q42_hash(r->intent, strlen(r->intent)) : 0, .started_ms = r->now_ms, .ended_ms = request_now(r),
        .verdict = r->n_claims > 0 ? r->claims[0].grounding : "not evaluated", .has_score = r->n_claims > 0,
        .score = r->n_claims > 0 ? (float)r->claims[0].score : 0.0f, .cites = r->citations, .n_cites = r->n_citations, .gate_trace = trace,
        .emitted = emitted, .n_emitted = r->n_claims};
    qn_status status = prove_generation(&facts, &record, name, err);
    status = status < 0 ? status : prove_generation_add(log, &record, err);
    prove_end(&record);
    if (status >= 0) {
        prove_urn(PROVE_GENERATION, name, g->name);
    }
    return status;
}

/* ---------------------------------------------------------------- kernels */

static qn_status open_readings(const request *r, prove_reading readings[2], error_context *err) {
    char path[PROVE_PATH_SIZE], certificates[POLICY_PATH_SIZE];
    qn_status status = prove_path_of(r->model_path, path) ? prove_read_file(path, &readings[0], err) : QN_NOT_FOUND;
    if (status == QN_NOT_FOUND) { /* certificates may all be in the other volume */
        error_clear(err);
        status = QN_OK;
    }
    if (status >= 0 && r->rules->is.provenance.certificates != NULL) {
        QN_TRY(policy_resolve(r->rules, r->rules->is.provenance.certificates, certificates, err), err, "reading certificates");
        status = prove_read_file(certificates, &readings[1], err);
    }
    return status;
}

qn_status govern_check_kernels(const request *r, const command_context *c, const engine *e, error_context *err) {
    prove_reading readings[2] = {0};
    const prove_reading *const list[2] = {&readings[0], &readings[1]};
    prove_runtime *running;
    const char *missing = NULL;
    if (!r->rules->is.provenance.require_certified_kernels) {
        return QN_OK;
    }
    running = calloc(1, sizeof *running);
    qn_status status = running != NULL ? prove_describe_engine(c, e, running, err) : FAIL(err, QN_NO_HOST_MEM, "no memory for the kernels");
    status = status < 0 ? status : open_readings(r, readings, err);
    if (status >= 0 && !prove_kernels_certified(list, 2, running, &missing)) {
        status = FAIL(err, QN_DENIED, "kernel %s has no certificate for this device", missing);
    }
    prove_read_close(&readings[0]);
    prove_read_close(&readings[1]);
    free(running);
    return status;
}
