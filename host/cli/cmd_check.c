/* cmd_check.c — quoin check: what a provenance volume says, and the record of an answer, against what is at hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check_generation.h"
#include "cli/graph_command.h"
#include "graph/volume_writer.h"
#include "prove/prove_model.h"

static struct {
    const char *source, *volume, *trusted, *revoked, *certificates, *companion;
    check_generation_options generation;
    uint32_t least;
    bool has_least, needs_signature, is_strict;
} settings;

static const option *check_options(void) {
    static const option table[] = {
        {OPTION_STRING, "volume", 0, "FILE", "the provenance volume (default: STEM.prov.q42 beside STEM.p64)", &settings.volume, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "source", 0, "FILE", "what the container was made of", &settings.source, 0, 0, NULL, NULL},
        {OPTION_STRING, "trusted-keys", 0, "FILE", "one `ed25519:HEX name` a line", &settings.trusted, 0, 0, NULL, NULL},
        {OPTION_STRING, "revoked", 0, "FILE", "keys that count no more, as key revoke writes them", &settings.revoked, 0, 0, NULL, NULL},
        {OPTION_STRING, "certificates", 0, "FILE", "a volume of certificates, as certify writes it", &settings.certificates, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "log", 0, "DIRECTORY", "the log that holds the record of an answer", &settings.generation.log, 0, 0, NULL, NULL},
        {OPTION_STRING, "generation", 0, "RECORD", "which record: its id with --log (default: the last), otherwise a volume",
         &settings.generation.record, 0, 0, NULL, NULL},
        {OPTION_FLAG, "replay", 0, NULL, "compute the answer again and compare token ids", &settings.generation.replays, 0, 0, NULL, NULL},
        {OPTION_STRING, "prompt", 'p', "FILE", "the prompt of the answer; - for standard input", &settings.generation.prompt, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "context", 0, "FILE", "the context of the answer", &settings.generation.context, 0, 0, NULL, NULL},
        {OPTION_STRING, "mac-key", 0, "FILE", "the key of the record's MACs", &settings.generation.mac_key, 0, 0, NULL, NULL},
        {OPTION_UINT, "require", 0, "N", "exit 1 unless level N holds (5: everything passes)", &settings.least, 0, 5, NULL,
         &settings.has_least},
        {OPTION_FLAG, "require-signature", 0, NULL, "exit 1 unless a trusted key signed the volume", &settings.needs_signature, 0, 0, NULL,
         NULL},
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the P64 standard", &settings.is_strict, 0, 0, NULL, NULL},
        {OPTION_STRING, "companion", 0, "FILE", "companion volume of the P64, to replay with", &settings.companion, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

typedef struct checking {
    model *m;
    prove_source source;
    trusted_keys keys;
    prove_reading certificates;
    prove_runtime running;
    check_generation generation;
    engine e;
    bool has_engine;
    prove_report report;
    char path[PROVE_PATH_SIZE], backend[SETTINGS_WORD_SIZE];
} checking;

static void close_checking(checking *k) {
    if (k->has_engine) {
        engine_close(&k->e);
    }
    check_generation_close(&k->generation);
    prove_read_close(&k->certificates);
    trusted_keys_free(&k->keys);
    prove_source_close(&k->source);
    model_close(k->m);
    free(k);
}

/* ------------------------------------------------------------------------------------------------------------- gathering */

static qn_status read_keys(command_context *c, checking *k) {
    if (settings.trusted != NULL) {
        QN_TRY(trusted_keys_read(settings.trusted, &k->keys, &c->err), &c->err, "--trusted-keys");
        settings.generation.keys = &k->keys;
    }
    return settings.revoked != NULL ? revocations_read(settings.revoked, &k->keys.revoked, &c->err) : QN_OK;
}

