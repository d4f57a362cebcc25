/* conform_request.c — the option table of quoin-conform, and what its words mean. */
#define _XOPEN_SOURCE 700
#include "program/conform_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/words.h"

#define PROFILES "decode-core-0|protocol-0|none"
#define CLASSES "f32acc|f16acc|act8"
#define MOST_OPTIONS 28

/* Fills table; the same list is read by --help, the manual's test and completion. */
static void fill_table(conform_request *r, option table[MOST_OPTIONS]) {
    const option all[] = {
        {.kind = OPTION_STRING, .name = "device", .metavar = "ID", .help = "test this device (the first one)", .target = &r->device},
        {.kind = OPTION_LIST, .name = "option", .metavar = "K=V", .help = "an option of the plugin; may be repeated", .target = &r->options},
        {.kind = OPTION_STRING, .name = "profile", .metavar = "NAME", .help = "decode-core-0, protocol-0 or none", .target = &r->profile,
         .choices = PROFILES},
        {.kind = OPTION_STRING, .name = "level", .metavar = "N[,N]", .help = "only these levels, 0 to 7", .target = &r->levels,
         .was_given = &r->has_levels},
        {.kind = OPTION_STRING, .name = "filter", .metavar = "GLOB", .help = "only tests whose id matches", .target = &r->filter},
        {.kind = OPTION_UINT64, .name = "seed", .metavar = "N", .help = "another draw of numbers (1)", .target = &r->seed,
         .was_given = &r->has_seed},
        {.kind = OPTION_STRING, .name = "repro", .metavar = "ID", .help = "repeat one test or case: LEVEL.SUITE.TEST[:SEED[/CASE]]",
         .target = &r->repro},
        {.kind = OPTION_FLAG, .name = "bench", .help = "measure speed (level 7) instead of testing", .target = &r->bench},
        {.kind = OPTION_STRING, .name = "compare", .metavar = "FILE", .help = "print what is slower or faster than in this report",
         .target = &r->compare},
        {.kind = OPTION_FLOAT, .name = "fail-if-slower", .metavar = "P", .help = "with --compare: slower by more than P percent fails (5)",
         .target = &r->percent, .least = 0, .most = 99, .was_given = &r->has_percent},
        {.kind = OPTION_STRING, .name = "report", .metavar = "FILE", .help = "write the report, one JSON object", .target = &r->report},
        {.kind = OPTION_FLAG, .name = "coverage", .help = "print ops x formats: verdict, tested or not", .target = &r->coverage},
        {.kind = OPTION_FLAG, .name = "list", .help = "list the tests and run none", .target = &r->list},
        {.kind = OPTION_STRING, .name = "waivers", .metavar = "FILE", .help = "failures that are known: PATTERN DATE REASON a line",
         .target = &r->waivers},
        {.kind = OPTION_STRING, .name = "numeric", .metavar = "CLASS", .help = "f32acc, f16acc or act8 (f32acc)", .target = &r->numeric,
         .choices = CLASSES},
        {.kind = OPTION_STRING, .name = "mask", .metavar = "LEVEL", .help = "CPU features to tell of: c, avx2, avx512, neon, … (native)",
         .target = &r->mask},
        {.kind = OPTION_UINT, .name = "workers", .metavar = "N", .help = "threads of the team (2)", .target = &r->workers, .least = 1,
         .most = CF_MOST_WORKERS},
        {.kind = OPTION_FLOAT, .name = "timeout", .metavar = "S", .help = "seconds for one test (60)", .target = &r->timeout,
         .least = 0.1, .most = 86400},
        {.kind = OPTION_FLAG, .name = "quick", .help = "fewer shapes: for emulators and sanitizers", .target = &r->quick},
        {.kind = OPTION_FLAG, .name = "in-process", .help = "run tests in this process: for debuggers", .target = &r->in_process},
        {.kind = OPTION_FLAG, .name = "json", .help = "print the report instead of lines", .target = &r->json},
        {.kind = OPTION_FLAG, .name = "quiet", .letter = 'q', .help = "print only what did not pass, and the summary", .target = &r->quiet},
        {.kind = OPTION_FLAG, .name = "verbose", .letter = 'v', .help = "print notes and what the plugin printed too",
         .target = &r->verbose},
        {.kind = OPTION_FLAG, .name = "help", .letter = 'h', .help = "print this help", .target = &r->help},
        {.kind = OPTION_FLAG, .name = "version", .help = "print the version", .target = &r->version},
        {.kind = OPTION_END}};
    _Static_assert(sizeof all / sizeof all[0] <= MOST_OPTIONS, "room for the options");
    memcpy(table, all, sizeof all);
}

void conform_print_help(void) {
    conform_request unused;
    option table[MOST_OPTIONS];
    fill_table(&unused, table);
    printf("usage: quoin-conform PLUGIN [options]\n\n"
           "Checks a backend against the plugin ABI. PLUGIN is a plugin file, or the word reference.\n\n");
    options_print_help(table);
    printf("\nexit status: 0 conforms, 1 a test failed, 2 usage, 3 nothing can be tested on this machine, 6 I/O error, 130 interrupted\n");
}

/* --- Single words ----------------------------------------------------------------------------------------------------- */

static uint32_t profile_must(const char *profile) {
    return strcmp(profile, "protocol-0") == 0 ? CF_MUST_PROTOCOL
           : strcmp(profile, "none") == 0     ? 0
                                              : CF_MUST_PROTOCOL | CF_MUST_DECODE;
}

static qn_status check_compare(const conform_request *r, error_context *err) {
    if (r->has_percent && r->compare == NULL) {
        return FAIL(err, QN_BAD_INPUT, "--fail-if-slower needs --compare FILE: slower than what?");
    }
    return r->compare == NULL || r->bench ? QN_OK : FAIL(err, QN_BAD_INPUT, "--compare %s: needs --bench, which measures", r->compare);
}

