/* p64_integrity.c — sections 11 and 14.2: the checksums of the blobs, and what their bytes must be.
 *
 * One tensor may be cut into pieces that several threads read; what they find is joined afterwards. A piece is read in
 * steps that stay in the cache, so that each byte comes from memory once although two or three tests look at it.
 */
#include <math.h>
#include <string.h>

#include <quoin/blocks.h>

#include "common/crc32c.h"
#include "common/diag.h"
#include "common/endian.h"
#include "p64_layout.h"

typedef unsigned long long ull;

enum { STEP_BYTES = 64 * 1024 };

/* Bytes that a cut may not divide: a block of the type, 8 for types without a known layout; panels are looked at where they
 * begin. */
static uint64_t cut_bytes(uint32_t dtype) {
    const blk_info *info = blk_get_info(dtype);
    return info == NULL || dtype == BLK_TERNARY ? 8 : info->block_bytes;
}

static uint64_t round_to_cut(uint32_t dtype, uint64_t wanted) {
    const uint64_t unit = cut_bytes(dtype);
    return wanted < unit ? unit : wanted / unit * unit;
}

uint64_t p64_piece_size(const p64_file *file, uint32_t index, uint64_t wanted) {
    return round_to_cut(load_u16(file->span.data + p64_entry_at(file, index) + P64_ENT_DTYPE_AT), wanted);
}

p64_piece p64_piece_empty(void) {
    return (p64_piece){0, 0, FMT_NO_INDEX, FMT_NO_INDEX, FMT_NO_INDEX};
}

/* `begin` is where the piece lies in the blob; the first four bytes there are the scale. */
static void check_trits(const uint8_t *bytes, uint64_t begin, uint64_t size, p64_piece *piece) {
    for (uint64_t i = begin < 4 ? 4 - begin : 0; i < size; i++) {
        if (bytes[i] > 242) {
            piece->bad_trits_at = begin + i;
            return;
        }
    }
}

static void check_weights(uint32_t dtype, const fmt_span *blob, uint64_t begin, uint64_t size, p64_piece *piece) {
    const blk_info *info = blk_get_info(dtype);
    uint64_t found = 0;
    if (info == NULL || dtype == BLK_TERNARY) {
        return;
    }
    const uint64_t first = begin / info->block_bytes * info->block_elems;
    const uint64_t count = size / info->block_bytes * info->block_elems;
    if (blk_find_nonfinite(dtype, blob->data, first, count, &found)) {
        piece->nonfinite = found;
    }
}

/* The panels that begin in these bytes: their ends may lie behind, where the next step finds them in the cache. */
static void check_panels(const blk_panels *panels, uint64_t begin, uint64_t size, p64_check what, p64_piece *piece) {
    const uint64_t head = blk_panels_head(panels);
    for (uint64_t at = begin; at < begin + size && at < head && piece->stray_at == FMT_NO_INDEX; at++) {
        piece->stray_at = at >= sizeof(float) && (panels->data - head)[at] != 0 ? at : FMT_NO_INDEX;
    }
    const uint64_t from = begin > head ? begin - head : 0, to = begin + size > head ? begin + size - head : 0;
    const uint64_t first = (from + panels->panel_bytes - 1) / panels->panel_bytes;
    for (uint64_t i = first; i * panels->panel_bytes < to && i < panels->n_panels; i++) {
        uint64_t found;
        if (piece->stray_at == FMT_NO_INDEX && blk_panels_find_stray(panels, (uint32_t)i, &found)) {
            piece->stray_at = head + i * panels->panel_bytes + found;
        }
        if ((what & P64_CHECK_WEIGHTS) != 0 && piece->nonfinite == FMT_NO_INDEX &&
            blk_panels_find_nonfinite(panels, (uint32_t)i, &found)) {
            piece->nonfinite = found;
        }
    }
}

void p64_check_piece(const p64_file *file, uint32_t index, uint64_t begin, uint64_t size, p64_check what,
                     p64_piece *out_piece) {
    const p64_tensor t = p64_get_tensor(file, index);
    const uint64_t step = round_to_cut(t.dtype, STEP_BYTES);
    p64_piece piece = {size, 0, FMT_NO_INDEX, FMT_NO_INDEX, FMT_NO_INDEX};
    blk_panels panels;
    const bool is_in_panels = p64_tensor_panels(&t, &panels);
    for (uint64_t at = 0; at < size; at += step) {
        const uint64_t here = size - at < step ? size - at : step;
        const uint8_t *bytes = t.blob.data + begin + at;
        piece.crc = crc32c_extend(piece.crc, bytes, here);
        if (t.dtype == BLK_TERNARY && piece.bad_trits_at == FMT_NO_INDEX) {
            check_trits(bytes, begin + at, here, &piece);
        }
        if (is_in_panels) {
            check_panels(&panels, begin + at, here, what, &piece);
        } else if ((what & P64_CHECK_WEIGHTS) != 0 && piece.nonfinite == FMT_NO_INDEX) {
            check_weights(t.dtype, &t.blob, begin + at, here, &piece);
        }
    }
    *out_piece = piece;
}

void p64_join_piece(p64_piece *all, const p64_piece *next) {
    all->crc = crc32c_combine(all->crc, next->crc, next->size);
    all->size += next->size;
    if (all->bad_trits_at == FMT_NO_INDEX) {
        all->bad_trits_at = next->bad_trits_at;
    }
    if (all->nonfinite == FMT_NO_INDEX) {
        all->nonfinite = next->nonfinite;
    }
    if (all->stray_at == FMT_NO_INDEX) {
        all->stray_at = next->stray_at;
    }
}