static qn_status open_files(command_context *c, const char *path, command_progress *progress, checking *k) {
    const model_options how = {.mode = settings.is_strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT, .container_only = true,
                               .skip_integrity = true, .skip_weight_check = true};
    if (settings.volume == NULL ? !prove_path_of(path, k->path) : strlen(settings.volume) >= sizeof k->path) {
        return FAIL(&c->err, QN_LIMIT, "%s: the path is too long", path);
    }
    if (settings.volume != NULL) {
        memcpy(k->path, settings.volume, strlen(settings.volume) + 1);
    }
    QN_TRY(read_keys(c, k), &c->err, "checking %s", path);
    QN_TRY(check_generation_open(&k->generation, &settings.generation, &c->err), &c->err, "checking %s", path);
    if (settings.certificates != NULL) {
        QN_TRY(prove_read_file(settings.certificates, &k->certificates, &c->err), &c->err, "--certificates");
    }
    QN_TRY(model_open(path, &how, c->workers, &k->m, &c->err), &c->err, "checking %s", path);
    return settings.source != NULL ? prove_source_open(settings.source, command_show_progress, progress, &k->source, &c->err) : QN_OK;
}

/* Is this the backend that `request` names, whatever device or options come behind? */
static bool is_asked_for(const char *request, fmt_str backend) {
    return strncmp(request, backend.data, backend.size) == 0 && strchr(":,", request[backend.size]) != NULL;
}

/* Settings and backend of the record, for a replay; false, with the reason in its answer, when there can be none. */
static bool prepare_replay(command_context *c, checking *k, run_settings *run, engine_options *how) {
    const generation_record *record = &k->generation.record;
    prove_answer *a = &k->generation.answers[CHECK_REPLAY];
    if (!check_generation_engine(&k->generation, run, how)) {
        return false;
    }
    if (c->backend_request != NULL && strcmp(c->backend_request, "auto") != 0 && !is_asked_for(c->backend_request, record->backend)) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "", "not comparable: the record was made on backend %.*s", (int)record->backend.size,
                         record->backend.data);
        return false;
    }
    if (c->backend_request == NULL || strcmp(c->backend_request, "auto") == 0) {
        snprintf(k->backend, sizeof k->backend, "%.*s", (int)record->backend.size, record->backend.data);
        c->backend_request = k->backend;
    }
    c->threads = c->threads > 0 ? c->threads : (uint32_t)record->n_threads;
    return true;
}

/* A backend is loaded when somebody named one, or for a replay. One that is not there now makes a replay impossible, not wrong. */
static qn_status open_engine(command_context *c, const char *path, checking *k) {
    engine_options how;
    run_settings run;
    option rows[ENGINE_OPTION_ROWS];
    engine_options_init(&how, rows);
    const bool replays = settings.generation.replays;
    if (replays ? !prepare_replay(c, k, &run, &how) : c->backend_request == NULL) {
        return prove_describe_program(&k->running, &c->err);
    }
    how.companion = settings.companion;
    const qn_status status = engine_open(c, path, &how, &k->e);
    if (status < 0 && replays && status != QN_CANCELLED) {
        prove_answer_set(&k->generation.answers[CHECK_REPLAY], PROVE_NOT_CHECKED, "", "not comparable: %s", error_text(&c->err));
        error_clear(&c->err);
        return prove_describe_program(&k->running, &c->err);
    }
    QN_TRY(status, &c->err, "opening the model");
    k->has_engine = true;
    return prove_describe_engine(c, &k->e, &k->running, &c->err);
}

/* ---------------------------------------------------------------------------------------------------------------- asking */

static qn_status ask_volume(command_context *c, const char *path, command_progress *progress, checking *k) {
    const prove_check_options how = {.p64 = &k->m->p64, .p64_path = path, .volume_path = k->path,
                                     .source = settings.source != NULL ? &k->source : NULL,
                                     .keys = settings.trusted != NULL || settings.revoked != NULL ? &k->keys : NULL,
                                     .running = &k->running,
                                     .used_runtime = k->generation.is_asked ? k->generation.record.runtime : NULL,
                                     .certificates = settings.certificates != NULL ? &k->certificates : NULL,
                                     .certificates_path = settings.certificates,
                                     .progress = command_show_progress, .progress_ctx = progress};
    prove_check_options timed = how;
    QN_TRY(volume_timestamp(&timed.now_ms, &c->err), &c->err, "checking %s", path);
    if (k->m->format == MODEL_P64) {
        return prove_check(&timed, &k->report, NULL, &c->err);
    }
    prove_report_nothing(&k->report, "a provenance volume is about a P64, and this file is a GGUF");
    return QN_OK;
}

