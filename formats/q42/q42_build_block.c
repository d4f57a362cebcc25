/* q42_build_block.c — up to 850 sorted quins become a compressed block and what the indexes say about it (sections 2, 5 and 6 of
 * the format's document). */
#include <lz4.h>
#include <string.h>

#include "common/diag.h"
#include "common/endian.h"
#include "common/sha.h"
#include "q42_write_impl.h"

typedef unsigned long long ull;

enum {
    SIZE_WORD = 4,
    DIGEST_WORDS = 32,   /* bytes of a quin that the DAG covers: metadata and parity are not */
    LITERAL_RUN = 15     /* a literal length that goes on in further bytes */
};

static const fmt_rule rule_count = {"write-count", "2", "a block holds 1 to 850 quins"};
static const fmt_rule rule_parity = {"write-parity", "1.2", "the parity of a quin is the XOR of its other five fields"};
static const fmt_rule rule_order = {"write-order", "6",
                                    "quins rise by object, subject, predicate, context and metadata"};
static const fmt_rule rule_digest = {"write-digest", "7", "SHA-256 must be at hand"};

static fmt_status check_quins(const q42_quin *quins, uint32_t n, fmt_diag *diag) {
    if (n == 0 || n > Q42_BLOCK_QUINS) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_count, (diag_place){0, FMT_NO_INDEX, Q42_BLOCK_QUINS, n},
                           "a block of %u quins", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t parity = q42_quin_parity(&quins[i]);
        if (quins[i].parity != parity) {
            return diag_refuse(diag, FMT_BAD_ARG, &rule_parity, (diag_place){0, i, parity, quins[i].parity},
                               "quin %u has parity %016llx, not %016llx", i, (ull)quins[i].parity, (ull)parity);
        }
        if (i > 0 && q42_quin_compare(&quins[i - 1], &quins[i]) > 0) {
            return diag_refuse(diag, FMT_BAD_ARG, &rule_order,
                               (diag_place){0, i, quins[i - 1].object, quins[i].object},
                               "quin %u comes before its predecessor", i);
        }
    }
    return FMT_OK;
}

/* ---------------------------------------------------------------------------------------------------- index records */

static void widen(q42_range *range, uint64_t value, bool is_first) {
    range->least = is_first || value < range->least ? value : range->least;
    range->most = is_first || value > range->most ? value : range->most;
}

static bool is_guarded(const q42_quin *quin) {
    const unsigned tier = (unsigned)(quin->metadata >> 56) & 15u, lane = (unsigned)(quin->metadata >> 61) & 3u;
    return (tier >= 2 && tier <= 4) || lane == 2;
}

static void describe(const q42_quin *quins, uint32_t n, q42_built_block *block) {
    for (uint32_t i = 0; i < n; i++) {
        widen(&block->fields[Q42_SUBJECT], quins[i].subject, i == 0);
        widen(&block->fields[Q42_PREDICATE], quins[i].predicate, i == 0);
        widen(&block->fields[Q42_CONTEXT], quins[i].context, i == 0);
        block->needs_sanctuary = block->needs_sanctuary || is_guarded(&quins[i]);
        block->has_label_byte = block->has_label_byte || q42_context_label(quins[i].context) != 0;
    }
    block->object = (q42_range){quins[0].object, quins[n - 1].object};
    block->first = quins[0];
    block->last = quins[n - 1];
}

static void write_postings(const q42_quin *quins, uint32_t n, q42_built_block *block) {
    const uint64_t *const fields[3] = {&quins->subject, &quins->predicate, &quins->context};
    block->postings_size = 0;
    for (unsigned i = 0; i < 3; i++) {
        block->postings_size += q42_postings_encode(fields[i], n, block->postings + block->postings_size);
    }
}

static fmt_status digest_quins(const q42_quin *quins, uint32_t n, uint8_t *room, q42_built_block *block,
                               fmt_diag *diag) {
    for (uint32_t i = 0; i < n; i++) {
        store_u64(room + i * DIGEST_WORDS, quins[i].subject);
        store_u64(room + i * DIGEST_WORDS + 8, quins[i].predicate);
        store_u64(room + i * DIGEST_WORDS + 16, quins[i].object);
        store_u64(room + i * DIGEST_WORDS + 24, quins[i].context);
    }
    if (!sha256_digest(room, (uint64_t)n * DIGEST_WORDS, block->quins_digest)) {
        return diag_refuse(diag, FMT_UNSUPPORTED, &rule_digest, (diag_place){.index = FMT_NO_INDEX},
                           "the cryptographic library refuses to hash");
    }
    return FMT_OK;
}

/* ---------------------------------------------------------------------------------------------------------- payload */

static void write_raw(const q42_quin *quins, uint32_t n, uint64_t sequence, uint8_t *room) {
    memset(room, 0, WRITE_BLOCK_HEAD);
    store_u64(room, sequence);
    store_u64(room + 16, n);
    for (uint32_t i = 0; i < n; i++) {
        q42_quin_store(room + WRITE_BLOCK_HEAD + i * Q42_QUIN_BYTES, &quins[i]);
    }
    const uint32_t end = WRITE_BLOCK_HEAD + n * Q42_QUIN_BYTES;
    memset(room + end, 0, Q42_BLOCK_BYTES - end);
}

/* Everything but the compressed bytes; `room` then holds the decoded block. */
static fmt_status prepare(const q42_quin *quins, uint32_t n, uint64_t sequence, uint8_t *room, q42_built_block *block,
                          fmt_diag *diag) {
    fmt_status status = check_quins(quins, n, diag);
    if (status == FMT_OK) {
        status = digest_quins(quins, n, room, block, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    block->n_quins = n;
    block->sequence = sequence;
    block->needs_sanctuary = false;
    block->has_label_byte = false;
    describe(quins, n, block);
    write_postings(quins, n, block);
    write_raw(quins, n, sequence, room);
    store_u32(block->payload, Q42_BLOCK_BYTES);
    return FMT_OK;
}

fmt_status q42_build_block(const q42_quin *quins, uint32_t n_quins, uint64_t sequence, uint8_t *room,
                           q42_built_block *out_block, fmt_diag *diag) {
    const fmt_status status = prepare(quins, n_quins, sequence, room, out_block, diag);
    if (status == FMT_OK) {
        /* Never 0: the room is the library's own bound for blocks of this size. */
        const int size = LZ4_compress_default((const char *)room, (char *)out_block->payload + SIZE_WORD,
                                              Q42_BLOCK_BYTES, Q42_MAX_PAYLOAD - SIZE_WORD);
        out_block->payload_size = (uint32_t)size + SIZE_WORD;
    }
    return status;
}

fmt_status q42_build_block_literal(const q42_quin *quins, uint32_t n_quins, uint64_t sequence, uint8_t *room,
                                   q42_built_block *out_block, fmt_diag *diag) {
    const fmt_status status = prepare(quins, n_quins, sequence, room, out_block, diag);
    if (status == FMT_OK) {
        uint8_t *out = out_block->payload + SIZE_WORD;
        uint32_t left = Q42_BLOCK_BYTES - LITERAL_RUN;
        *out++ = LITERAL_RUN << 4;
        for (; left >= 255; left -= 255) {
            *out++ = 255;
        }
        *out++ = (uint8_t)left;
        memcpy(out, room, Q42_BLOCK_BYTES);
        out_block->payload_size = (uint32_t)(out - out_block->payload) + Q42_BLOCK_BYTES;
    }
    return status;
}
