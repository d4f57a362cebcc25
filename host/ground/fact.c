/* fact.c — ids, tiers and expiry of facts. */
#include "ground/fact.h"

#include "common/endian.h"
#include "common/sha.h"

enum { TIER_AT = 56, TIER_MASK = 15, LEAST_OPCODE = 0x10, MOST_OPCODE = 0x12, OPCODE_MASK = 0xff, HASH_BITS = 60 };

qn_status fact_make_id(const q42_quin *quin, uint64_t *out_id, error_context *err) {
    uint8_t bytes[32], digest[SHA256_BYTES];
    store_u64(bytes, quin->subject);
    store_u64(bytes + 8, quin->predicate);
    store_u64(bytes + 16, quin->object);
    store_u64(bytes + 24, quin->context);
    if (!sha256_digest(bytes, sizeof bytes, digest)) {
        return FAIL(err, QN_INTERNAL, "libcrypto does not compute SHA-256, which ids of facts are made of");
    }
    *out_id = load_u64(digest);
    return QN_OK;
}

const char *fact_state_name(fact_state state) {
    static const char *const names[FACT_N_STATES] = {"live", "wrong parity", "outside the granted graphs", "expired", "invalidated"};
    return state < FACT_N_STATES ? names[state] : "unknown";
}

bool fact_is_norm(const q42_quin *quin) {
    const uint64_t opcode = quin->predicate & OPCODE_MASK;
    return opcode >= LEAST_OPCODE && opcode <= MOST_OPCODE && quin->predicate >> HASH_BITS != 0;
}

static bool has_id(const uint64_t *ids, uint32_t n, uint64_t id) {
    uint32_t i = 0;
    while (i < n && ids[i] != id) {
        i++;
    }
    return i < n;
}

static bool has_expired(const q42_quin *quin, const fact_rules *rules) {
    const uint64_t expiry = quin->metadata & UINT32_MAX;
    const bool is_expiry = fact_is_norm(quin) || has_id(rules->expiring, rules->n_expiring, quin->predicate);
    return is_expiry && expiry != 0 && rules->now_ms / 1000 >= expiry;
}

fact_state fact_judge(const q42_quin *quin, const fact_rules *rules) {
    if (quin->parity != q42_quin_parity(quin)) {
        return FACT_BAD_PARITY;
    }
    if (rules->is_scoped && !has_id(rules->contexts, rules->n_contexts, quin->context)) {
        return FACT_OUT_OF_SCOPE;
    }
    return has_expired(quin, rules) ? FACT_EXPIRED : FACT_LIVE;
}

uint32_t fact_tier(const q42_quin *quin, bool is_sanctuary, uint32_t least) {
    uint32_t tier = (uint32_t)(quin->metadata >> TIER_AT) & TIER_MASK;
    tier = is_sanctuary || tier > FACT_MOST_TIER || least > FACT_MOST_TIER ? FACT_MOST_TIER : tier;
    return tier < least && least <= FACT_MOST_TIER ? least : tier;
}