static qn_status ask_generation(command_context *c, const char *path, command_progress *progress, checking *k) {
    uint8_t digest[SHA256_BYTES];
    if (!k->generation.is_asked) {
        return QN_OK;
    }
    QN_TRY(prove_span_digest(k->m->file.span, command_show_progress, progress, digest, &c->err), &c->err, "hashing %s", path);
    check_generation_ask_model(&k->generation, k->m->format == MODEL_GGUF, digest);
    return check_generation_ask(&k->generation, &settings.generation, c, path, k->has_engine ? &k->e : NULL, &k->running);
}

static qn_status ask(command_context *c, const char *path, command_progress *progress, checking *k) {
    QN_TRY(open_files(c, path, progress, k), &c->err, "checking %s", path);
    QN_TRY(open_engine(c, path, k), &c->err, "checking %s", path);
    QN_TRY(command_start_team(c), &c->err, "starting");
    QN_TRY(ask_volume(c, path, progress, k), &c->err, "checking %s", path);
    QN_TRY(ask_generation(c, path, progress, k), &c->err, "checking %s", path);
    return mapped_file_check(&k->m->file, &c->err);
}

/* -------------------------------------------------------------------------------------------------------------- printing */

static json_t *answer_json(const char *name, const prove_answer *a) {
    return json_pack("{s:s, s:s, s:s, s:o}", "name", name, "verdict", prove_verdict_name(a->verdict), "code", a->code, "text",
                     command_json_text(a->text, strlen(a->text)));
}

