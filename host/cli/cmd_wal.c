/* cmd_wal.c — quoin wal: the log of governed commits, from outside. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/graph_command.h"
#include "cli/volume_options.h"
#include "cli/wal_review.h"
#include "cli/wal_text.h"
#include "keys/private_file.h"
#include "wal/wal_checkpoint.h"
#include "wal/wal_import.h"
#include "wal/wal_verify.h"

#define MOST_FILES 1000000

static struct {
    const char *key, *passphrase_file, *trusted, *revoked, *volume, *memory, *rotate;
    bool is_unsigned, is_withdrawn, shows_records, shows_quins, shows_review, is_strict, keeps_some;
    uint32_t keep;
} settings;

static const option *wal_options_table(void) {
    static const option table[] = {
        {OPTION_STRING, "key", 'k', "FILE", "import, consent: the private key that signs", &settings.key, 0, 0, NULL, NULL},
        {OPTION_STRING, "passphrase-file", 0, "FILE", "the key's passphrase is the first line of this private file; - for standard input",
         &settings.passphrase_file, 0, 0, NULL, NULL},
        {OPTION_FLAG, "unsigned", 0, NULL, "import: commit without a signature, and record it as that", &settings.is_unsigned, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "trusted", 0, "FILE", "verify, consent: one `ed25519:HEX name` a line", &settings.trusted, 0, 0, NULL, NULL},
        {OPTION_STRING, "revoked", 0, "FILE", "verify, consent: keys that count no more, as key revoke writes them", &settings.revoked,
         0, 0, NULL, NULL},
        {OPTION_FLAG, "withdraw", 0, NULL, "consent: end the agreement instead", &settings.is_withdrawn, 0, 0, NULL, NULL},
        {OPTION_FLAG, "records", 0, NULL, "show: every record", &settings.shows_records, 0, 0, NULL, NULL},
        {OPTION_FLAG, "quins", 0, NULL, "show: the statements that hold, in N-Quads", &settings.shows_quins, 0, 0, NULL, NULL},
        {OPTION_FLAG, "review", 0, NULL, "show: governed runs whose statements somebody has to look at", &settings.shows_review, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "volume", 0, "VOLUME", "show: where terms that the log does not hold are looked up", &settings.volume, 0, 0,
         NULL, NULL},
        {OPTION_UINT, "keep", 0, "N", "checkpoint: remove older files that no one needs, but for N (default: keep all)", &settings.keep,
         0, MOST_FILES, NULL, &settings.keeps_some},
        {OPTION_STRING, "rotate", 0, "SIZE", "import: a file of the log is followed by a new one at this size (default 64M)",
         &settings.rotate, 0, 0, NULL, NULL},
        {OPTION_STRING, "memory", 0, "SIZE", "checkpoint: memory for sorting (default 256M)", &settings.memory, 0, 0, NULL, NULL},
        {OPTION_FLAG, "strict", 0, NULL, "show, verify: refuse what a crash left at the end", &settings.is_strict, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

/* ---------------------------------------------------------------- what is shared */

typedef struct wal_reading {
    wal_set set;
    wal_state state;
} wal_reading;

static void close_reading(wal_reading *r) {
    wal_state_free(&r->state);
    wal_set_close(&r->set);
}

static qn_status open_reading(const char *directory, wal_reading *r, error_context *err) {
    memset(r, 0, sizeof *r);
    QN_TRY(wal_set_open(directory, settings.is_strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT, graph_tell_note,
                        (void *)(uintptr_t)directory, &r->set, err),
           err, "reading the log");
    return wal_state_build(&r->set, &r->state, err);
}

