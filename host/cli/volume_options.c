/* volume_options.c — reading them. */
#include "cli/volume_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MEMORY (UINT64_C(256) << 20)
#define LEAST_MEMORY (UINT64_C(32) << 20)
#define MOST_BYTES (UINT64_C(1) << 50)

term_convention volume_options_terms(const char *name) {
    for (term_convention terms = TERMS_SURFACE; name != NULL && terms <= TERMS_TOKEN; terms++) {
        if (strcmp(name, term_convention_name(terms)) == 0) {
            return terms;
        }
    }
    return TERMS_AUTO;
}

qn_status volume_options_size(const char *name, const char *text, uint64_t least, uint64_t *out_bytes, error_context *err) {
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && value < MOST_BYTES; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
    }
    const char *units = "KMG", *unit = *at != 0 && at > text ? strchr(units, *at) : NULL;
    if (unit != NULL && value < MOST_BYTES) {
        value <<= 10 * (unit - units + 1);
        at++;
    }
    if (at == text || *at != 0 || value < least || value > MOST_BYTES) {
        return FAIL(err, QN_BAD_INPUT, "%s %s: must be a number of bytes, at least %lluK; K, M or G may stand behind it", name, text,
                    (unsigned long long)least >> 10);
    }
    *out_bytes = value;
    return QN_OK;
}

qn_status volume_options_memory(const char *text, uint64_t *out_bytes, error_context *err) {
    *out_bytes = DEFAULT_MEMORY;
    return text != NULL ? volume_options_size("--memory", text, LEAST_MEMORY, out_bytes, err) : QN_OK;
}

const char *volume_options_folder(const char *target, char *room, size_t size) {
    const char *slash = target != NULL ? strrchr(target, '/') : NULL;
    if (target == NULL) {
        const char *temporary = getenv("TMPDIR");
        return temporary != NULL && temporary[0] != 0 ? temporary : "/tmp";
    }
    if (slash == NULL || (size_t)(slash - target) + 1 >= size) {
        return slash == NULL ? "." : "/tmp";
    }
    snprintf(room, size, "%.*s", slash == target ? 1 : (int)(slash - target), target);
    return room;
}
