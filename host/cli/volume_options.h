/* volume_options.h — what the commands that read volumes share: names of conventions. */
#ifndef HOST_VOLUME_OPTIONS_H
#define HOST_VOLUME_OPTIONS_H
#include <string.h>

#include "graph/volume.h"

/* "surface", "bare", "token"; anything else, and null, is found out from the volume. */
static inline term_convention volume_options_terms(const char *name) {
    for (term_convention terms = TERMS_SURFACE; name != NULL && terms <= TERMS_TOKEN; terms++) {
        if (strcmp(name, term_convention_name(terms)) == 0) {
            return terms;
        }
    }
    return TERMS_AUTO;
}

#endif
