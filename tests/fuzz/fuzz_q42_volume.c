/* fuzz_q42_volume.c — volumes of any bytes: opened in both modes, every section read, every block decoded and verified;
 * what a scan finds by an object, the scan of all finds too. */
#include "fuzz_q42.h"

static uint64_t checksum; /* so that no read is optimised away */

static void take_note(void *ctx, const fmt_diag *note) {
    require_diag(note, *(const uint64_t *)ctx);
}

static void visit_indexes(const q42_volume *volume) {
    fmt_diag diag;
    for (uint64_t block = 0; block < volume->header.block_count; block++) {
        const q42_range range = q42_object_range(volume, block);
        const q42_directory_entry entry = q42_get_directory_entry(volume, block);
        uint64_t begin, end;
        REQUIRE(range.least <= range.most);
        q42_object_blocks(volume, range.least, range.most, &begin, &end);
        REQUIRE(begin <= block && block < end && end <= volume->header.block_count);
        checksum += touch(volume->span.data + entry.offset, entry.size);
        for (q42_field field = Q42_SUBJECT; field <= Q42_CONTEXT; field++) {
            bool may_hold = false;
            if ((volume->header.flags & Q42_FLAG_FIELD_RANGES) != 0) {
                checksum += q42_field_range(volume, block, field).most;
            }
            if ((volume->header.flags & Q42_FLAG_FIELD_POSTINGS) != 0 &&
                q42_postings_test(volume, block, field, range.least, &may_hold, &diag) != FMT_OK) {
                require_diag(&diag, volume->span.size);
            }
        }
    }
}

static void visit_blocks(const q42_volume *volume, uint8_t *room) {
    static q42_block_facts facts;
    static q42_chain chain;
    q42_chain_begin(volume, &chain);
    for (uint64_t block = 0; block < volume->header.block_count; block++) {
        q42_verify_block(volume, block, Q42_WANT_DIGEST | Q42_WANT_INDEXES, room, &facts);
        if (facts.decode.status != FMT_OK) {
            require_diag(&facts.decode.diag, volume->span.size);
        }
        REQUIRE(!facts.is_decoded || (facts.n_quins >= 1 && facts.n_quins <= Q42_BLOCK_QUINS));
        q42_chain_join(&chain, &facts);
        q42_chain_add_payload(&chain, block);
    }
    q42_chain_end(&chain);
    REQUIRE(chain.n_joined == volume->header.block_count && chain.n_duplicates <= chain.n_quins);
    for (uint64_t node = 0; node < chain.n_nodes; node++) {
        checksum += q42_dag_get(volume, node).flags;
    }
}

static fmt_status count(const q42_volume *volume, const q42_pattern *pattern, uint8_t *room, uint64_t *out_n) {
    q42_scan scan;
    q42_quin quin;
    fmt_diag diag;
    fmt_status status;
    *out_n = 0;
    q42_scan_begin(&scan, volume, pattern, room);
    while ((status = q42_scan_next(&scan, &quin, &diag)) == FMT_OK) {
        (*out_n)++;
    }
    REQUIRE(status == FMT_NOT_FOUND || status == FMT_BAD_FILE);
    if (status == FMT_BAD_FILE) {
        require_diag(&diag, volume->span.size);
    }
    return status;
}

static void visit_scans(const q42_volume *volume, uint8_t *room) {
    const q42_pattern all = {.bound = 0};
    uint64_t n_all, n;
    if (count(volume, &all, room, &n_all) != FMT_NOT_FOUND || volume->header.block_count == 0) {
        return;
    }
    const q42_range whole = {q42_object_range(volume, 0).least,
                             q42_object_range(volume, volume->header.block_count - 1).most};
    const q42_pattern every_object = {.bound = Q42_BOUND_OBJECT, .object = whole};
    REQUIRE(count(volume, &every_object, room, &n) == FMT_NOT_FOUND && n == n_all);
    const q42_pattern one_object = {.bound = Q42_BOUND_OBJECT, .object = {whole.most, whole.most}};
    REQUIRE(count(volume, &one_object, room, &n) == FMT_NOT_FOUND && n >= 1);
}

static void visit_manifest(const q42_manifest *manifest) {
    q42_manifest_walk walk = {0, 0};
    q42_segment member;
    while (q42_manifest_next(manifest, &walk, &member)) {
        checksum += touch(member.locator.data, member.locator.size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t room[Q42_BLOCK_BYTES];
    const fmt_span span = {data, size};
    const uint64_t file_size = size;
    q42_volume volume;
    fmt_diag diag;
    uint64_t context = file_size;
    const fmt_status strictly = q42_open(span, FMT_MODE_STRICT, &volume, take_note, &context, &diag);
    if (strictly != FMT_OK) {
        require_diag(&diag, file_size);
    }
    const fmt_status status = q42_open(span, FMT_MODE_DEFAULT, &volume, take_note, &context, &diag);
    REQUIRE(status == FMT_OK || status == FMT_BAD_FILE || status == FMT_UNSUPPORTED);
    REQUIRE(strictly != FMT_OK || status == FMT_OK);
    if (status != FMT_OK) {
        require_diag(&diag, file_size);
        return 0;
    }
    visit_manifest(&volume.manifest);
    checksum += visit_lexicon(&volume.lexicon, file_size);
    visit_indexes(&volume);
    visit_blocks(&volume, room);
    visit_scans(&volume, room);
    return 0;
}
