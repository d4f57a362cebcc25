/* fuzz_sieve_spec.c — descriptions of sieves of any bytes. What is demanded: a refusal tells line and column; numbers lie in their ranges,
 * every text ends inside the file's copy, and every label belongs to a term. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "constrain/sieve_spec.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const sieve_spec *spec, const char *text, size_t size) {
    REQUIRE(text == NULL || (text >= spec->text && text + strlen(text) <= spec->text + size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sieve_spec spec;
    error_context err = {0};
    if (sieve_spec_parse((fmt_str){(const char *)data, size}, "spec", &spec, &err) < 0) {
        REQUIRE(strncmp(error_text(&err), "spec: line ", 11) == 0);
        return 0;
    }
    REQUIRE(spec.beam <= SIEVE_MAX_BEAM && spec.memory_mib >= 1 && !isnan(spec.review_below) && spec.separator != NULL);
    check_text(&spec, spec.volume, size);
    check_text(&spec, spec.graph, size);
    for (uint32_t slot = 0; slot < SIEVE_SLOTS; slot++) {
        for (uint32_t i = 0; i < spec.slots[slot].n_terms; i++) {
            REQUIRE(spec.slots[slot].terms[i].text[0] != '\0' && spec.slots[slot].terms[i].line > 0);
            check_text(&spec, spec.slots[slot].terms[i].label, size);
        }
        for (uint32_t i = 0; i < spec.slots[slot].n_patterns; i++) {
            check_text(&spec, spec.slots[slot].patterns[i], size);
        }
    }
    sieve_spec_free(&spec);
    return 0;
}
