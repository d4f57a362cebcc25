/* fuzz_lora.c — adapters of any bytes. What is demanded: a refusal has words; every matrix of an accepted file is inside it; an accepted
 * file is written again with the same bytes. The same bytes are tried with right sums, so that what stands behind them is reached. */
#include <stdlib.h>
#include <string.h>

#include <quoin/lora.h>

#include "common/crc32c.h"
#include "common/endian.h"
#include "common/sha.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the writer gives is compared as it comes. */
typedef struct comparison {
    const uint8_t *wanted;
    uint64_t size, at;
} comparison;

static bool compare(void *ctx, const void *bytes, uint64_t size) {
    comparison *c = ctx;
    REQUIRE(size <= c->size - c->at && memcmp(c->wanted + c->at, bytes, size) == 0);
    c->at += size;
    return true;
}

static void write_again(const lora_file *file) {
    comparison c = {file->span.data, file->span.size, 0};
    lora_pair *pairs = calloc(file->n_entries, sizeof *pairs);
    REQUIRE(pairs != NULL);
    for (uint32_t i = 0; i < file->n_entries; i++) {
        const lora_entry e = lora_get_entry(file, i);
        REQUIRE(e.a_bytes <= file->span.size && e.a_at <= file->span.size - e.a_bytes);
        REQUIRE(e.b_bytes <= file->span.size && e.b_at <= file->span.size - e.b_bytes);
        REQUIRE(lora_role_name(e.role) != NULL && e.rank > 0);
        pairs[i] = (lora_pair){e.role, e.layer, e.rank, e.alpha, e.n_in, e.n_out, e.type, file->span.data + e.a_at,
                               file->span.data + e.b_at};
    }
    if (file->version == 2 && lora_check_payload(file, NULL) == FMT_OK) {
        REQUIRE(lora_write(file->base, pairs, file->n_entries, compare, &c, NULL) == FMT_OK && c.at == c.size);
    }
    free(pairs);
}

static void check(const uint8_t *data, size_t size) {
    lora_file file;
    fmt_diag diag = {.text = ""};
    const fmt_status status = lora_open((fmt_span){data, size}, &file, &diag);
    REQUIRE(status == FMT_OK || (status == FMT_BAD_FILE && strlen(diag.text) > 0));
    if (status == FMT_OK) {
        (void)lora_check_payload(&file, &diag);
        write_again(&file);
    }
}

static void repair(uint8_t *data, size_t size) {
    if (size < LORA_V2_HEADER_BYTES || load_u32(data + 4) != 2) {
        return;
    }
    const uint64_t end = LORA_V2_HEADER_BYTES + (uint64_t)load_u32(data + 8) * LORA_ENTRY_BYTES;
    store_u64(data + 16, size);
    if (end <= size) {
        store_u32(data + 96, crc32c(data + LORA_V2_HEADER_BYTES, end - LORA_V2_HEADER_BYTES));
        REQUIRE(sha256_digest(data + end, size - end, data + 64));
    }
    store_u32(data + 124, crc32c(data, 124));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + 1);
    REQUIRE(copy != NULL);
    check(data, size);
    memcpy(copy, data, size);
    repair(copy, size);
    check(copy, size);
    free(copy);
    return 0;
}