static qn_status open_log(const char *directory, bool may_create, wal **out_log, error_context *err) {
    wal_options options = {.directory = directory, .may_create = may_create};
    wal_recovery recovery;
    QN_TRY(graph_parse_size("--rotate", settings.rotate, WAL_LEAST_ROTATE, &options.rotate_bytes, err), err, "--rotate");
    QN_TRY(wal_open(&options, out_log, &recovery, err), err, "opening the log");
    if (recovery.n_torn_bytes > 0) {
        log_line(QN_LOG_WARN, "%s: %" PRIu64 " bytes that a crash left were cut off", directory, recovery.n_torn_bytes);
    }
    if (recovery.n_expired > 0) {
        log_line(QN_LOG_WARN, "%s: %u agreements have expired", directory, recovery.n_expired);
    }
    return QN_OK;
}

static qn_status open_key(signing_key **out_key, error_context *err) {
    char room[PASSPHRASE_SIZE];
    const char *passphrase = settings.passphrase_file != NULL ? room : NULL;
    qn_status status = passphrase != NULL ? private_file_passphrase(settings.passphrase_file, room, err) : QN_OK;
    status = status < 0 ? status : signing_key_open(settings.key, passphrase, out_key, err);
    private_file_forget(room, sizeof room);
    return status;
}

static qn_status read_keys(trusted_keys *keys, error_context *err) {
    memset(keys, 0, sizeof *keys);
    if (settings.trusted != NULL) {
        QN_TRY(trusted_keys_read(settings.trusted, keys, err), err, "reading the trusted keys");
    }
    const qn_status status = settings.revoked != NULL ? revocations_read(settings.revoked, &keys->revoked, err) : QN_OK;
    if (status < 0) {
        trusted_keys_free(keys);
    }
    return status;
}

/* ---------------------------------------------------------------- show */

static qn_status show_details(const wal_reading *r, json_t *object, error_context *err) {
    graph_volume *volume = NULL;
    qn_status status = QN_OK;
    if (settings.shows_records) {
        json_t *list = object != NULL ? json_array() : NULL;
        status = wal_text_records(&r->set, list, err);
        json_object_set_new(object, "records", list);
    }
    if (status >= 0 && settings.shows_review) {
        json_t *list = object != NULL ? json_array() : NULL;
        status = wal_review(&r->set, list, err);
        json_object_set_new(object, "review", list);
    }
    if (status >= 0 && settings.shows_quins) {
        json_t *list = object != NULL ? json_array() : NULL;
        status = settings.volume != NULL ? graph_volume_open(settings.volume, FMT_MODE_DEFAULT, TERMS_AUTO, &volume, err) : QN_OK;
        status = status < 0 ? status : wal_text_quins(&r->set, &r->state, volume, list, err);
        json_object_set_new(object, "statements", list);
        graph_volume_close(volume);
    }
    return status;
}

static int show(command_context *c, const wal_reading *r) {
    json_t *object = c->json ? wal_text_describe(&r->set, &r->state) : NULL;
    qn_status status = c->json ? QN_OK : wal_text_print(&r->set, &r->state, &c->err);
    status = status < 0 ? status : show_details(r, object, &c->err);
    if (status < 0) {
        json_decref(object);
        return status == QN_IO && c->err.code == QN_OK ? EXIT_IO : command_fail(c);
    }
    return c->json ? command_print_json(c, object) : EXIT_DONE;
}

static int run_show(command_context *c, const char *directory) {
    wal_reading r;
    const int status = open_reading(directory, &r, &c->err) < 0 ? command_fail(c) : show(c, &r);
    close_reading(&r);
    return status;
}

/* ---------------------------------------------------------------- verify */

static json_t *describe_signatures(const wal_signatures *s) {
    return json_pack("{s:I, s:I, s:I, s:I}", "valid", (json_int_t)s->n_valid, "wrong", (json_int_t)s->n_wrong, "revoked",
                     (json_int_t)s->n_revoked, "unknown", (json_int_t)s->n_unknown);
}

