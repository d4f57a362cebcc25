/* error.c — filling the error context. */
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void error_clear(error_context *err) {
    if (err != NULL) {
        err->code = QN_OK;
        err->n_frames = 0;
        err->rule = NULL;
        err->offset = 0;
    }
}

ERROR_PRINTF(4, 0)
static void push_frame(error_context *err, const char *file, int line, const char *format, va_list args) {
    if (err->n_frames < ERROR_MAX_FRAMES) {
        error_frame *frame = &err->frames[err->n_frames++];
        frame->file = file;
        frame->line = line;
        vsnprintf(frame->text, sizeof frame->text, format, args);
    }
}

qn_status error_set(error_context *err, qn_status code, const char *file, int line, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        error_clear(err);
        err->code = code;
        push_frame(err, file, line, format, args);
        va_end(args);
    }
    return code;
}

qn_status error_add(error_context *err, qn_status code, const char *file, int line, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        err->code = code;
        push_frame(err, file, line, format, args);
        va_end(args);
    }
    return code;
}

static const char *rule_of(const fmt_diag *diag) {
    return diag->rule != NULL ? diag->rule : "none";
}

static qn_status translate_status(fmt_status status, const fmt_diag *diag) {
    switch (status) {
    case FMT_OK: return QN_OK;
    case FMT_BAD_FILE: return strstr(rule_of(diag), "crc") != NULL ? QN_CHECKSUM : QN_BAD_FILE;
    case FMT_LIMIT: return QN_LIMIT;
    case FMT_NO_SPACE: return QN_NO_HOST_MEM;
    case FMT_IO: return QN_IO;
    case FMT_NOT_FOUND: return QN_NOT_FOUND;
    case FMT_UNSUPPORTED: return QN_UNSUPPORTED;
    case FMT_CANCELLED: return QN_CANCELLED;
    default: return QN_BAD_ARG;
    }
}

qn_status error_from_diag(error_context *err, fmt_status status, const fmt_diag *diag, const char *path) {
    const qn_status code = translate_status(status, diag);
    /* About writing: no byte of a format, and the text names the file. */
    if (code < 0 && strcmp(rule_of(diag), "file") == 0) {
        return error_set(err, code == QN_LIMIT ? QN_IO : code, __FILE__, __LINE__, "%s", diag->text);
    }
    if (code < 0 && err != NULL) {
        error_set(err, code, __FILE__, __LINE__, "%s: byte %" PRIu64 ": %s (rule %s)", path, diag->offset, diag->text,
                  rule_of(diag));
        err->rule = diag->rule;
        err->offset = diag->offset;
    }
    return code;
}

qn_status error_from_errno(error_context *err, int number, const char *path, const char *doing) {
    const qn_status code = number == ENOENT ? QN_NOT_FOUND : number == EACCES || number == EPERM ? QN_DENIED : QN_IO;
    return error_set(err, code, __FILE__, __LINE__, "%s: %s: %s", path, doing, strerror(number));
}

qn_status error_put_path(error_context *err, qn_status code, const char *path) {
    if (err != NULL && err->n_frames > 0) {
        char text[ERROR_TEXT_SIZE];
        memcpy(text, err->frames[0].text, sizeof text);
        snprintf(err->frames[0].text, sizeof err->frames[0].text, "%.480s: %.540s", path, text);
    }
    return code;
}

const char *error_text(const error_context *err) {
    return err->n_frames > 0 ? err->frames[0].text : status_meaning(err->code);
}

const char *status_name(qn_status code) {
    switch (code) {
#define QN_STATUS(name, number, meaning) case number: return #name;
#include <quoin/status.def>
#undef QN_STATUS
    default: return "UNKNOWN";
    }
}

const char *status_meaning(qn_status code) {
    switch (code) {
#define QN_STATUS(name, number, meaning) case number: return meaning;
#include <quoin/status.def>
#undef QN_STATUS
    default: return "a status that this program does not know";
    }
}
