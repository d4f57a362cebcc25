/* fuzz_p64.c — the P64 reader on any bytes, in both modes: both steps of opening agree, every view and look-up stays inside
 * the file, blobs in pieces give what whole blobs give. Checksums are made right for half of the inputs, so that the rules
 * behind them are reached.
 */
#include <stdlib.h>
#include <string.h>

#include <quoin/p64.h>

#include "common/crc32c.h"
#include "common/endian.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHECKSUM_AT = 28 };

static uint64_t checksum; /* so that no read is optimised away */
static bool was_noted;

static void touch(const void *bytes, uint64_t size) {
    const uint8_t *at = bytes;
    if (size > 0) {
        checksum += (uint64_t)at[0] + at[size - 1];
    }
}

static void take_note(void *ctx, const fmt_diag *note) {
    (void)ctx;
    REQUIRE(p64_find_rule(note->rule) != NULL && note->text[0] != '\0');
    was_noted = true;
}

static void require_diag(const fmt_diag *diag, size_t size) {
    REQUIRE(p64_find_rule(diag->rule) != NULL);
    REQUIRE(diag->text[0] != '\0' && memchr(diag->text, 0, sizeof diag->text) != NULL);
    REQUIRE(diag->offset <= size || strcmp(diag->rule, "file-size") == 0);
}

static void visit_tensor(const p64_file *file, uint32_t index) {
    const p64_tensor t = p64_get_tensor(file, index);
    const uint64_t step = p64_piece_size(file, index, 100);
    p64_piece whole = p64_piece_empty(), piece;
    p64_tensor found;
    fmt_diag one, two;
    touch(t.name.data, t.name.size);
    touch(t.blob.data, t.blob.size);
    REQUIRE(p64_find_name(file, t.name.data, t.name.size, &found) && found.index == index);
    REQUIRE(p64_find_source_hash(file, t.source_name_hash, &found));
    REQUIRE(p64_find_role(file, t.role, t.layer, &found));
    if (t.blob.size > 20000) {
        return; /* once whole would do; many small pieces only cost time */
    }
    for (uint64_t at = 0; at < t.blob.size; at += step) {
        p64_check_piece(file, index, at, t.blob.size - at < step ? t.blob.size - at : step, P64_CHECK_ALL, &piece);
        p64_join_piece(&whole, &piece);
    }
    const fmt_status in_pieces = p64_judge_tensor(file, index, &whole, &one);
    const fmt_status at_once = p64_check_tensor(file, index, P64_CHECK_ALL, &two);
    REQUIRE(in_pieces == at_once);
    REQUIRE(in_pieces == FMT_OK || (one.offset == two.offset && strcmp(one.rule, two.rule) == 0));
}

static fmt_str get_token(void *ctx, uint32_t id) {
    return p64_get_token(ctx, id);
}

static void visit_tokenizer(p64_file *file) {
    const p64_tokenizer *t = &file->tokenizer;
    uint32_t stops[P64_MAX_STOPS];
    uint64_t at = t->merges_at;
    fmt_str left, right;
    for (uint32_t i = 0; i < t->n_merges; i++) {
        p64_next_merge(file, &at, &left, &right);
        REQUIRE(left.size > 0 && right.size > 0);
        touch(left.data, left.size);
        touch(right.data, right.size);
    }
    touch(t->pre.data, t->pre.size);
    const uint32_t count = p64_derive_stops(get_token, file, t->n_tokens, t->eos, stops);
    REQUIRE(count >= 1 && count <= P64_MAX_STOPS);
}

static void visit_layers(const p64_file *file) {
    for (uint32_t layer = 0; layer < file->hparams.n_layer; layer++) {
        checksum += file->has_schedule ? p64_get_schedule(file, layer).blob_end : 0;
        checksum += p64_get_manifold(file, layer).scale > 0.5f;
    }
}

static bool open_in_mode(const uint8_t *data, size_t size, fmt_mode mode) {
    const fmt_span span = {data, size};
    uint64_t need = 0;
    p64_file file;
    fmt_diag diag;
    if (p64_scratch_size(span, mode, &need, &diag) != FMT_OK) {
        require_diag(&diag, size);
        REQUIRE(p64_open(span, mode, NULL, 0, &file, NULL, NULL, &diag) == FMT_BAD_FILE);
        return false;
    }
    REQUIRE(need <= 16 * (uint64_t)size + 4096); /* in proportion to what is there */
    void *scratch = malloc((size_t)need);
    REQUIRE(scratch != NULL);
    was_noted = false;
    const fmt_status status = p64_open(span, mode, scratch, need, &file, take_note, NULL, &diag);
    REQUIRE(status == FMT_OK || status == FMT_BAD_FILE);
    if (status != FMT_OK) {
        require_diag(&diag, size);
    } else {
        for (uint32_t i = 0; i < file.header.tensor_count; i++) {
            visit_tensor(&file, i);
        }
        visit_tokenizer(&file);
        visit_layers(&file);
    }
    free(scratch);
    return status == FMT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    REQUIRE(copy != NULL);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    if (size >= 64) {
        const uint64_t at = load_u32(copy + CHECKSUM_AT);
        if (at + 4 <= size) {
            store_u32(copy + at, crc32c(copy, at));
        }
    }
    open_in_mode(data, size, FMT_MODE_DEFAULT);
    const bool is_open = open_in_mode(copy, size, FMT_MODE_DEFAULT);
    REQUIRE(is_open || !open_in_mode(copy, size, FMT_MODE_STRICT)); /* strict takes nothing that the default mode refuses */
    free(copy);
    return 0;
}