static int report_verify(command_context *c, const wal_reading *r, const wal_verify_report *v) {
    const wal_file *last = &r->set.files[r->set.n_files - 1];
    const uint64_t n_wrong = v->transactions.n_wrong + v->consents.n_wrong + v->n_wrong_volumes;
    const uint64_t n_open = v->transactions.n_unknown + v->consents.n_unknown + v->transactions.n_revoked + v->consents.n_revoked;
    const int exit_status = n_wrong > 0 ? EXIT_BAD_INPUT : n_open > 0 || last->log.n_torn_bytes > 0 ? EXIT_INCOMPLETE : EXIT_DONE;
    const char *result = exit_status == EXIT_DONE ? "pass" : exit_status == EXIT_INCOMPLETE ? "incomplete" : "fail";
    json_t *object = json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "directory", r->set.directory, "result",
                               result, "transactions", (json_int_t)r->state.n_commits, "unsigned", (json_int_t)r->state.n_unsigned,
                               "quins", (json_int_t)r->state.n_quins, "signatures", describe_signatures(&v->transactions), "consents",
                               describe_signatures(&v->consents), "checkpoints", (json_int_t)v->n_checkpoints, "volumes",
                               (json_int_t)v->n_volumes, "wrong_volumes", (json_int_t)v->n_wrong_volumes, "torn_bytes",
                               (json_int_t)last->log.n_torn_bytes, "first_wrong", (json_int_t)v->first_wrong);
    char where[64] = "";
    if (v->first_wrong > 0) {
        snprintf(where, sizeof where, "; first wrong: record %" PRIu64, v->first_wrong);
    }
    const int printed = graph_report(
        c, object,
        "%s: %s: %" PRIu64 " transactions (%" PRIu64 " unsigned), signatures: %" PRIu64 " valid, %" PRIu64 " wrong, %" PRIu64
        " revoked, %" PRIu64 " of unknown keys; %" PRIu64 " of %" PRIu64 " checkpoint volumes there, %" PRIu64 " wrong; %" PRIu64
        " bytes left by a crash%s\n",
        r->set.directory, result, r->state.n_commits, r->state.n_unsigned, v->transactions.n_valid + v->consents.n_valid,
        v->transactions.n_wrong + v->consents.n_wrong, v->transactions.n_revoked + v->consents.n_revoked,
        v->transactions.n_unknown + v->consents.n_unknown, v->n_volumes, v->n_checkpoints, v->n_wrong_volumes, last->log.n_torn_bytes,
        where);
    return printed != EXIT_DONE ? printed : exit_status;
}

static int run_verify(command_context *c, const char *directory) {
    wal_reading r = {0};
    trusted_keys keys = {0};
    wal_verify_report report = {0};
    qn_status status = read_keys(&keys, &c->err);
    status = status < 0 ? status : open_reading(directory, &r, &c->err);
    status = status < 0 ? status : wal_verify(&r.set, &r.state, &keys, &report, &c->err);
    const int exit_status = status < 0 ? command_fail(c) : report_verify(c, &r, &report);
    close_reading(&r);
    trusted_keys_free(&keys);
    return exit_status;
}

/* ---------------------------------------------------------------- checkpoint */

static qn_status make_checkpoint(command_context *c, const char *directory, command_progress *progress, wal_checkpoint_report *report) {
    wal *log = NULL;
    wal_checkpoint_options options = {.keep_files = settings.keeps_some ? settings.keep : WAL_KEEP_ALL,
                                      .progress = command_show_progress, .progress_ctx = progress};
    QN_TRY(volume_options_memory(settings.memory, &options.memory, &c->err), &c->err, "--memory");
    QN_TRY(command_start_team(c), &c->err, "starting");
    QN_TRY(open_log(directory, false, &log, &c->err), &c->err, "making a checkpoint");
    options.workers = c->workers;
    const qn_status status = wal_checkpoint_run(log, &options, report, &c->err);
    wal_close(log);
    return status;
}

