/* conform_waivers.c — reading the file, and turning known failures into WAIVED. */
#include "program/conform_waivers.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped_file.h"

#define BLANKS " \t"

static bool is_date(const char *text) {
    static const char shape[] = "dddd-dd-dd";
    for (size_t i = 0; i < sizeof shape - 1; i++) {
        const bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (shape[i] == 'd' ? !is_digit : text[i] != '-') {
            return false;
        }
    }
    return text[sizeof shape - 1] == '\0';
}

/* Copies the word at *at and moves behind it and the blanks after it. */
static bool take_field(const char **at, char *out, size_t room) {
    const size_t n = strcspn(*at, BLANKS);
    if (n == 0 || n >= room) {
        return false;
    }
    snprintf(out, room, "%.*s", (int)n, *at);
    *at += n;
    *at += strspn(*at, BLANKS);
    return true;
}

static qn_status read_line(conform_waivers *w, const char *text, uint32_t line, const char *today, error_context *err) {
    conform_waiver one = {.line = line};
    const char *at = text + strspn(text, BLANKS);
    if (*at == '\0' || *at == '#') {
        return QN_OK;
    }
    if (!take_field(&at, one.pattern, sizeof one.pattern) || !take_field(&at, one.last_day, sizeof one.last_day) || !is_date(one.last_day)) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %u: '%.60s': must be a pattern of test ids, a last day as 2027-03-31, and a reason", w->path,
                    line, text);
    }
    if (strlen(at) < 10) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %u: %s is waived without a reason; say why, in ten letters at least", w->path, line, one.pattern);
    }
    snprintf(one.reason, sizeof one.reason, "%.399s", at);
    one.is_expired = strcmp(today, one.last_day) > 0;
    conform_waiver *larger = realloc(w->all, (w->n + 1) * sizeof *larger);
    if (larger == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for the waivers", w->path);
    }
    w->all = larger;
    w->all[w->n++] = one;
    return QN_OK;
}

static qn_status read_lines(conform_waivers *w, fmt_span file, const char *today, error_context *err) {
    uint32_t line = 0;
    for (uint64_t at = 0; at < file.size; line++) {
        char text[1024];
        const unsigned char *begin = file.data + at, *end = memchr(begin, '\n', (size_t)(file.size - at));
        const size_t n = (size_t)(end != NULL ? (uint64_t)(end - begin) : file.size - at);
        if (n >= sizeof text || memchr(begin, '\0', n) != NULL) {
            return FAIL(err, QN_BAD_INPUT, "%s: line %u: longer than %zu bytes, or not text", w->path, line + 1, sizeof text - 1);
        }
        memcpy(text, begin, n);
        text[n > 0 && text[n - 1] == '\r' ? n - 1 : n] = '\0';
        QN_TRY(read_line(w, text, line + 1, today, err), err, "reading waivers");
        at += n + 1;
    }
    return QN_OK;
}

qn_status conform_waivers_read(const char *path, const char *today, conform_waivers *out, error_context *err) {
    mapped_file file;
    *out = (conform_waivers){.path = path};
    QN_TRY(mapped_file_open(path, &file, err), err, "reading waivers");
    const qn_status status = read_lines(out, file.span, today, err);
    mapped_file_close(&file);
    return status;
}

void conform_waivers_free(conform_waivers *waivers) {
    free(waivers->all);
    *waivers = (conform_waivers){0};
}

static void refuse_waiver(const conform_waivers *w, const conform_waiver *one, conform_result *result) {
    char words[CF_LINE_SIZE];
    snprintf(words, sizeof words, "it passes, but line %u of %.2000s waives it: take that line out (%s)", one->line, w->path, one->reason);
    snprintf(result->words, sizeof result->words, "%s", words);
    result->outcome = OUTCOME_FAIL;
}

void conform_waive(conform_waivers *waivers, const conform_entry *entry, bool is_must, conform_result *result) {
    for (uint32_t i = 0; i < waivers->n; i++) {
        conform_waiver *one = &waivers->all[i];
        if (one->is_expired || fnmatch(one->pattern, entry->id, 0) != 0) {
            continue;
        }
        if (result->outcome == OUTCOME_PASS) {
            one->n_passed++;
            refuse_waiver(waivers, one, result);
        } else if (result->outcome != OUTCOME_UNSUPPORTED || is_must) {
            one->n_used++;
            result->waived = result->outcome;
            result->waiver = one->reason;
            result->outcome = OUTCOME_WAIVED;
        }
        return;
    }
}
