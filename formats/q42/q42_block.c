/* q42_block.c — decoding one block and checking what is in it (sections 2 and 6 of the format's document). */
#include "q42_internal.h"
#include "q42_lz4.h"

/* ------------------------------------------------------------------------------------------------ decoding */

static fmt_status decode(const q42_volume *volume, uint64_t index, uint8_t *room, fmt_diag *diag) {
    const q42_directory_entry entry = q42_get_directory_entry(volume, index);
    const uint8_t *payload = volume->span.data + entry.offset;
    const uint32_t told = load_u32(payload);
    if (told != Q42_BLOCK_BYTES) {
        return q42_refuse(diag, Q42_R_BLOCK_SIZE_WORD, ((diag_place){entry.offset, index, Q42_BLOCK_BYTES, told}),
                          "block %llu says that it has %u bytes decoded", (ull)index, told);
    }
    const uint8_t *lz4 = payload + Q42_PAYLOAD_PREFIX_BYTES;
    const uint32_t lz4_size = entry.size - Q42_PAYLOAD_PREFIX_BYTES;
    const diag_place here = {entry.offset + Q42_PAYLOAD_PREFIX_BYTES, index, Q42_BLOCK_BYTES, lz4_size};
    if (entry.size > Q42_MAX_PAYLOAD) {
        return q42_refuse(diag, Q42_R_BLOCK_LZ4, here, "block %llu has %u bytes compressed, %u are the most",
                          (ull)index, entry.size, Q42_MAX_PAYLOAD);
    }
    switch (q42_lz4_decode(lz4, lz4_size, room, Q42_BLOCK_BYTES)) {
    case LZ4_DECODED: return FMT_OK;
    case LZ4_ZERO_DISTANCE:
        return q42_refuse(diag, Q42_R_BLOCK_LZ4, here, "block %llu has a match of distance 0", (ull)index);
    default:
        return q42_refuse(diag, Q42_R_BLOCK_LZ4, here,
                          "block %llu is no whole LZ4 block of 40960 bytes (%u bytes compressed)", (ull)index,
                          lz4_size);
    }
}

/* ------------------------------------------------------------------------------------------------ checking */

diag_place q42_block_place(const q42_volume *volume, uint64_t index, uint64_t expected, uint64_t got) {
    const diag_place place = {q42_get_directory_entry(volume, index).offset, index, expected, got};
    return place;
}

/* Slot of the first object below the one before it; n_quins without one. */
static uint32_t find_fall(const q42_block *block) {
    uint32_t is_wrong = 0, slot = 1;
    for (uint32_t i = 1; i < block->n_quins; i++) { /* all of them, without a branch: almost always none is wrong */
        is_wrong |= q42_block_object(block, i) < q42_block_object(block, i - 1);
    }
    while (is_wrong && q42_block_object(block, slot) >= q42_block_object(block, slot - 1)) {
        slot++;
    }
    return is_wrong ? slot : block->n_quins;
}

fmt_status q42_check_block_order(const q42_volume *volume, const q42_block *block, fmt_diag *diag) {
    const q42_range range = q42_object_range(volume, block->index);
    if (block->n_quins == 0) {
        return q42_refuse(diag, Q42_R_BLOCK_COUNT, q42_block_place(volume, block->index, 1, 0),
                          "block %llu holds no quin", (ull)block->index);
    }
    const uint32_t slot = find_fall(block);
    if (slot < block->n_quins) {
        const uint64_t before = q42_block_object(block, slot - 1), object = q42_block_object(block, slot);
        return q42_refuse(diag, Q42_R_BLOCK_ORDER, q42_block_place(volume, block->index, before, object),
                          "block %llu, slot %u: object %016llx stands behind %016llx", (ull)block->index, slot,
                          (ull)object, (ull)before);
    }
    const uint64_t first = q42_block_object(block, 0), last = q42_block_object(block, block->n_quins - 1);
    if (first != range.least || last != range.most) {
        const bool is_first = first != range.least;
        return q42_refuse(
            diag, Q42_R_BLOCK_RANGE,
            q42_block_place(volume, block->index, is_first ? range.least : range.most, is_first ? first : last),
            "block %llu goes from object %016llx to %016llx, its BIDX entry from %016llx to %016llx", (ull)block->index,
            (ull)first, (ull)last, (ull)range.least, (ull)range.most);
    }
    return FMT_OK;
}

