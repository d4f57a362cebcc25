/* fuzz_policy.c — policies of any bytes. What is demanded: a refusal tells the line; what is accepted has a canonical text that is, read as a
 * policy again, the same policy with the same digest, and every named section is found by its name. */
#include <stdlib.h>
#include <string.h>

#include "govern/policy.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    policy p = {0}, again = {0};
    error_context err = {0};
    text_buffer text = {0};
    if (policy_parse((fmt_span){data, size}, "policy", &p, &err) < 0) {
        REQUIRE(strstr(error_text(&err), "policy: ") != NULL);
        policy_free(&p);
        return 0;
    }
    for (uint32_t i = 0; i < p.n_scopes; i++) {
        REQUIRE(policy_find_scope(&p, p.scopes[i].head.id) != NULL);
    }
    for (uint32_t i = 0; i < p.n_profiles; i++) {
        REQUIRE(policy_find_profile(&p, p.profiles[i].head.name) != NULL);
    }
    REQUIRE(policy_canonical(&p, false, &text, &err) == QN_OK);
    REQUIRE(policy_parse((fmt_span){(const uint8_t *)text.text, text.size}, "policy", &again, &err) == QN_OK);
    REQUIRE(memcmp(p.digest, again.digest, sizeof p.digest) == 0);
    policy_free(&again);
    policy_free(&p);
    text_buffer_free(&text);
    return 0;
}
