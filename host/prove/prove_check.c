/* prove_check.c — asking the six questions in order, and the level that comes out. */
#include "prove/prove_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/team.h"
#include "graph/verify_volume.h"
#include "prove/prove_check_parts.h"

const char *prove_verdict_name(prove_verdict verdict) {
    static const char *const names[] = {"NOT CHECKED", "PASS", "FAIL"};
    return names[verdict];
}

const char *prove_question_name(prove_question question) {
    static const char *const names[PROVE_N_QUESTIONS] = {"container", "tables",  "tensors", "source", "signature + consent",
                                                         "runtime + kernels"};
    return names[question];
}

void prove_answer_set(prove_answer *answer, prove_verdict verdict, const char *code, const char *format, ...) {
    va_list args;
    *answer = (prove_answer){.verdict = verdict, .code = code};
    va_start(args, format);
    vsnprintf(answer->text, sizeof answer->text, format, args);
    va_end(args);
}

static void skip_all(prove_report *report, const char *code, const char *why) {
    for (uint32_t i = 0; i < PROVE_N_QUESTIONS; i++) {
        prove_answer_set(&report->answers[i], PROVE_NOT_CHECKED, code, "%s", why);
    }
}

void prove_report_nothing(prove_report *report, const char *why) {
    memset(report, 0, sizeof *report);
    skip_all(report, "MISSING", why);
}

/* What the digest does not cover is the volume's own: its root, its indexes, and the room that no statement uses. */
static qn_status verify_own_checks(const char *path, error_context *err) {
    const verify_volume_options how = {.mode = FMT_MODE_DEFAULT, .level = Q42_LEVEL_FULL};
    volume_report_list list = {0};
    team *alone = NULL;
    qn_status status = team_create(1, &alone, err);
    status = status >= 0 ? verify_volume(path, &how, alone, &list, err) : status;
    for (uint32_t f = 0; f < list.n_files && status >= 0; f++) {
        for (uint32_t i = 0; i < list.files[f].n_checks && status >= 0; i++) {
            const verify_check *check = &list.files[f].checks[i];
            if (check->verdict == Q42_FAIL) {
                status = check->has_diag ? error_from_diag(err, FMT_BAD_FILE, &check->diag, path) : FAIL(err, QN_BAD_FILE, "%s: %s fails", path, check->name);
            }
        }
    }
    verify_report_free(&list);
    team_destroy(alone);
    return status;
}

/* Without a volume nothing can be asked; what is wrong with one that is there is the container's answer. */
static bool open_volume(const prove_check_options *o, prove_report *report, prove_reading *reading, qn_status *out_status,
                        error_context *err) {
    error_context local = {0};
    *out_status = prove_read_file(o->volume_path, reading, &local);
    if (*out_status >= 0) {
        *out_status = verify_own_checks(o->volume_path, &local);
    }
    if (*out_status >= 0) {
        *out_status = prove_digest(&reading->graph, report->digest, err);
        report->has_volume = *out_status >= 0;
        return report->has_volume;
    }
    prove_read_close(reading);
    if (*out_status == QN_NOT_FOUND) {
        skip_all(report, "MISSING", "there is no provenance volume");
        *out_status = QN_OK;
    } else if (*out_status != QN_NO_HOST_MEM && *out_status != QN_CANCELLED && *out_status != QN_INTERNAL) {
        skip_all(report, "PARSE", "the provenance volume cannot be read");
        prove_answer_set(&report->answers[PROVE_Q_CONTAINER], PROVE_FAIL, "PARSE", "%s", error_text(&local));
        *out_status = QN_OK;
    } else if (err != NULL) {
        *err = local;
    }
    return false;
}

static void find_level(prove_report *report) {
    report->level = 0;
    if (report->has_bad_signature) {
        return;
    }
    while (report->level <= PROVE_Q_SOURCE && report->answers[report->level].verdict == PROVE_PASS) {
        report->level++;
    }
}

static qn_status ask_all(prove_checking *c) {
    static qn_status (*const questions[PROVE_N_QUESTIONS])(prove_checking *) = {
        prove_ask_container, prove_ask_tables, prove_ask_tensors, prove_ask_source, prove_ask_signature, prove_ask_runtime};
    for (uint32_t i = 0; i < PROVE_N_QUESTIONS; i++) {
        QN_TRY(questions[i](c), c->err, "checking %s", prove_question_name(i));
    }
    return QN_OK;
}

qn_status prove_check(const prove_check_options *options, prove_report *out_report, prove_reading *out_reading, error_context *err) {
    prove_reading reading;
    qn_status status;
    memset(out_report, 0, sizeof *out_report);
    skip_all(out_report, "", "not reached");
    if (open_volume(options, out_report, &reading, &status, err)) {
        prove_checking c = {.options = options, .volume = &reading, .report = out_report, .err = err};
        status = ask_all(&c);
        find_level(out_report);
    }
    if (out_reading != NULL && out_report->has_volume && status >= 0) {
        *out_reading = reading;
    } else if (out_report->has_volume) {
        prove_read_close(&reading);
    }
    return status;
}

bool prove_meets(const prove_report *report, uint32_t least, bool needs_signature, const char **out_why) {
    const prove_answer *signature = &report->answers[PROVE_Q_SIGNATURE];
    *out_why = NULL;
    if (least > 0 && report->has_bad_signature) {
        *out_why = signature->text;
    } else if (report->level < (least < 4 ? least : 4)) {
        *out_why = report->answers[report->level].text;
    } else if (least >= 5 && (signature->verdict != PROVE_PASS || report->answers[PROVE_Q_RUNTIME].verdict != PROVE_PASS)) {
        *out_why = signature->verdict != PROVE_PASS ? signature->text : report->answers[PROVE_Q_RUNTIME].text;
    } else if (needs_signature && !report->is_authenticated) {
        *out_why = signature->text;
    }
    return *out_why == NULL;
}
