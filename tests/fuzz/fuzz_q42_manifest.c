/* fuzz_q42_manifest.c — manifests of any bytes: records, order, locators that stay below the root's folder. */
#include "fuzz_q42.h"

static uint64_t checksum; /* so that no read is optimised away */

static void require_locator(fmt_str locator) {
    REQUIRE(locator.size > 0 && memchr(locator.data, 0, locator.size) == NULL && locator.data[0] != '/');
    for (uint64_t i = 0; i + 2 <= locator.size; i++) {
        const bool is_start = i == 0 || locator.data[i - 1] == '/';
        const bool is_end = i + 2 == locator.size || locator.data[i + 2] == '/';
        REQUIRE(!(is_start && is_end && memcmp(locator.data + i, "..", 2) == 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    q42_manifest manifest;
    q42_manifest_walk walk = {0, 0};
    q42_segment member, before = {0};
    fmt_diag diag;
    uint32_t n = 0;
    if (q42_manifest_open((fmt_span){data, size}, 0, &manifest, &diag) != FMT_OK) {
        require_diag(&diag, size);
        return 0;
    }
    for (; q42_manifest_next(&manifest, &walk, &member); n++) {
        REQUIRE(member.bytes > 0 && member.first <= member.last && member.offset < size);
        REQUIRE(n == 0 || n == manifest.n_segments || member.first >= before.last);
        require_locator(member.locator);
        checksum += member.digest[0];
        before = member;
    }
    REQUIRE(n == manifest.n_segments + manifest.n_shards && walk.at == size);
    return 0;
}
