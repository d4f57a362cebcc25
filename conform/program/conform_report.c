/* conform_report.c — lines for a person. */
#include "program/conform_report.h"

#include <stdio.h>
#include <string.h>

static const char *const level_names[CONFORM_LEVELS] = {"file", "protocol", "op vectors", "fuzz", "layer", "model", "robustness", "speed"};

bool conform_is_broken(const conform_run *run, uint32_t test) {
    const conform_outcome outcome = run->results[test].outcome;
    if (outcome == OUTCOME_UNSUPPORTED) {
        return run->is_here && conform_is_must(run->request, &run->plan.entries[test]);
    }
    return outcome != OUTCOME_PASS && outcome != OUTCOME_WAIVED;
}

void conform_print_head(const conform_run *run) {
    const conform_request *r = run->request;
    printf("plugin %s%s%s%s%s", r->name, conform_fact(&run->facts, "name")[0] != '\0' ? ": " : "", conform_fact(&run->facts, "name"),
           conform_fact(&run->facts, "version")[0] != '\0' ? " " : "", conform_fact(&run->facts, "version"));
    if (run->is_here && conform_fact(&run->facts, "device")[0] != '\0') {
        printf(", device %s (%s), driver %s", conform_fact(&run->facts, "device"), conform_fact(&run->facts, "device_name"),
               conform_fact(&run->facts, "driver"));
    }
    printf("\nprofile %s, class %s, CPU level %s, %u workers, seed %llu, %u tests\n", r->profile, r->numeric, r->mask, r->workers,
           (unsigned long long)r->seed, run->plan.n);
    if (!run->is_here || run->is_stuck) {
        printf("nothing but the file can be tested: opening the plugin: %s\n", run->opening.words);
    }
}

static void print_lines(const char *head, const text_buffer *lines) {
    for (size_t at = 0; at < lines->size;) {
        const char *end = memchr(lines->text + at, '\n', lines->size - at);
        const size_t n = end == NULL ? lines->size - at : (size_t)(end - lines->text) - at;
        printf("             %s%.*s\n", head, (int)n, lines->text + at);
        at += n + 1;
    }
}

void conform_print_result(const conform_run *run, uint32_t test) {
    const conform_request *r = run->request;
    const conform_entry *entry = &run->plan.entries[test];
    const conform_result *result = &run->results[test];
    const bool is_broken = conform_is_broken(run, test);
    if (r->quiet && !is_broken) {
        return;
    }
    printf("%-12s %s  (%llu cases, %.2f s)%s\n", conform_outcome_name(result->outcome), entry->id, (unsigned long long)result->n_cases,
           result->seconds, result->outcome == OUTCOME_UNSUPPORTED && is_broken ? "  the profile wants it" : "");
    if (result->words[0] != '\0' && (is_broken || r->verbose || result->outcome != OUTCOME_PASS)) {
        printf("             %s\n", result->words);
    }
    if (result->outcome == OUTCOME_WAIVED) {
        printf("             waived %s: %s\n", conform_outcome_name(result->waived), result->waiver);
    }
    if (is_broken || r->verbose) {
        print_lines("note: ", &result->notes);
        print_lines("printed: ", &result->printed);
    }
    if (is_broken) {
        char number[24] = "";
        if (result->last_case > 0) {
            snprintf(number, sizeof number, "/%llu", (unsigned long long)result->last_case);
        }
        printf("             requirement %s; repeat with --repro %s:%llu%s\n", entry->test->requirement[0] != '\0' ? entry->test->requirement : "-",
               entry->id, (unsigned long long)r->seed, number);
    }
    for (uint32_t i = 0; i < result->n_measures && (r->bench || r->verbose); i++) {
        printf("             %-40s %12.6g %s\n", result->measures[i].name, result->measures[i].value, result->measures[i].unit);
    }
    fflush(stdout);
}

static void print_waivers(const conform_waivers *waivers) {
    for (uint32_t i = 0; i < waivers->n; i++) {
        const conform_waiver *one = &waivers->all[i];
        if (one->is_expired) {
            printf("waiver %s of line %u ended on %s and waives nothing any more\n", one->pattern, one->line, one->last_day);
        } else if (one->n_used == 0 && one->n_passed == 0) {
            printf("waiver %s of line %u was not used\n", one->pattern, one->line);
        }
    }
}

void conform_print_summary(const conform_run *run) {
    print_waivers(&run->waivers);
    printf("%u passed, %u failed, %u crashed, %u timed out, %u unsupported, %u waived, %.1f s, seed %llu\n", run->n_of[OUTCOME_PASS],
           run->n_of[OUTCOME_FAIL], run->n_of[OUTCOME_CRASH], run->n_of[OUTCOME_TIMEOUT], run->n_of[OUTCOME_UNSUPPORTED],
           run->n_of[OUTCOME_WAIVED], run->seconds, (unsigned long long)run->request->seed);
    if (run->n_broken > 0) {
        printf("profile %s: not passed, %u %s against it\n", run->request->profile, run->n_broken,
               run->n_broken == 1 ? "test stands" : "tests stand");
    } else if (!run->is_here) {
        printf("profile %s: not tested: %s\n", run->request->profile, run->opening.words);
    } else {
        printf("profile %s: passed\n", run->request->profile);
    }
}

static const char *must_word(const conform_run *run, const conform_entry *entry) {
    return conform_is_must(run->request, entry) ? "must" : "may";
}

void conform_print_list(const conform_run *run) {
    uint32_t level = CONFORM_LEVELS;
    for (uint32_t i = 0; i < run->plan.n; i++) {
        const conform_entry *entry = &run->plan.entries[i];
        if (entry->suite->level != level) {
            level = entry->suite->level;
            printf("level %u, %s\n", level, level_names[level < CONFORM_LEVELS ? level : 0]);
        }
        printf("  %-4s %-12s %s\n", must_word(run, entry), entry->test->requirement, entry->id);
    }
}
