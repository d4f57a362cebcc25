/* query_estimate.c — a sample of blocks, taken evenly, so that the same query always gets the same plan. */
#include "graph/query_estimate.h"

#define SAMPLED_BLOCKS 128u /* of each interval: asked of FIDX and PIDX */
#define COUNTED_BLOCKS 4u   /* decoded */
#define SAMPLED_MEMBERS 16u /* of a set, when the object does not choose them */

typedef struct sample {
    uint64_t n_blocks, n_asked, n_passed; /* in the intervals; asked; let pass */
    uint64_t n_counted, n_rows;           /* decoded; matching quins in them */
    uint64_t n_members, n_members_asked;
} sample;

static bool is_in_range(const q42_range *range, uint64_t object) {
    return range == NULL || (object >= range->least && object <= range->most);
}

static qn_status count_block(block_cache *cache, uint32_t member, uint64_t block, const plan_step *step,
                             const q42_range *range, sample *s, uint64_t *io_decoded, error_context *err) {
    const q42_block *decoded;
    const qn_status status = block_cache_get(cache, member, block, &decoded, io_decoded, err);
    if (status < 0) {
        return status;
    }
    s->n_counted++;
    for (uint32_t slot = 0; slot < decoded->n_quins; slot++) {
        const q42_quin quin = q42_block_quin(decoded, slot);
        s->n_rows += is_in_range(range, quin.object) && query_plan_matches(step, &quin);
    }
    return QN_OK;
}

static qn_status sample_member(graph_volume *volume, block_cache *cache, uint32_t member, const plan_step *step,
                               const q42_range *range, bool is_counting, sample *s, uint64_t *io_decoded,
                               error_context *err) {
    const q42_volume *v;
    qn_status status = graph_volume_member(volume, member, &v, err);
    if (status < 0) {
        return status;
    }
    const block_query query = query_plan_block_query(step, range);
    uint64_t begin = 0, end = v->header.block_count;
    if (range != NULL) {
        q42_object_blocks(v, range->least, range->most, &begin, &end);
    }
    const uint64_t n = end - begin, n_asked = n < SAMPLED_BLOCKS ? n : SAMPLED_BLOCKS;
    walk_stats ignored = {.n_walks = 0};
    s->n_blocks += n;
    s->n_asked += n_asked;
    for (uint64_t i = 0; status == QN_OK && i < n_asked; i++) {
        const uint64_t block = begin + (n <= SAMPLED_BLOCKS ? i : n / n_asked * i + n % n_asked * i / n_asked);
        bool may_hold = false;
        status = block_query_test(&query, v, block, graph_volume_member_path(volume, member), &ignored, &may_hold, err);
        s->n_passed += may_hold;
        if (status == QN_OK && may_hold && is_counting && s->n_counted < COUNTED_BLOCKS &&
            i * COUNTED_BLOCKS >= s->n_counted * n_asked) {
            status = count_block(cache, member, block, step, range, s, io_decoded, err);
        }
    }
    return status;
}

static bool can_hold(graph_volume *volume, uint32_t member, const q42_range *range) {
    const q42_range objects = graph_volume_member_objects(volume, member);
    return range == NULL || (objects.least <= range->most && objects.most >= range->least);
}

static qn_status sample_range(graph_volume *volume, block_cache *cache, const plan_step *step, const q42_range *range,
                              bool is_counting, sample *s, uint64_t *io_decoded, error_context *err) {
    const uint32_t n = graph_volume_n_members(volume);
    const uint32_t stride = range == NULL && n > SAMPLED_MEMBERS ? n / SAMPLED_MEMBERS : 1;
    qn_status status = QN_OK;
    for (uint32_t i = 0; status == QN_OK && i < n; i++) {
        if (can_hold(volume, i, range)) {
            s->n_members++;
            if (i % stride == 0) {
                s->n_members_asked++;
                status = sample_member(volume, cache, i, step, range, is_counting, s, io_decoded, err);
            }
        }
    }
    return status;
}

qn_status query_estimate(graph_volume *volume, block_cache *cache, plan_step *step, bool is_counting,
                         uint64_t *io_decoded, error_context *err) {
    const uint32_t n = step->n_ranges > 0 ? step->n_ranges : 1;
    step->expected_blocks = 0;
    step->expected_rows = is_counting ? 0 : -1;
    for (uint32_t i = 0; i < n; i++) {
        sample s = {.n_blocks = 0};
        const qn_status status = sample_range(volume, cache, step, step->n_ranges > 0 ? &step->ranges[i] : NULL,
                                              is_counting, &s, io_decoded, err);
        if (status < 0) {
            return status;
        }
        if (s.n_asked == 0) {
            continue;
        }
        /* a block that none of the sample was may still be there: half of one stands for it */
        const double passed = s.n_passed > 0 ? (double)s.n_passed : s.n_asked < s.n_blocks ? 0.5 : 0.0;
        const double blocks = (double)s.n_blocks * passed / (double)s.n_asked * (double)s.n_members / (double)s.n_members_asked;
        step->expected_blocks += blocks;
        if (is_counting) {
            step->expected_rows += blocks * (s.n_counted > 0 ? ((double)s.n_rows + 0.01) / (double)s.n_counted : 1.0);
        }
    }
    return QN_OK;
}