/* Exclusive or of all six words: 0 when the parity is right. */
static uint64_t fold(const q42_block *block, uint32_t slot) {
    const uint8_t *at = block->quins + (uint64_t)slot * Q42_QUIN_BYTES;
    return load_u64(at) ^ load_u64(at + 8) ^ load_u64(at + 16) ^ load_u64(at + 24) ^ load_u64(at + 32) ^
           load_u64(at + 40);
}

fmt_status q42_check_block_parity(const q42_volume *volume, const q42_block *block, fmt_diag *diag) {
    uint64_t wrong = 0;
    uint32_t slot = 0;
    for (uint32_t i = 0; i < block->n_quins; i++) {
        wrong |= fold(block, i);
    }
    if (wrong == 0) {
        return FMT_OK;
    }
    while (fold(block, slot) == 0) {
        slot++;
    }
    const uint64_t told = load_u64(block->quins + (uint64_t)slot * Q42_QUIN_BYTES + 40),
                   wanted = told ^ fold(block, slot);
    return q42_refuse(diag, Q42_R_BLOCK_PARITY, q42_block_place(volume, block->index, wanted, told),
                      "block %llu, slot %u: the parity is %016llx, the fields give %016llx", (ull)block->index, slot,
                      (ull)told, (ull)wanted);
}

fmt_status q42_check_block_tail(const q42_volume *volume, const q42_block *block, fmt_diag *diag) {
    const uint8_t *room = block->quins - Q42_BLOCK_QUINS_AT;
    const uint64_t used = Q42_BLOCK_QUINS_AT + (uint64_t)block->n_quins * Q42_QUIN_BYTES;
    uint64_t at = q42_first_nonzero(room, Q42_BLOCK_PADDING_AT, Q42_BLOCK_QUINS_AT);
    if (at < Q42_BLOCK_QUINS_AT) {
        return q42_refuse(diag, Q42_R_BLOCK_TAIL, q42_block_place(volume, block->index, 0, room[at]),
                          "block %llu: byte %llu of its header is %02x", (ull)block->index, (ull)at, room[at]);
    }
    at = q42_first_nonzero(room, used, Q42_BLOCK_BYTES);
    if (at < Q42_BLOCK_BYTES) {
        return q42_refuse(diag, Q42_R_BLOCK_TAIL, q42_block_place(volume, block->index, 0, room[at]),
                          "block %llu, unused slot %llu: decoded byte %llu is %02x", (ull)block->index,
                          (ull)((at - Q42_BLOCK_QUINS_AT) / Q42_QUIN_BYTES), (ull)at, room[at]);
    }
    return FMT_OK;
}

fmt_status q42_read_block(const q42_volume *volume, uint64_t index, q42_block_check checks, uint8_t *room,
                          q42_block *out_block, fmt_diag *diag) {
    fmt_status status = decode(volume, index, room, diag);
    if (status != FMT_OK) {
        return status;
    }
    const uint64_t count = load_u64(room + Q42_BLOCK_COUNT_OF_QUINS_AT);
    if (count > Q42_BLOCK_QUINS) {
        return q42_refuse(diag, Q42_R_BLOCK_COUNT, q42_block_place(volume, index, Q42_BLOCK_QUINS, count),
                          "block %llu says %llu quins", (ull)index, (ull)count);
    }
    const q42_block block = {index, load_u64(room + Q42_BLOCK_SEQUENCE_AT), (uint32_t)count,
                             room + Q42_BLOCK_QUINS_AT};
    if ((checks & Q42_CHECK_ORDER) != 0) {
        status = q42_check_block_order(volume, &block, diag);
    }
    if (status == FMT_OK && (checks & Q42_CHECK_PARITY) != 0) {
        status = q42_check_block_parity(volume, &block, diag);
    }
    if (status == FMT_OK && (checks & Q42_CHECK_TAIL) != 0) {
        status = q42_check_block_tail(volume, &block, diag);
    }
    if (status == FMT_OK) {
        *out_block = block;
    }
    return status;
}