static int run_checkpoint(command_context *c, const char *directory) {
    wal_checkpoint_report report = {0};
    command_progress progress;
    char hex[2 * Q42_DIGEST_BYTES + 1];
    command_begin_progress(&progress, c, "writing");
    const qn_status status = make_checkpoint(c, directory, &progress, &report);
    command_end_progress(&progress);
    if (status < 0) {
        return command_fail(c);
    }
    json_t *object = json_pack("{s:s, s:b, s:s?, s:s?, s:I, s:I, s:I, s:I, s:i}", "directory", directory, "made", (int)report.is_made,
                               "volume", report.path, "digest",
                               report.is_made ? graph_hex(report.checkpoint.digest, Q42_DIGEST_BYTES, hex) : NULL, "last_sequence",
                               (json_int_t)report.checkpoint.last_sequence, "transactions", (json_int_t)report.n_transactions, "quins",
                               (json_int_t)report.n_quins, "terms", (json_int_t)report.n_terms, "removed_files", (int)report.n_removed);
    const int printed =
        report.is_made ? graph_report(c, object, "%s: %" PRIu64 " transactions, %" PRIu64 " quins, %" PRIu64 " terms; %u files removed\n",
                                      report.path, report.n_transactions, report.n_quins, report.n_terms, report.n_removed)
                       : graph_report(c, object, "%s: nothing was committed since the last checkpoint; %u files removed\n", directory,
                                      report.n_removed);
    wal_checkpoint_report_free(&report);
    return printed;
}

/* ---------------------------------------------------------------- import */

static qn_status import_log(command_context *c, const char *directory, const char *path, wal_import_report *report) {
    wal *log = NULL;
    signing_key *key = NULL;
    qn_status status = settings.key != NULL ? open_key(&key, &c->err) : QN_OK;
    status = status < 0 ? status : open_log(directory, true, &log, &c->err);
    status = status < 0 ? status : wal_import(log, path, key, report, &c->err);
    wal_close(log);
    signing_key_close(key);
    return status;
}

static int run_import(command_context *c, const char *directory) {
    wal_import_report report = {0};
    if (c->args.n_items != 3) {
        return graph_refuse_usage(c, "wal import needs DIRECTORY and one FILE");
    }
    if ((settings.key != NULL) == settings.is_unsigned) {
        return graph_refuse_usage(c, "wal import needs --key FILE or --unsigned");
    }
    const char *path = c->args.items[2];
    if (import_log(c, directory, path, &report) < 0) {
        return command_fail(c);
    }
    json_t *object = json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I}", "directory", directory, "file", path, "had_digest",
                               (int)report.has_digest, "transactions", (json_int_t)report.n_transactions, "quins",
                               (json_int_t)report.n_quins, "wrong_parities", (json_int_t)report.n_wrong_parity, "empty",
                               (json_int_t)report.n_empty, "torn_bytes", (json_int_t)report.n_torn_bytes);
    return graph_report(c, object, "%s: %" PRIu64 " quins in %" PRIu64 " transactions; %" PRIu64 " parities were wrong and are computed "
                        "anew, %" PRIu64 " cleared quins and %" PRIu64 " bytes at the end are left out\n", path, report.n_quins,
                        report.n_transactions, report.n_wrong_parity, report.n_empty, report.n_torn_bytes);
}

/* ---------------------------------------------------------------- consent */

static bool read_id(const char *text, uint64_t *out) {
    uint8_t bytes[8];
    const char *digits = strncmp(text, "0x", 2) == 0 ? text + 2 : text;
    char padded[17] = "0000000000000000";
    const size_t size = strlen(digits);
    if (size == 0 || size > 16) {
        return false;
    }
    memcpy(padded + 16 - size, digits, size);
    if (!key_parse_hex(padded, sizeof bytes, bytes)) {
        return false;
    }
    *out = 0;
    for (size_t i = 0; i < sizeof bytes; i++) {
        *out = *out << 8 | bytes[i];
    }
    return true;
}

static qn_status sign_agreement(wal *log, uint64_t agreement, const signing_key *key, const trusted_keys *keys,
                                wal_consent_result *result, error_context *err) {
    uint8_t signature[SIGNATURE_BYTES];
    const wal_agreement *one = wal_state_find(wal_get_state(log), agreement);
    if (one == NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s: knows no agreement %016" PRIx64 "; quoin wal show lists them", wal_directory(log), agreement);
    }
    QN_TRY(signing_key_sign(key, one->terms.digest, sizeof one->terms.digest, signature, err), err, "signing");
    return wal_consent(log, agreement, signing_key_public(key)->id, signature, keys, result, err);
}

