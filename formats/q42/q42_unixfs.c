/* q42_unixfs.c — a file as a balanced UnixFS DAG over raw leaves of 1 MiB (section 10.5 of the format's document).
 *
 *     node    dag-pb: for each child a link {hash, empty name, total size}, then the UnixFS message
 *     message type file, bytes of the file below, and how many of them below each child
 *
 * A level that has 1,024 links becomes one link of the level above as soon as another one comes. */
#include <string.h>

#include "common/checked.h"
#include "q42_files_internal.h"

#define UNIXFS_FILE 2u

/* Protocol buffers: field number and kind before each value. */
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static uint8_t *put_number(uint8_t *out, unsigned field, uint64_t value) {
    *out++ = (uint8_t)(field << 3 | WIRE_VARINT);
    return out + files_write_varint(value, out);
}

static uint8_t *put_length(uint8_t *out, unsigned field, uint64_t size) {
    *out++ = (uint8_t)(field << 3 | WIRE_BYTES);
    return out + files_write_varint(size, out);
}

static uint8_t *put_bytes(uint8_t *out, unsigned field, const uint8_t *data, uint64_t size) {
    out = put_length(out, field, size);
    if (size > 0) {
        memcpy(out, data, (size_t)size);
    }
    return out + size;
}

/* PBLink: Hash = 1, Name = 2, Tsize = 3. */
static uint8_t *put_link(uint8_t *out, const q42_dag_link *link) {
    uint8_t cid[Q42_CID_BYTES], body[Q42_CID_BYTES + 24];
    uint8_t *end = put_bytes(body, 1, cid, q42_cid_store(&link->cid, cid));
    end = put_bytes(end, 2, NULL, 0);
    end = put_number(end, 3, link->total);
    return put_bytes(out, 2, body, (uint64_t)(end - body));
}

static uint64_t measure_varint(uint64_t value) {
    uint8_t room[10];
    return files_write_varint(value, room);
}

/* Type = 1, filesize = 3, blocksizes = 4; in field 1 of the node. */
static uint8_t *put_message(uint8_t *out, const q42_dag_link *links, uint32_t n_links, uint64_t content) {
    uint64_t size = 2 + 1 + measure_varint(content);
    for (uint32_t i = 0; i < n_links; i++) {
        size += 1 + measure_varint(links[i].content);
    }
    out = put_length(out, 1, size);
    out = put_number(out, 1, UNIXFS_FILE);
    out = put_number(out, 3, content);
    for (uint32_t i = 0; i < n_links; i++) {
        out = put_number(out, 4, links[i].content);
    }
    return out;
}

static fmt_status emit_block(q42_file_dag *dag, uint64_t codec, const uint8_t *data, uint64_t size,
                             q42_dag_link *out_link, fmt_diag *diag) {
    if (!q42_cid_of(codec, data, size, &out_link->cid)) {
        return diag_refuse(diag, FMT_IO, files_get_rule(Q42F_R_DAG_HASH), files_at(dag->bytes),
                           "no digest for a block of %llu bytes", (unsigned long long)size);
    }
    return dag->sink.take == NULL ? FMT_OK : dag->sink.take(dag->sink.ctx, &out_link->cid, data, size, diag);
}

/* All links of a level become one node. */
static fmt_status emit_node(q42_file_dag *dag, uint32_t level, q42_dag_link *out_link, fmt_diag *diag) {
    const q42_dag_link *links = dag->links[level];
    const uint32_t n_links = dag->n_links[level];
    q42_dag_link node = {.content = 0, .total = 0};
    uint8_t *end = dag->node;
    for (uint32_t i = 0; i < n_links; i++) {
        end = put_link(end, &links[i]);
        node.content += links[i].content;
        node.total += links[i].total;
    }
    end = put_message(end, links, n_links, node.content);
    const uint64_t size = (uint64_t)(end - dag->node);
    const fmt_status status = emit_block(dag, Q42_CODEC_DAG_PB, dag->node, size, &node, diag);
    node.total += size;
    dag->n_links[level] = 0;
    *out_link = node;
    return status;
}

/* One link more on a level; full levels are first made into nodes of the levels above. */
static fmt_status push_link(q42_file_dag *dag, uint32_t level, const q42_dag_link *link, fmt_diag *diag) {
    q42_dag_link carried = *link;
    while (level == Q42_NODE_LEVELS || dag->n_links[level] == Q42_NODE_LINKS) {
        q42_dag_link node;
        if (level + 1 >= Q42_NODE_LEVELS) {
            return diag_refuse(diag, FMT_LIMIT, files_get_rule(Q42F_R_DAG_SIZE), files_at(dag->bytes),
                               "%llu bytes do not fit", (unsigned long long)dag->bytes);
        }
        const fmt_status status = emit_node(dag, level, &node, diag);
        if (status != FMT_OK) {
            return status;
        }
        dag->links[level][dag->n_links[level]++] = carried;
        carried = node;
        level++;
    }
    dag->links[level][dag->n_links[level]++] = carried;
    return FMT_OK;
}

fmt_status q42_file_dag_add(q42_file_dag *dag, const uint8_t *data, uint64_t size, fmt_diag *diag) {
    const bool is_after_short = dag->bytes % Q42_LEAF_BYTES != 0;
    if (size > Q42_LEAF_BYTES || is_after_short || (size == 0 && dag->n_leaves > 0)) {
        const diag_place here = {dag->bytes, dag->n_leaves, Q42_LEAF_BYTES, size};
        return diag_refuse(diag, FMT_BAD_ARG, files_get_rule(Q42F_R_DAG_LEAF), here, "leaf %llu has %llu bytes",
                           (unsigned long long)dag->n_leaves, (unsigned long long)size);
    }
    q42_dag_link leaf = {.content = size, .total = size};
    const fmt_status status = emit_block(dag, Q42_CODEC_RAW, data, size, &leaf, diag);
    if (status != FMT_OK) {
        return status;
    }
    dag->n_leaves++;
    dag->bytes += size;
    return push_link(dag, 0, &leaf, diag);
}

static bool has_link_above(const q42_file_dag *dag, uint32_t level) {
    return level + 1 < Q42_NODE_LEVELS && dag->n_links[level + 1] > 0;
}

fmt_status q42_file_dag_finish(q42_file_dag *dag, q42_cid *out_root, fmt_diag *diag) {
    fmt_status status = dag->n_leaves == 0 ? q42_file_dag_add(dag, NULL, 0, diag) : FMT_OK;
    for (uint32_t level = 0; status == FMT_OK; level++) {
        q42_dag_link node;
        if (dag->n_links[level] == 1 && !has_link_above(dag, level)) {
            *out_root = dag->links[level][0].cid;
            return FMT_OK;
        }
        status = emit_node(dag, level, &node, diag);
        status = status == FMT_OK ? push_link(dag, level + 1, &node, diag) : status;
    }
    return status;
}