static bool print_answer(const char *name, const prove_answer *a) {
    char line[PROVE_TEXT_SIZE + 128];
    const int n = snprintf(line, sizeof line, "%-20s %-12s %s%s%s\n", name, prove_verdict_name(a->verdict), a->code, a->code[0] != '\0' ? ": " : "",
                           a->text);
    return command_write(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static int print_json(command_context *c, const checking *k, const char *why) {
    char hex[SHA256_HEX_SIZE] = "";
    json_t *object = json_object(), *results = json_array();
    if (k->report.has_volume) {
        sha256_to_hex(k->report.digest, hex);
    }
    for (uint32_t i = 0; i < PROVE_N_QUESTIONS; i++) {
        json_array_append_new(results, answer_json(prove_question_name(i), &k->report.answers[i]));
    }
    json_object_set_new(object, "volume", command_json_text(k->path, strlen(k->path)));
    json_object_set_new(object, "profile", k->report.has_volume ? json_string(k->report.is_full ? "full" : "compact") : json_null());
    json_object_set_new(object, "digest", k->report.has_volume ? json_string(hex) : json_null());
    json_object_set_new(object, "level", json_integer(k->report.level));
    json_object_set_new(object, "authenticated", json_boolean(k->report.is_authenticated));
    json_object_set_new(object, "results", results);
    if (settings.has_least || settings.needs_signature) {
        json_object_set_new(object, "missing", why != NULL ? command_json_text(why, strlen(why)) : json_null());
    }
    if (k->generation.is_asked) {
        json_t *answers = json_array();
        for (uint32_t i = 0; i < CHECK_N_ANSWERS; i++) {
            json_array_append_new(answers, answer_json(check_generation_name(i), &k->generation.answers[i]));
        }
        json_object_set_new(object, "generation", json_pack("{s:s, s:o}", "id", k->generation.record.name, "results", answers));
    }
    return command_print_json(c, object);
}

static int print_text(const checking *k, const char *why) {
    char line[PROVE_TEXT_SIZE + 256], hex[SHA256_HEX_SIZE];
    bool is_written = true;
    for (uint32_t i = 0; i < PROVE_N_QUESTIONS && is_written; i++) {
        is_written = print_answer(prove_question_name(i), &k->report.answers[i]);
    }
    for (uint32_t i = 0; k->generation.is_asked && i < CHECK_N_ANSWERS && is_written; i++) {
        is_written = print_answer(check_generation_name(i), &k->generation.answers[i]);
    }
    sha256_to_hex(k->report.digest, hex);
    int n = snprintf(line, sizeof line, "level %u%s%s%s%s\n", k->report.level,
                     k->report.is_authenticated ? "" : ", unauthenticated: no trusted key signed this", k->report.has_volume ? "; digest " : "",
                     k->report.has_volume ? hex : "", k->report.has_volume ? k->report.is_full ? ", full profile" : ", compact profile" : "");
    is_written = is_written && command_write(line, (size_t)n);
    if (is_written && why != NULL) {
        n = snprintf(line, sizeof line, "what is required does not hold: %s\n", why);
        is_written = command_write(line, (size_t)n);
    }
    return is_written ? EXIT_DONE : EXIT_IO;
}

/* Does any of these answers have this verdict? */
static bool has_verdict(const prove_answer *answers, uint32_t n, prove_verdict verdict) {
    for (uint32_t i = 0; i < n; i++) {
        if (answers[i].verdict == verdict) {
            return true;
        }
    }
    return false;
}

/* A failing record is wrong whatever is required of the model; what a user did not ask for about it is not missing. */
static int judge(const checking *k, const char **out_why) {
    const prove_answer *record = k->generation.answers;
    const bool is_required = settings.has_least || settings.needs_signature;
    *out_why = NULL;
    if (k->generation.is_asked && has_verdict(record, CHECK_N_ANSWERS, PROVE_FAIL)) {
        return EXIT_BAD_INPUT;
    }
    if (is_required) {
        return prove_meets(&k->report, settings.least, settings.needs_signature, out_why) ? EXIT_DONE : EXIT_BAD_INPUT;
    }
    if (has_verdict(k->report.answers, PROVE_N_QUESTIONS, PROVE_FAIL)) {
        return EXIT_BAD_INPUT;
    }
    const bool is_open = has_verdict(k->report.answers, PROVE_N_QUESTIONS, PROVE_NOT_CHECKED) ||
                         (settings.generation.replays && record[CHECK_REPLAY].verdict == PROVE_NOT_CHECKED);
    return is_open ? EXIT_INCOMPLETE : EXIT_DONE;
}

static int check(command_context *c, const char *path) {
    checking *k = calloc(1, sizeof *k);
    command_progress progress;
    if (k == NULL) {
        FAIL(&c->err, QN_NO_HOST_MEM, "no memory to begin");
        return command_fail(c);
    }
    command_begin_progress(&progress, c, "checking");
    const qn_status status = ask(c, path, &progress, k);
    command_end_progress(&progress);
    int exit_status;
    if (status < 0) {
        exit_status = command_fail(c);
    } else {
        const char *why;
        exit_status = judge(k, &why);
        const int printed = c->json ? print_json(c, k, why) : print_text(k, why);
        exit_status = printed != EXIT_DONE ? printed : exit_status;
    }
    close_checking(k);
    return exit_status;
}

static int run(command_context *c) {
    const check_generation_options *g = &settings.generation;
    if (c->args.n_items != 1) {
        return graph_refuse_usage(c, "check needs one MODEL; %u arguments were given", c->args.n_items);
    }
    if (g->log == NULL && g->record == NULL && (g->replays || g->prompt != NULL || g->context != NULL || g->mac_key != NULL)) {
        return graph_refuse_usage(c, "--replay, --prompt, --context and --mac-key are about a record: name it with --log or --generation");
    }
    command_catch_signals(c);
    return check(c, c->args.items[0]);
}

const command command_check = {
    .name = "check",
    .summary = "Check where a model or an answer comes from",
    .synopsis = "MODEL [options]",
    .example = "  quoin check model.p64 --source model.gguf --trusted-keys keys.txt\n"
               "  quoin check model.p64 --log answers --replay --prompt question.txt\n",
    .options = check_options,
    .run = run};
