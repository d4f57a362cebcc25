/* fuzz_prove_volume.c — provenance volumes of any bytes. What is demanded: a volume that is read has a digest, every text in it has its hash, and no
 * question about it ends but with an answer; a record whose name is right has the digest that it is named by. */
#include <stdlib.h>
#include <string.h>

#include "prove/prove_consent.h"
#include "prove/prove_generation.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask_consents(const prove_reading *r) {
    prove_consent consent;
    uint64_t at = 0, subject;
    while (prove_next_of_type(r, "q42m:Consent", &at, &subject)) {
        if (prove_consent_load(r, subject, &consent, NULL) == QN_OK) {
            prove_consent_free(&consent);
        }
    }
}

static void ask_generation(const prove_reading *r) {
    generation_record record;
    uint32_t *ids = NULL, n = 0;
    if (prove_generation_find(r, NULL, &record, NULL) == QN_OK) {
        REQUIRE(strncmp(record.name, "", 1) != 0);
        if (prove_generation_prompt(r, record.subject, &ids, &n)) {
            REQUIRE(n > 0);
        }
        free(ids);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    prove_reading r;
    uint8_t digest[SHA256_BYTES];
    uint64_t hash;
    if (prove_read_span((fmt_span){data, size}, "volume", &r, NULL) < 0) {
        prove_read_close(&r);
        return 0;
    }
    REQUIRE(prove_digest(&r.graph, digest, NULL) == QN_OK);
    for (uint64_t i = 0; i < r.graph.volume.n_terms; i++) {
        fmt_str found;
        const fmt_str text = small_volume_term(&r.graph.volume, i, &hash);
        REQUIRE(q42_hash(text.data, text.size) == hash && prove_find_text(&r, hash, &found) && found.size == text.size);
    }
    ask_consents(&r);
    ask_generation(&r);
    prove_read_close(&r);
    return 0;
}
