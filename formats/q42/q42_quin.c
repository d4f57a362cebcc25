/* q42_quin.c — the statement of five words and its parity (section 1 of the format's document). */
#include <quoin/q42.h>

#include "common/endian.h"
#include "common/fnv.h"

uint64_t q42_hash(const void *text, uint64_t size) {
    return fnv_q_hash(text, size);
}

uint64_t q42_quin_parity(const q42_quin *quin) {
    return quin->subject ^ quin->predicate ^ quin->object ^ quin->context ^ quin->metadata;
}

q42_quin q42_quin_make(uint64_t subject, uint64_t predicate, uint64_t object, uint64_t context, uint64_t metadata) {
    q42_quin quin = {subject, predicate, object, context, metadata, 0};
    quin.parity = q42_quin_parity(&quin);
    return quin;
}

static int compare_words(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

int q42_quin_compare(const q42_quin *a, const q42_quin *b) {
    int order = compare_words(a->object, b->object);
    order = order != 0 ? order : compare_words(a->subject, b->subject);
    order = order != 0 ? order : compare_words(a->predicate, b->predicate);
    order = order != 0 ? order : compare_words(a->context, b->context);
    return order != 0 ? order : compare_words(a->metadata, b->metadata);
}

q42_quin q42_quin_load(const uint8_t at[Q42_QUIN_BYTES]) {
    const q42_quin quin = {load_u64(at),      load_u64(at + 8),  load_u64(at + 16),
                           load_u64(at + 24), load_u64(at + 32), load_u64(at + 40)};
    return quin;
}

void q42_quin_store(uint8_t at[Q42_QUIN_BYTES], const q42_quin *quin) {
    store_u64(at, quin->subject);
    store_u64(at + 8, quin->predicate);
    store_u64(at + 16, quin->object);
    store_u64(at + 24, quin->context);
    store_u64(at + 32, quin->metadata);
    store_u64(at + 40, quin->parity);
}

uint64_t q42_triple_id(uint64_t subject, uint64_t predicate, uint64_t object) {
    uint8_t words[24];
    store_u64(words, subject);
    store_u64(words + 8, predicate);
    store_u64(words + 16, object);
    return fnv_q_hash(words, sizeof words) | UINT64_C(1) << 60;
}

bool q42_object_is_inline(uint64_t object) {
    const unsigned tag = q42_object_tag(object);
    return (object & Q42_POINTER_BIT) == 0 && tag >= Q42_TAG_INTEGER && tag <= Q42_TAG_FLOAT;
}

int64_t q42_object_value(uint64_t object) {
    const uint64_t payload = object & FNV_Q_MASK;
    const uint64_t sign = UINT64_C(1) << 59;
    return (int64_t)((payload ^ sign) - sign); /* sign extension of 60 bits */
}