static fmt_status judge_ternary(const p64_reader *r, const p64_tensor *t, const char *name, const p64_piece *whole) {
    float scale;
    const uint32_t bits = load_u32(t->blob.data);
    memcpy(&scale, &bits, sizeof scale);
    if (!isfinite(scale) || scale < 0.0f) {
        return p64_refuse(r, P64_R_TERNARY_SCALE, (p64_at){t->blob_offset, t->index, 0, bits},
                          "The scale of ternary tensor %u (%s) is %g; it must be a finite number of at least 0",
                          t->index, name, (double)scale);
    }
    if (whole->bad_trits_at != FMT_NO_INDEX) {
        const uint64_t at = t->blob_offset + whole->bad_trits_at;
        return p64_refuse(r, P64_R_TERNARY_BYTE, (p64_at){at, t->index, 242, t->blob.data[whole->bad_trits_at]},
                          "Byte %llu of ternary tensor %u (%s) is %u; five ternary digits make 0 to 242", (ull)at,
                          t->index, name, t->blob.data[whole->bad_trits_at]);
    }
    return FMT_OK;
}

/* Where the block of this element lies in the blob; in panels, where its panel does. */
static uint64_t find_block(const p64_tensor *t, const blk_info *info, uint64_t element) {
    blk_panels panels;
    if (p64_tensor_panels(t, &panels)) {
        return blk_panels_head(&panels) + element / panels.n_cols / BLK_PANEL_ROWS * panels.panel_bytes;
    }
    return element / info->block_elems * info->block_bytes;
}

fmt_status p64_judge_tensor(const p64_file *file, uint32_t index, const p64_piece *whole, fmt_diag *diag) {
    const p64_reader r = {.span = file->span, .diag = diag};
    const p64_tensor t = p64_get_tensor(file, index);
    char name[DIAG_QUOTE_SIZE];
    diag_quote(name, t.name);
    if (whole->crc != t.crc) {
        return p64_refuse(&r, P64_R_TENSOR_CRC,
                          (p64_at){file->header.checksum_at + 4 + 4 * (uint64_t)index, index, t.crc, whole->crc},
                          "The checksum of tensor %u (%s, bytes %llu..%llu) is %08x; the file says %08x", index, name,
                          (ull)t.blob_offset, (ull)(t.blob_offset + t.blob.size - 1), whole->crc, t.crc);
    }
    if (p64_base_type(t.dtype) == BLK_TERNARY) {
        const fmt_status status = judge_ternary(&r, &t, name, whole);
        if (status != FMT_OK) {
            return status;
        }
    }
    if (whole->stray_at != FMT_NO_INDEX) {
        const uint64_t at = t.blob_offset + whole->stray_at;
        return p64_refuse(&r, P64_R_PANEL_BITS, (p64_at){at, t.index, 0, t.blob.data[whole->stray_at]},
                          "Byte %llu of tensor %u (%s, %s) is %02x: no rearrangement of standard blocks gives that", (ull)at,
                          index, name, p64_dtype_name(t.dtype), t.blob.data[whole->stray_at]);
    }
    if (whole->nonfinite != FMT_NO_INDEX) {
        const blk_info *info = blk_get_info(p64_base_type(t.dtype));
        const uint64_t at = t.blob_offset + find_block(&t, info, whole->nonfinite);
        return p64_refuse(&r, P64_R_WEIGHT_FINITE, (p64_at){at, index, 0, whole->nonfinite},
                          "Tensor %u (%s): %s %llu is NaN or infinite", index, name,
                          info->block_elems == 1 ? "element" : "a scale of the block of element",
                          (ull)whole->nonfinite);
    }
    return FMT_OK;
}

fmt_status p64_check_tensor(const p64_file *file, uint32_t index, p64_check what, fmt_diag *diag) {
    p64_piece whole;
    p64_check_piece(file, index, 0, load_u32(file->span.data + p64_entry_at(file, index) + P64_ENT_BLOB_SIZE_AT), what,
                    &whole);
    return p64_judge_tensor(file, index, &whole, diag);
}

/* Place of a rule in rules.def. */
static uint32_t rule_rank(const char *id) {
    uint32_t count;
    const p64_rule_info *rules = p64_rules(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (rules[i].id == id || strcmp(rules[i].id, id) == 0) {
            return i;
        }
    }
    return count;
}

bool p64_diag_precedes(const fmt_diag *a, const fmt_diag *b) {
    const uint32_t x = rule_rank(a->rule), y = rule_rank(b->rule);
    const bool both_ternary = (x == P64_R_TERNARY_SCALE || x == P64_R_TERNARY_BYTE) &&
                              (y == P64_R_TERNARY_SCALE || y == P64_R_TERNARY_BYTE);
    return x == y || both_ternary ? a->index < b->index : x < y;
}

fmt_status p64_check_blobs(const p64_file *file, p64_check what, fmt_diag *diag) {
    fmt_diag first, here;
    fmt_status result = FMT_OK;
    for (uint32_t i = 0; i < file->header.tensor_count; i++) {
        const fmt_status status = p64_check_tensor(file, i, what, &here);
        if (status != FMT_OK && (result == FMT_OK || p64_diag_precedes(&here, &first))) {
            first = here;
            result = status;
        }
    }
    if (result != FMT_OK && diag != NULL) {
        *diag = first;
    }
    return result;
}
