/* p64_report.c — the table of rules, and how a finding becomes a diagnosis or a note. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "p64_layout.h"

#define ADVICE_DAMAGED "The file is damaged or incomplete: copy it again, or convert the model again."
#define ADVICE_FOREIGN "This is no P64 container."
#define ADVICE_NEWER "It was written by a program that follows another edition of the format; this one cannot read it."
#define ADVICE_WRITER "The program that wrote the file is at fault: convert the model again."
#define ADVICE_STRICT "The default mode accepts this; convert the model again to follow the standard's letter."
#define ADVICE_LIMIT "Such a file is not read: convert the model again."
#define ADVICE_VALUES "The model would compute nonsense: get the weights again."
#define ADVICE_NONE ""

#define BOTH P64_RULE_BOTH
#define STRICT P64_RULE_STRICT
#define NOTE P64_RULE_NOTE
#define WEIGHTS P64_RULE_WEIGHTS
#define RULE(name, id, section, mode, standard, advice, sentence) \
    {id, section, standard, mode, sentence, ADVICE_##advice},
static const p64_rule_info rules[] = {
#include "rules.def"
};
#undef RULE

const p64_rule_info *p64_rules(uint32_t *out_count) {
    *out_count = P64_R_COUNT;
    return rules;
}

const p64_rule_info *p64_find_rule(const char *id) {
    for (uint32_t i = 0; i < P64_R_COUNT; i++) {
        if (strcmp(rules[i].id, id) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}

/* Fills a diagnosis: the caller's words, then ". " and the advice as far as there is room. */
static void fill_diag(fmt_diag *diag, p64_rule rule, p64_at at, const char *text, va_list args) {
    diag->rule = rules[rule].id;
    diag->section = rules[rule].section;
    diag->offset = at.offset;
    diag->index = at.index;
    diag->expected = at.expected;
    diag->got = at.got;
    vsnprintf(diag->text, sizeof diag->text, text, args);
    const size_t used = strlen(diag->text);
    const char *advice = rules[rule].advice;
    if (used + 2 + strlen(advice) < sizeof diag->text) {
        snprintf(diag->text + used, sizeof diag->text - used, advice[0] == '\0' ? ".%s" : ". %s", advice);
    }
}

fmt_status p64_refuse(const p64_reader *r, p64_rule rule, p64_at at, const char *text, ...) {
    if (r->diag != NULL) {
        va_list args;
        va_start(args, text);
        fill_diag(r->diag, rule, at, text, args);
        va_end(args);
    }
    return FMT_BAD_FILE;
}

static void send_note(const p64_reader *r, p64_rule rule, p64_at at, const char *text, va_list args) {
    if (r->note != NULL) {
        fmt_diag note;
        fill_diag(&note, rule, at, text, args);
        r->note(r->note_ctx, &note);
    }
}

fmt_status p64_strictly(const p64_reader *r, p64_rule rule, p64_at at, const char *text, ...) {
    va_list args;
    va_start(args, text);
    const bool is_refused = r->mode == FMT_MODE_STRICT;
    if (!is_refused) {
        send_note(r, rule, at, text, args);
    } else if (r->diag != NULL) {
        fill_diag(r->diag, rule, at, text, args);
    }
    va_end(args);
    return is_refused ? FMT_BAD_FILE : FMT_OK;
}

void p64_note(const p64_reader *r, p64_rule rule, p64_at at, const char *text, ...) {
    va_list args;
    va_start(args, text);
    send_note(r, rule, at, text, args);
    va_end(args);
}

uint64_t p64_first_nonzero(fmt_span span, uint64_t begin, uint64_t end) {
    static const uint8_t zeros[256];
    uint64_t at = begin;
    while (end - at >= sizeof zeros && memcmp(span.data + at, zeros, sizeof zeros) == 0) {
        at += sizeof zeros;
    }
    for (; at < end; at++) {
        if (span.data[at] != 0) {
            return at;
        }
    }
    return UINT64_MAX;
}

fmt_status p64_require_zero(const p64_reader *r, p64_rule rule, uint64_t begin, uint64_t end, const char *what) {
    const uint64_t at = p64_first_nonzero(r->span, begin, end);
    if (at == UINT64_MAX) {
        return FMT_OK;
    }
    return p64_refuse(r, rule, (p64_at){at, FMT_NO_INDEX, 0, r->span.data[at]}, "%s: byte %llu is %02x, and must be 00",
                      what, (unsigned long long)at, r->span.data[at]);
}

fmt_status p64_strictly_zero(const p64_reader *r, p64_rule rule, uint64_t begin, uint64_t end, const char *what) {
    const uint64_t at = p64_first_nonzero(r->span, begin, end);
    if (at == UINT64_MAX) {
        return FMT_OK;
    }
    return p64_strictly(r, rule, (p64_at){at, FMT_NO_INDEX, 0, r->span.data[at]}, "%s: byte %llu is %02x instead of 00",
                        what, (unsigned long long)at, r->span.data[at]);
}
