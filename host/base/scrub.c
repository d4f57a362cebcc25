/* scrub.c — explicit_bzero, and counts. */
#define _DEFAULT_SOURCE /* explicit_bzero */
#include "base/scrub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *scrub_class_name(scrub_class which) {
    static const char *const names[SCRUB_CLASSES] = {"state", "scratch", "logits", "tokens", "text", "rules", "adapter"};
    return which < SCRUB_CLASSES ? names[which] : "none";
}

void scrub_memory(scrub_report *report, scrub_class which, void *memory, size_t bytes) {
    if (bytes > 0) {
        explicit_bzero(memory, bytes);
    }
    if (report != NULL) {
        report->bytes[which] += bytes;
    }
}

void scrub_free(void *memory, size_t bytes) {
    if (memory != NULL) {
        explicit_bzero(memory, bytes);
        free(memory);
    }
}

void *scrub_grow(void *memory, size_t used, size_t bytes) {
    void *grown = malloc(bytes);
    if (grown != NULL && used > 0) {
        memcpy(grown, memory, used);
    }
    if (grown != NULL) {
        scrub_free(memory, used);
    }
    return grown;
}

void scrub_miss(scrub_report *report, const char *what, const char *why) {
    if (report != NULL && !report->is_partial) {
        report->is_partial = true;
        snprintf(report->missing, sizeof report->missing, "%s: %s", what, why);
    }
}

uint64_t scrub_total(const scrub_report *report) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < SCRUB_CLASSES; i++) {
        bytes += report->bytes[i];
    }
    return bytes;
}