/* *out_refused: the consent itself was not right, and not a file on the way to it. */
static qn_status give_consent(command_context *c, const char *directory, uint64_t agreement, wal_consent_result *result,
                              bool *out_refused) {
    wal *log = NULL;
    signing_key *key = NULL;
    trusted_keys keys = {0};
    qn_status status = settings.is_withdrawn ? QN_OK : open_key(&key, &c->err);
    status = status < 0 ? status : read_keys(&keys, &c->err);
    status = status < 0 ? status : open_log(directory, false, &log, &c->err);
    if (status >= 0) {
        status = settings.is_withdrawn ? wal_withdraw(log, agreement, &c->err)
                                       : sign_agreement(log, agreement, key, &keys, result, &c->err);
        *out_refused = status == QN_DENIED;
    }
    wal_close(log);
    trusted_keys_free(&keys);
    signing_key_close(key);
    return status;
}

static int run_consent(command_context *c, const char *directory) {
    wal_consent_result result = {0};
    uint64_t agreement;
    bool was_refused = false;
    if (c->args.n_items != 3 || !read_id(c->args.items[2], &agreement)) {
        return graph_refuse_usage(c, "wal consent needs DIRECTORY and the hexadecimal id of one agreement");
    }
    if (!settings.is_withdrawn && (settings.key == NULL || settings.trusted == NULL)) {
        return graph_refuse_usage(c, "wal consent needs --key FILE and --trusted FILE, or --withdraw");
    }
    if (give_consent(c, directory, agreement, &result, &was_refused) < 0) {
        const int status = command_fail(c);
        return was_refused ? EXIT_BAD_INPUT : status;
    }
    const char *standing = settings.is_withdrawn ? "withdrawn" : result.is_committed ? "committed" : "pending";
    json_t *object = json_pack("{s:s, s:o, s:s, s:i, s:i}", "directory", directory, "agreement", graph_json_id(agreement), "standing",
                               standing, "consents", (int)result.n_valid, "threshold", (int)result.threshold);
    return settings.is_withdrawn
               ? graph_report(c, object, "agreement %016" PRIx64 ": withdrawn\n", agreement)
               : graph_report(c, object, "agreement %016" PRIx64 ": %s, %u of %u consents\n", agreement, standing, result.n_valid,
                              result.threshold);
}

/* ---------------------------------------------------------------- the command */

static int run(command_context *c) {
    static const struct {
        const char *word;
        int (*run)(command_context *c, const char *directory);
        bool takes_more;
    } words[] = {{"show", run_show, false}, {"verify", run_verify, false}, {"checkpoint", run_checkpoint, false},
                 {"import", run_import, true}, {"consent", run_consent, true}};
    const char *word = c->args.n_items > 0 ? c->args.items[0] : "";
    command_catch_signals(c);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, word) == 0) {
            if (c->args.n_items < 2 || (!words[i].takes_more && c->args.n_items > 2)) {
                return graph_refuse_usage(c, "wal %s needs %sDIRECTORY", word, words[i].takes_more ? "" : "one ");
            }
            return words[i].run(c, c->args.items[1]);
        }
    }
    return graph_refuse_usage(c, "wal needs one of show|verify|checkpoint|import|consent");
}

const command command_wal = {.name = "wal",
                             .summary = "Look after the log of governed commits",
                             .synopsis = "show|verify|checkpoint DIRECTORY, import DIRECTORY FILE, or consent DIRECTORY AGREEMENT",
                             .example = "  quoin wal show /var/lib/quoin/wal\n"
                                        "  quoin wal consent /var/lib/quoin/wal 00000000000a11ce --key alice.key --trusted trusted.keys\n"
                                        "  quoin wal checkpoint /var/lib/quoin/wal --keep 4\n",
                             .options = wal_options_table,
                             .run = run,
                             .is_without_backend = true};
