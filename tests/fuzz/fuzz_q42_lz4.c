/* fuzz_q42_lz4.c — LZ4 blocks of any bytes through our decoder and through liblz4: both accept or both refuse, with the
 * same bytes; but for matches of distance 0, which only ours refuses. The first two bytes tell the size that is
 * expected. */
#include "fuzz_q42.h"

#include <lz4.h>

#include "q42/q42_lz4.h"

enum { MOST = 65535 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint32_t wanted = size < 2 ? 0 : (uint32_t)data[0] | (uint32_t)data[1] << 8;
    if (wanted == 0) { /* of nothing liblz4 takes one form only; no block is empty */
        return 0;
    }
    uint8_t *ours = malloc(wanted + 1u),
            *theirs = malloc(wanted + 1u); /* exactly as long as told: tools see a step too far */
    uint8_t *input = malloc(size - 1);
    REQUIRE(ours != NULL && theirs != NULL && input != NULL && wanted <= MOST);
    memcpy(input, data + 2, size - 2);
    memset(ours, 0xa5, wanted + 1u);
    const lz4_outcome outcome = q42_lz4_decode(input, (uint32_t)size - 2, ours, wanted);
    const int got = LZ4_decompress_safe((const char *)input, (char *)theirs, (int)size - 2, (int)wanted);
    REQUIRE(ours[wanted] == 0xa5);
    if (outcome == LZ4_DECODED) {
        REQUIRE(got == (int)wanted && memcmp(ours, theirs, wanted) == 0);
    } else {
        REQUIRE(outcome == LZ4_ZERO_DISTANCE || got != (int)wanted);
    }
    free(ours);
    free(theirs);
    free(input);
    return 0;
}