static qn_status read_levels(conform_request *r, error_context *err) {
    r->level_mask = r->bench ? 0x80u : strcmp(r->profile, "protocol-0") == 0 ? 0x03u : 0x7fu;
    if (!r->has_levels) {
        return QN_OK;
    }
    r->level_mask = 0;
    for (const char *at = r->levels;; at++) {
        uint64_t level;
        if (!decimal_read(&at, CONFORM_LEVELS - 1, &level) || (*at != ',' && *at != '\0')) {
            return FAIL(err, QN_BAD_INPUT, "--level %s: must be numbers from 0 to 7 with commas between them", r->levels);
        }
        r->level_mask |= 1u << level;
        if (*at == '\0') {
            return QN_OK;
        }
    }
}

/* LEVEL.SUITE.TEST[:SEED[/CASE]] */
static qn_status read_repro(conform_request *r, error_context *err) {
    if (r->repro == NULL) {
        return QN_OK;
    }
    const size_t length = strcspn(r->repro, ":");
    const char *at = r->repro + length;
    bool is_good = length > 0 && length < sizeof r->repro_id;
    if (is_good && *at == ':') {
        at++;
        is_good = decimal_read(&at, UINT64_MAX, &r->seed);
        if (is_good && *at == '/') {
            at++;
            is_good = decimal_read(&at, UINT64_MAX, &r->repro_case) && r->repro_case > 0;
        }
    }
    if (!is_good || *at != '\0') {
        return FAIL(err, QN_BAD_INPUT, "--repro %s: must be LEVEL.SUITE.TEST, LEVEL.SUITE.TEST:SEED or LEVEL.SUITE.TEST:SEED/CASE, as a "
                    "failure prints it", r->repro);
    }
    snprintf(r->repro_id, sizeof r->repro_id, "%.*s", (int)length, r->repro);
    return QN_OK;
}

static qn_status read_options(conform_request *r, error_context *err) {
    for (uint32_t i = 0; i < r->options.n_items; i++) {
        const char *text = r->options.items[i], *equals = strchr(text, '=');
        if (equals == NULL || equals == text || (size_t)(equals - text) >= CONFORM_KEY_SIZE) {
            return FAIL(err, QN_BAD_INPUT, "--option %s: must be KEY=VALUE, with a key of up to %u letters", text, CONFORM_KEY_SIZE - 1);
        }
        snprintf(r->keys[i], CONFORM_KEY_SIZE, "%.*s", (int)(equals - text), text);
        r->pairs[i] = (qn_option){r->keys[i], equals + 1};
    }
    return QN_OK;
}

static qn_status read_path(conform_request *r, error_context *err) {
    if (strcmp(r->name, "reference") == 0) {
        return QN_OK;
    }
    char *path = realpath(r->name, NULL);
    if (path == NULL || strlen(path) >= sizeof r->path) {
        free(path);
        return FAIL(err, QN_BAD_INPUT, "%s: there is no such file; a plugin file is expected, or the word reference", r->name);
    }
    snprintf(r->path, sizeof r->path, "%s", path);
    free(path);
    return QN_OK;
}

static qn_status read_class(conform_request *r) {
    r->numeric_class = strcmp(r->numeric, "act8") == 0     ? QN_NUMERIC_ACT8
                       : strcmp(r->numeric, "f16acc") == 0 ? QN_NUMERIC_F16ACC
                                                           : QN_NUMERIC_F32ACC;
    return QN_OK;
}

static qn_status read_mask(conform_request *r, int *out_status, error_context *err) {
    bool is_known;
    if (cf_host_features(r->mask, &r->features, &is_known)) {
        return QN_OK;
    }
    if (!is_known) {
        return FAIL(err, QN_BAD_INPUT, "--mask %s: choose one of c avx2 avxvnni avx512 avx512vnni neon dotprod native", r->mask);
    }
    *out_status = CONFORM_NOT_HERE;
    return FAIL(err, QN_UNAVAILABLE, "--mask %s: this machine does not have that level", r->mask);
}

/* --- All of them ------------------------------------------------------------------------------------------------------ */

static qn_status read_plugin_argument(conform_request *r, const arguments *args, error_context *err) {
    if (args->n_items != 1) {
        return args->n_items == 0 ? FAIL(err, QN_BAD_INPUT, "no plugin: give a plugin file, or the word reference; --help lists the options")
                                  : FAIL(err, QN_BAD_INPUT, "%s: one plugin at a time, and %s is given already", args->items[1], args->items[0]);
    }
    r->name = args->items[0];
    return read_path(r, err);
}

qn_status conform_request_read(conform_request *out, int argc, char *const *argv, int *out_status, error_context *err) {
    static arguments args; /* large */
    option table[MOST_OPTIONS];
    const option *const tables[] = {table};
    *out = (conform_request){.profile = "decode-core-0", .numeric = "f32acc", .mask = "native", .seed = 1, .workers = 2, .timeout = 60,
                             .percent = 5};
    *out_status = CONFORM_USAGE;
    fill_table(out, table);
    qn_status status = options_parse(tables, 1, argc, argv, &args, err);
    if (status < 0 || out->help || out->version) {
        return status;
    }
    out->must = profile_must(out->profile);
    status = out->list && args.n_items == 0 ? QN_OK : read_plugin_argument(out, &args, err);
    status = status < 0 ? status : check_compare(out, err);
    status = status < 0 ? status : read_levels(out, err);
    status = status < 0 ? status : read_repro(out, err);
    status = status < 0 ? status : read_options(out, err);
    status = status < 0 ? status : read_class(out);
    return status < 0 ? status : read_mask(out, out_status, err);
}
