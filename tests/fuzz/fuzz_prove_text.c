/* fuzz_prove_text.c — consents, signatures and settings of any bytes. What is demanded: settings that are accepted are printed as they stand; a
 * consent that is accepted has parties and a time in which it is valid; a signature that is accepted has the key of its id. */
#include <stdlib.h>
#include <string.h>

#include "prove/prove_consent.h"
#include "prove/prove_signature.h"
#include "prove/settings_text.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_settings(fmt_str text) {
    run_settings settings, again;
    char printed[PROVE_MAX_TEXT];
    if (settings_parse(text, &settings, NULL) < 0) {
        return;
    }
    /* What was read may have been written otherwise (1.50 for 1.5); written by us it is read as the same. */
    const size_t n = settings_print(&settings, printed);
    REQUIRE(n == 0 || settings_parse((fmt_str){printed, n}, &again, NULL) == QN_OK);
    REQUIRE(n == 0 || memcmp(&settings, &again, sizeof again) == 0);
}

static void try_consent(fmt_str text) {
    prove_consent consent;
    if (prove_consent_parse(text, "consent", &consent, NULL) < 0) {
        return;
    }
    REQUIRE(consent.granted_by != NULL && consent.granted_to != NULL && consent.valid_until > consent.valid_from);
    REQUIRE(!consent.is_signed || consent.is_keyed);
    prove_consent_free(&consent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fmt_str text = {(const char *)data, size};
    prove_signature signature;
    try_settings(text);
    try_consent(text);
    if (prove_signature_parse((fmt_span){data, size}, "signature", &signature, NULL) == QN_OK) {
        REQUIRE(size == PROVE_SIGNATURE_BYTES && memcmp(signature.key.id, data + 16, KEY_ID_BYTES) == 0);
    }
    return 0;
}
