/* q42_publication.c — may a volume be given away: what its quins say, and the verdict (section 10 of the format's document).
 *
 * Two verdicts: ours, where the hash of a graph's name is no sensitivity label and Commons must have been declared, and the reference's,
 * which takes the top byte of every context for a label and lets quins of the commons lane stand for the declaration. */
#include <stddef.h>
#include <string.h>

#include "q42_files_internal.h"

enum { LABEL_PUBLIC = 0, LABEL_RESTRICTED = 1, LABEL_CLASSIFIED = 2 };
enum { TIER_LEGAL = 2, TIER_FIDUCIARY = 4, N_TIERS = 5 };
enum { LANE_COMMONS = 1, LANE_BILATERAL = 2 };

static unsigned label_of(uint64_t context) {
    const unsigned byte = (unsigned)(context >> 56);
    return byte == LABEL_RESTRICTED || byte == LABEL_CLASSIFIED ? byte : LABEL_PUBLIC;
}

static unsigned tier_of(const q42_quin *quin) {
    return (unsigned)(quin->metadata >> 56) & 15u;
}

static unsigned lane_of(const q42_quin *quin) {
    return (unsigned)(quin->metadata >> 61) & 3u;
}

static q42_why judge_quin(const q42_quin *quin, unsigned label) {
    if (label != LABEL_PUBLIC) {
        return Q42_WHY_LABEL;
    }
    if (tier_of(quin) >= TIER_LEGAL && tier_of(quin) <= TIER_FIDUCIARY) {
        return Q42_WHY_TIER;
    }
    return lane_of(quin) == LANE_BILATERAL ? Q42_WHY_LANE : Q42_WHY_NOTHING;
}

/* The top byte is a label when the top nibble is used, which no hash of a name does, or when nothing has the context for its name. */
static unsigned own_label_of(uint64_t context, bool context_is_name) {
    return context >> 60 != 0 || !context_is_name ? label_of(context) : LABEL_PUBLIC;
}

q42_why q42_quin_closes(const q42_quin *quin, bool context_is_name) {
    return judge_quin(quin, own_label_of(quin->context, context_is_name));
}

q42_why q42_quin_closes_for_reference(const q42_quin *quin) {
    return judge_quin(quin, label_of(quin->context));
}

/* Asked only where it matters, and once for a run of one context. */
static bool is_name(q42_publication *tally, uint64_t context) {
    if (label_of(context) == LABEL_PUBLIC || tally->is_name == NULL) {
        return false;
    }
    if (!tally->has_last || tally->last_context != context) {
        tally->last_is_name = tally->is_name(tally->is_name_ctx, context);
        tally->last_context = context;
        tally->has_last = true;
    }
    return tally->last_is_name;
}

static void keep_witness(q42_witness *witness, q42_why why, uint64_t block, uint32_t slot, const q42_quin *quin) {
    if (why != Q42_WHY_NOTHING && witness->why == Q42_WHY_NOTHING) {
        *witness = (q42_witness){why, block, slot, *quin};
    }
}

void q42_publication_add(q42_publication *tally, const q42_block *block) {
    for (uint32_t slot = 0; slot < block->n_quins; slot++) {
        const q42_quin quin = q42_block_quin(block, slot);
        const unsigned label = own_label_of(quin.context, is_name(tally, quin.context));
        const unsigned tier = tier_of(&quin);
        tally->n_quins++;
        tally->n_by_label[label]++;
        tally->n_by_byte[label_of(quin.context)]++;
        tally->n_by_tier[tier < N_TIERS ? tier : 0]++;
        tally->n_by_lane[lane_of(&quin)]++;
        keep_witness(&tally->ours, judge_quin(&quin, label), block->index, slot, &quin);
        keep_witness(&tally->theirs, judge_quin(&quin, label_of(quin.context)), block->index, slot, &quin);
    }
}

void q42_publication_add_bad_block(q42_publication *tally, uint64_t block) {
    const q42_quin none = {0};
    tally->n_bad_blocks++;
    keep_witness(&tally->ours, Q42_WHY_BLOCK, block, 0, &none);
    keep_witness(&tally->theirs, Q42_WHY_BLOCK, block, 0, &none);
}

/* ---------------------------------------------------------------- verdicts */

static const char *const class_names[] = {"mixed-fail-closed", "sanctuary", "commons-gated", "permissive-commons",
                                          "unmarked-local"};

const char *q42_class_name(q42_publication_class which) {
    return which < sizeof class_names / sizeof class_names[0] ? class_names[which] : "unknown";
}

static const char *describe_why(const q42_publication *tally, const q42_witness *witness) {
    if (tally->n_bad_blocks > 0) {
        return "a block cannot be read, and what cannot be read is not given away";
    }
    switch (witness->why) {
    case Q42_WHY_LABEL: return "the context of a quin is labelled restricted or classified";
    case Q42_WHY_TIER: return "a quin has the tier legal, medical or fiduciary";
    case Q42_WHY_LANE: return "a quin is in the bilateral lane";
    default: return "the header says Sanctuary";
    }
}

static q42_publication_class classify(const q42_publication *tally, bool is_sanctuary) {
    const bool is_declared = (tally->flags & Q42_FLAG_COMMONS) != 0;
    const bool has_lane = tally->n_by_lane[LANE_COMMONS] > 0;
    if (is_sanctuary) {
        return is_declared || has_lane ? Q42_CLASS_MIXED : Q42_CLASS_SANCTUARY;
    }
    return has_lane ? Q42_CLASS_GATED : is_declared ? Q42_CLASS_COMMONS : Q42_CLASS_UNMARKED;
}

static bool is_closed(const q42_publication *tally, const q42_witness *witness) {
    return (tally->flags & Q42_FLAG_SANCTUARY) != 0 || witness->why != Q42_WHY_NOTHING;
}

q42_publication_verdict q42_publication_judge(const q42_publication *tally) {
    const bool is_sanctuary = is_closed(tally, &tally->ours);
    const bool is_declared = (tally->flags & Q42_FLAG_COMMONS) != 0;
    const q42_publication_verdict verdict = {
        classify(tally, is_sanctuary), is_sanctuary, is_declared && !is_sanctuary,
        is_sanctuary  ? describe_why(tally, &tally->ours)
        : is_declared ? "Commons is declared, and no quin speaks against it"
                      : "Commons is not declared; `quoin compact --commons` declares it"};
    return verdict;
}

q42_publication_verdict q42_publication_judge_as_reference(const q42_publication *tally) {
    const bool is_sanctuary = is_closed(tally, &tally->theirs);
    const q42_publication_class which = classify(tally, is_sanctuary);
    const bool may_publish = !is_sanctuary && which != Q42_CLASS_UNMARKED;
    const q42_publication_verdict verdict = {which, is_sanctuary, may_publish,
                                             is_sanctuary  ? describe_why(tally, &tally->theirs)
                                             : may_publish ? "declared, or in the commons lane"
                                                           : "neither declared nor in the commons lane"};
    return verdict;
}
