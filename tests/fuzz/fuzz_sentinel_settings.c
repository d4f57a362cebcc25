/* fuzz_sentinel_settings.c — files of rules of any bytes. What is demanded: a refusal names the file; what is accepted has a rule, texts of at
 * least one byte, and phrases that an automaton can be made of, or is told why not. */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sentinel/sentinel_settings.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accepted(const sentinel_settings *s) {
    bool has_rule = false;
    for (uint32_t i = 0; i < SENTINEL_RULES; i++) {
        has_rule |= s->is_on[i];
        REQUIRE(s->actions[i] <= SENTINEL_ABORT);
    }
    REQUIRE(has_rule);
    for (size_t i = 0; i < s->n_deny_texts; i++) {
        REQUIRE(s->deny_texts[i].size > 0);
    }
    if (s->n_phrases > 0) {
        phrase_automaton a;
        error_context err = {0};
        if (phrase_automaton_make(s->phrases, s->n_phrases, s->folds_case, &a, &err) == QN_OK) {
            uint32_t found;
            phrase_automaton_walk(&a, 0, s->phrases[0].bytes, s->phrases[0].size, &found);
            REQUIRE(found != PHRASE_NONE);
            phrase_automaton_free(&a);
        } else {
            REQUIRE(strlen(error_text(&err)) > 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    sentinel_settings settings;
    error_context err = {0};
    const int fd = memfd_create("rules", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sentinel_settings_read(path, &settings, &err) < 0) {
        REQUIRE(strncmp(error_text(&err), path, strlen(path)) == 0);
    } else {
        check_accepted(&settings);
    }
    sentinel_settings_free(&settings);
    close(fd);
    return 0;
}
