/* fuzz_q42_postings.c — a PIDX of any bytes: what a list names, the test finds, and the values rise. */
#include "fuzz_q42.h"

#include "q42/q42_internal.h"

static void visit_block(const q42_volume *volume, uint64_t block) {
    q42_postings lists[3];
    fmt_diag diag;
    if (q42_read_postings(volume, block, lists, &diag) != FMT_OK) {
        require_diag(&diag, volume->span.size);
        return;
    }
    for (q42_field field = Q42_SUBJECT; field <= Q42_CONTEXT; field++) {
        uint64_t value = 0, before = 0;
        bool may_hold = false;
        for (uint32_t n = 0; lists[field].bloom == NULL && n < 50 && q42_postings_next(&lists[field], &value); n++) {
            REQUIRE(n == 0 || value > before);
            REQUIRE(q42_postings_test(volume, block, field, value, &may_hold, &diag) == FMT_OK && may_hold);
            before = value;
        }
        REQUIRE(q42_postings_test(volume, block, field, 12345, &may_hold, &diag) == FMT_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint64_t n_blocks = size >= 12 ? load_u32(data + Q42_INDEX_COUNT_AT) : 0;
    fmt_diag diag;
    const q42_volume volume = {
        .span = {data, size}, .header = {.flags = Q42_FLAG_FIELD_POSTINGS, .pidx = {0, size}, .block_count = n_blocks}};
    const q42_reader reader = {.span = volume.span, .diag = &diag};
    if (size == 0) {
        return 0;
    }
    if (q42_check_pidx(&reader, &volume.header) != FMT_OK) {
        REQUIRE(diag.text[0] != '\0');
        return 0;
    }
    for (uint64_t block = 0; block < n_blocks; block++) {
        visit_block(&volume, block);
    }
    return 0;
}
