/* q42_verify.c — what one block tells, and what takes all of them in order (sections 7, 9 of the format's document). */
#include <string.h>

#include "common/sha.h"
#include "q42_internal.h"

/* ------------------------------------------------------------------------------------------------------------ one
 * block */

/* SHA-256 over subject, predicate, object and context of every quin. */
static bool digest_quins(const q42_block *block, uint8_t out_digest[Q42_DIGEST_BYTES]) {
    uint8_t words[Q42_BLOCK_QUINS * Q42_DAG_QUIN_BYTES];
    for (uint32_t slot = 0; slot < block->n_quins; slot++) {
        memcpy(words + slot * Q42_DAG_QUIN_BYTES, block->quins + (uint64_t)slot * Q42_QUIN_BYTES, Q42_DAG_QUIN_BYTES);
    }
    return sha256_digest(words, (uint64_t)block->n_quins * Q42_DAG_QUIN_BYTES, out_digest);
}

static int compare_slots(const q42_block *block, uint16_t a, uint16_t b) {
    const q42_quin x = q42_block_quin(block, a), y = q42_block_quin(block, b);
    return q42_quin_compare(&x, &y);
}

static void sift_down(const q42_block *block, uint16_t *slots, uint32_t from, uint32_t n) {
    for (uint32_t child = 2 * from + 1; child < n; child = 2 * from + 1) {
        if (child + 1 < n && compare_slots(block, slots[child], slots[child + 1]) < 0) {
            child++;
        }
        if (compare_slots(block, slots[from], slots[child]) >= 0) {
            return;
        }
        const uint16_t swap = slots[from];
        slots[from] = slots[child];
        slots[child] = swap;
        from = child;
    }
}

/* Heap sort: some writers sort by object alone, so equal quins need not be neighbours. */
static void sort_slots(const q42_block *block, uint16_t *slots) {
    const uint32_t n = block->n_quins;
    for (uint32_t i = n / 2; i > 0; i--) {
        sift_down(block, slots, i - 1, n);
    }
    for (uint32_t last = n; last > 1; last--) {
        const uint16_t swap = slots[0];
        slots[0] = slots[last - 1];
        slots[last - 1] = swap;
        sift_down(block, slots, 0, last - 1);
    }
}

/* Counts equal neighbours; false when the block is not in the order that makes equal quins neighbours. Slots whose
 * object and subject repeat are gathered without a branch, since they cannot be predicted, and looked at afterwards. */
static bool count_neighbours(const q42_block *block, uint64_t *out_n) {
    uint16_t alike[Q42_BLOCK_QUINS];
    uint32_t n_alike = 0, is_wrong = 0;
    uint64_t n = 0, object = q42_block_object(block, 0), subject = q42_block_field(block, 0, Q42_SUBJECT);
    for (uint32_t slot = 1; slot < block->n_quins; slot++) {
        const uint64_t next_object = q42_block_object(block, slot);
        const uint64_t next_subject = q42_block_field(block, slot, Q42_SUBJECT);
        const uint32_t is_same = next_object == object;
        alike[n_alike] = (uint16_t)slot;
        n_alike += is_same & (next_subject == subject);
        is_wrong |= is_same & (next_subject < subject);
        object = next_object;
        subject = next_subject;
    }
    for (uint32_t i = 0; i < n_alike; i++) {
        const int order = compare_slots(block, (uint16_t)(alike[i] - 1), alike[i]);
        n += order == 0;
        is_wrong |= order > 0;
    }
    *out_n = n;
    return is_wrong == 0;
}

static uint64_t count_duplicates(const q42_block *block) {
    uint16_t slots[Q42_BLOCK_QUINS];
    uint64_t n = 0;
    if (count_neighbours(block, &n)) {
        return n;
    }
    for (uint32_t i = 0; i < block->n_quins; i++) {
        slots[i] = (uint16_t)i;
    }
    sort_slots(block, slots);
    n = 0;
    for (uint32_t i = 1; i < block->n_quins; i++) {
        n += compare_slots(block, slots[i - 1], slots[i]) == 0;
    }
    return n;
}

