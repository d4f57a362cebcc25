/* fuzz_gguf_adapter.c — GGUF adapters of any bytes. What is demanded: a refusal has words; an accepted adapter has pairs that ascend, all of their
 * elements can be read and are finite. */
#include <stdlib.h>
#include <string.h>

#include "adapt/adapter_read.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pairs(const adapter *a) {
    REQUIRE(a->n_pairs > 0);
    for (uint32_t i = 0; i < a->n_pairs; i++) {
        const lora_pair *pair = &a->pairs[i];
        uint64_t element;
        REQUIRE(i == 0 || lora_compare(pair - 1, pair) < 0);
        REQUIRE(pair->rank > 0 && (pair->type == BLK_F32 || pair->type == BLK_F16));
        REQUIRE(!blk_find_nonfinite(pair->type, pair->a, 0, (uint64_t)pair->rank * pair->n_in, &element));
        REQUIRE(!blk_find_nonfinite(pair->type, pair->b, 0, (uint64_t)pair->rank * pair->n_out, &element));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static error_context err;
    char name[] = "fuzz";
    const mapped_file file = {.span = {data, size}, .fd = -1, .path = name};
    adapter a = {.path = NULL};
    error_clear(&err);
    const qn_status status = adapter_read_gguf(&file, &a, &err);
    REQUIRE(status == QN_OK || strlen(error_text(&err)) > 0);
    if (status == QN_OK) {
        check_pairs(&a);
    }
    adapter_close(&a);
    return 0;
}
