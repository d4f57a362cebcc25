/* fuzz_q42_car.c — archives of any bytes. What is demanded: a refusal has words; blocks lie in the file, one after another, and each
 * hashes to its CID. */
#include <stdlib.h>
#include <string.h>

#include <quoin/q42_files.h>

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fmt_span span = {data, size};
    q42_car car;
    q42_car_block block;
    fmt_diag diag = {.text = ""};
    uint64_t at = 0;
    fmt_status status = q42_car_open(span, FMT_MODE_DEFAULT, &car, NULL, NULL, &diag);
    while (status == FMT_OK) {
        const uint64_t before = at;
        status = q42_car_next(&car, &at, &block, &diag);
        if (status == FMT_OK) {
            q42_cid own;
            REQUIRE(at > before && at <= size);
            REQUIRE(block.data.data >= data && block.data.data + block.data.size == data + at);
            REQUIRE(q42_cid_of(block.cid.codec, block.data.data, block.data.size, &own) && q42_cid_equal(&own, &block.cid));
        }
    }
    REQUIRE(status == FMT_NOT_FOUND || strlen(diag.text) > 0);
    return 0;
}