static fmt_status refuse_digest(const q42_volume *volume, fmt_diag *diag) {
    return diag_refuse(diag, FMT_NO_SPACE, q42_get_rule(Q42_R_MERKLE_VALUE),
                       (diag_place){volume->header.dag.offset, FMT_NO_INDEX, 0, 0}, "SHA-256 cannot be computed here");
}

void q42_verify_block(const q42_volume *volume, uint64_t index, q42_want wants, uint8_t *room,
                      q42_block_facts *out_facts) {
    q42_block_facts *f = out_facts;
    q42_block block;
    memset(f, 0, sizeof *f);
    f->index = index;
    f->decode.status = q42_read_block(volume, index, 0, room, &block, &f->decode.diag);
    if (f->decode.status != FMT_OK) {
        return;
    }
    f->decode.status = q42_check_block_order(volume, &block, &f->decode.diag);
    if (f->decode.status == FMT_OK) {
        f->decode.status = q42_check_block_parity(volume, &block, &f->decode.diag);
    }
    f->is_decoded = block.n_quins > 0;
    if (!f->is_decoded) {
        return;
    }
    f->n_quins = block.n_quins;
    f->first = q42_block_quin(&block, 0);
    f->last = q42_block_quin(&block, block.n_quins - 1);
    f->n_duplicates = count_duplicates(&block);
    f->tail.status = q42_check_block_tail(volume, &block, &f->tail.diag);
    if ((wants & Q42_WANT_INDEXES) != 0) {
        f->fidx.status = q42_check_fidx_content(volume, &block, &f->fidx.diag);
        f->pidx.status = q42_check_pidx_content(volume, &block, &f->pidx.diag);
    }
    if ((wants & Q42_WANT_DIGEST) != 0 && !digest_quins(&block, f->quins_digest)) {
        f->decode.status = refuse_digest(volume, &f->decode.diag);
    }
}

/* ----------------------------------------------------------------------------------------------------------- all
 * blocks */

void q42_chain_begin(const q42_volume *volume, q42_chain *out_chain) {
    memset(out_chain, 0, sizeof *out_chain);
    out_chain->volume = volume;
    out_chain->has_dag = volume->header.dag.length > 0;
    out_chain->dag.status = q42_dag_count(volume, &out_chain->n_nodes, &out_chain->dag.diag);
}

/* Whether node and block belong together, and whether the node follows the one before. */
static void join_node(q42_chain *chain, const q42_block_facts *facts) {
    const q42_dag_node node = q42_dag_get(chain->volume, facts->index);
    const uint8_t *bytes = q42_dag_bytes(chain->volume, facts->index);
    const diag_place here = {(uint64_t)(bytes - chain->volume->span.data), facts->index, 0, node.flags};
    if (memcmp(node.parent, chain->digest, Q42_DIGEST_BYTES) != 0) {
        chain->dag.status =
            q42_refuse(&chain->dag.diag, Q42_R_DAG_CHAIN, here, "node %llu does not name %s as its parent",
                       (ull)facts->index, chain->n_joined == 0 ? "zero" : "the node before");
    } else if (facts->is_decoded && (node.flags & Q42_DAG_MERGE_SECONDARY) == 0 &&
               memcmp(node.quins_digest, facts->quins_digest, Q42_DIGEST_BYTES) != 0) {
        chain->dag.status =
            q42_refuse(&chain->dag.diag, Q42_R_DAG_CHAIN, here,
                       "node %llu is bound to other quins than those of its block", (ull)facts->index);
    }
    if (!sha256_digest(bytes, Q42_DAG_NODE_BYTES, chain->digest)) {
        chain->dag.status = refuse_digest(chain->volume, &chain->dag.diag);
    }
}

void q42_chain_join(q42_chain *chain, const q42_block_facts *facts) {
    if (facts->is_decoded) {
        if (chain->n_quins > 0 && facts->first.object < chain->last.object && chain->order.status == FMT_OK) {
            const diag_place here =
                q42_block_place(chain->volume, facts->index, chain->last.object, facts->first.object);
            chain->order.status = q42_refuse(&chain->order.diag, Q42_R_BLOCK_ORDER, here,
                                             "block %llu begins with object %016llx, the one before ends with %016llx",
                                             (ull)facts->index, (ull)facts->first.object, (ull)chain->last.object);
        }
        chain->n_duplicates += facts->n_duplicates;
        chain->n_duplicates += chain->n_quins > 0 && q42_quin_compare(&chain->last, &facts->first) == 0;
        chain->n_quins += facts->n_quins;
        chain->last = facts->last;
    }
    if (chain->has_dag && chain->dag.status == FMT_OK && facts->index < chain->n_nodes) {
        join_node(chain, facts);
    }
    chain->n_joined++;
}

void q42_chain_add_payload(q42_chain *chain, uint64_t block) {
    const q42_directory_entry entry = q42_get_directory_entry(chain->volume, block);
    sha256_stream stream;
    bool is_done = sha256_begin(&stream);
    if (is_done) {
        sha256_add(&stream, chain->digest, Q42_DIGEST_BYTES);
        sha256_add(&stream, chain->volume->span.data + entry.offset, entry.size);
        is_done = sha256_end(&stream, chain->digest);
    }
    if (!is_done) {
        chain->merkle.status = refuse_digest(chain->volume, &chain->merkle.diag);
    }
}

/* The root that the header should have. */
static bool expected_root(const q42_chain *chain, uint8_t out_root[Q42_DIGEST_BYTES]) {
    if (chain->has_dag && chain->n_nodes > 0) {
        const uint8_t *tip = q42_dag_bytes(chain->volume, chain->n_nodes - 1);
        uint8_t digest[Q42_DIGEST_BYTES];
        return sha256_digest(tip, Q42_DAG_NODE_BYTES, digest) && sha256_digest(digest, sizeof digest, out_root);
    }
    static const uint8_t zero[Q42_DIGEST_BYTES];
    memcpy(out_root, chain->has_dag ? zero : chain->digest, Q42_DIGEST_BYTES);
    return true;
}

void q42_chain_end(q42_chain *chain) {
    const q42_header *header = &chain->volume->header;
    if (chain->has_dag && chain->dag.status == FMT_OK && chain->n_nodes != header->block_count) {
        const diag_place here = {header->dag.offset, FMT_NO_INDEX, header->block_count, chain->n_nodes};
        chain->dag.status = q42_refuse(&chain->dag.diag, Q42_R_DAG_CHAIN, here, "there are %llu nodes for %llu blocks",
                                       (ull)chain->n_nodes, (ull)header->block_count);
    }
    uint8_t root[Q42_DIGEST_BYTES];
    if (chain->merkle.status != FMT_OK) {
        return;
    }
    if (!expected_root(chain, root)) {
        chain->merkle.status = refuse_digest(chain->volume, &chain->merkle.diag);
    } else if (memcmp(root, header->merkle_root, Q42_DIGEST_BYTES) != 0) {
        char told[SHA256_HEX_SIZE], wanted[SHA256_HEX_SIZE];
        sha256_to_hex(header->merkle_root, told);
        sha256_to_hex(root, wanted);
        chain->merkle.status = q42_refuse(
            &chain->merkle.diag, Q42_R_MERKLE_VALUE, ((diag_place){Q42_MERKLE_ROOT_AT, FMT_NO_INDEX, 0, 0}),
            "the root is %s, the %s give %s", told, chain->has_dag ? "nodes" : "payloads", wanted);
    }
}
