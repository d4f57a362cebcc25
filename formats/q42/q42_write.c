/* q42_write.c — a volume out of terms and built blocks: sections grow in spools, and go to the sink behind a header that knows
 * them all (sections 3 to 7 of the format's document).
 *
 *     header, lexicon, manifest, BIDX, FIDX, PIDX, directory, data, DAG
 */
#include <stdio.h>
#include <string.h>

#include "common/checked.h"
#include "common/diag.h"
#include "common/endian.h"
#include "common/fnv.h"
#include "common/sha.h"
#include "q42_write_impl.h"

typedef unsigned long long ull;

enum { DIRECTORY_RECORD = 16, BIDX_RECORD = 16, FIDX_RECORD = 48, DAG_HEAD = 8 };

static const fmt_rule rule_order = {"write-block-order", "6", "the objects of blocks do not fall"};
static const fmt_rule rule_state = {"write-state", "6", "a writer that has failed takes nothing more"};
static const fmt_rule rule_postings = {"write-postings", "5.3", "the postings of a volume fit into 4 GiB"};
static const fmt_rule rule_digest = {"write-digest", "7", "SHA-256 must be at hand"};

uint64_t q42_writer_bytes(void) {
    return sizeof(q42_writer);
}

void q42_writer_begin(q42_writer *writer, const q42_write_options *options, const q42_spool spools[Q42_N_SPOOLS]) {
    memset(writer, 0, sizeof *writer);
    writer->options = *options;
    memcpy(writer->spools, spools, sizeof writer->spools);
}

void q42_writer_need_sanctuary(q42_writer *writer) {
    writer->needs_sanctuary = true;
}

fmt_status q42_writer_append(q42_writer *writer, q42_spool_id spool, const void *data, uint64_t size, fmt_diag *diag) {
    const fmt_status status = writer->spools[spool].append(writer->spools[spool].ctx, data, size, diag);
    writer->sizes[spool] += status == FMT_OK ? size : 0;
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ blocks */

static fmt_status check_block(const q42_writer *writer, const q42_built_block *block, fmt_diag *diag) {
    const diag_place place = {0, writer->n_blocks, writer->last_object, block->object.least};
    if (writer->failed != FMT_OK) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_state, place, "a block after an error");
    }
    if (writer->n_blocks > 0 && block->object.least < writer->last_object) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_order, place, "the block begins with object %016llx after %016llx",
                           (ull)block->object.least, (ull)writer->last_object);
    }
    if (writer->sizes[Q42_SPOOL_PIDX] + block->postings_size > UINT32_MAX) {
        return diag_refuse(diag, FMT_LIMIT, &rule_postings, place, "there are too many blocks for one volume");
    }
    return FMT_OK;
}

static void store_range(uint8_t *at, q42_range range) {
    store_u64(at, range.least);
    store_u64(at + 8, range.most);
}

static fmt_status append_indexes(q42_writer *writer, const q42_built_block *block, fmt_diag *diag) {
    uint8_t bidx[BIDX_RECORD], fidx[FIDX_RECORD], table[4], directory[DIRECTORY_RECORD];
    store_range(bidx, block->object);
    for (unsigned i = 0; i < 3; i++) {
        store_range(fidx + 16 * i, block->fields[i]);
    }
    store_u32(table, (uint32_t)writer->sizes[Q42_SPOOL_PIDX]);
    store_u64(directory, writer->sizes[Q42_SPOOL_DATA]);
    store_u32(directory + 8, block->payload_size);
    store_u32(directory + 12, Q42_BLOCK_BYTES);
    const struct {
        q42_spool_id spool;
        const void *data;
        uint64_t size;
    } parts[] = {{Q42_SPOOL_BIDX, bidx, sizeof bidx},
                 {Q42_SPOOL_FIDX, fidx, sizeof fidx},
                 {Q42_SPOOL_PIDX_TABLE, table, sizeof table},
                 {Q42_SPOOL_PIDX, block->postings, block->postings_size},
                 {Q42_SPOOL_DIRECTORY, directory, sizeof directory},
                 {Q42_SPOOL_DATA, block->payload, block->payload_size}};
    fmt_status status = FMT_OK;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == FMT_OK; i++) {
        status = q42_writer_append(writer, parts[i].spool, parts[i].data, parts[i].size, diag);
    }
    return status;
}

static fmt_status hash(const void *data, uint64_t size, uint8_t out[Q42_DIGEST_BYTES], fmt_diag *diag) {
    return sha256_digest(data, size, out) ? FMT_OK
                                          : diag_refuse(diag, FMT_UNSUPPORTED, &rule_digest,
                                                        (diag_place){.index = FMT_NO_INDEX},
                                                        "the cryptographic library refuses to hash");
}

static fmt_status append_node(q42_writer *writer, const q42_built_block *block, fmt_diag *diag) {
    char message[40];
    uint8_t node[Q42_DAG_NODE_BYTES];
    const int length = snprintf(message, sizeof message, "ingest block %llu", (ull)writer->n_blocks);
    memcpy(node, writer->tip, Q42_DIGEST_BYTES); /* zero before the first */
    memcpy(node + 32, block->quins_digest, Q42_DIGEST_BYTES);
    store_u64(node + 64, writer->options.author);
    store_u64(node + 72, writer->options.timestamp_ms);
    store_u32(node + 80, (uint32_t)fnv_q_hash(message, (uint64_t)length));
    store_u32(node + 84, writer->n_blocks == 0 ? Q42_DAG_GENESIS : 0);
    const fmt_status status = q42_writer_append(writer, Q42_SPOOL_DAG, node, sizeof node, diag);
    return status != FMT_OK ? status : hash(node, sizeof node, writer->tip, diag);
}

fmt_status q42_writer_add_block(q42_writer *writer, const q42_built_block *block, fmt_diag *diag) {
    fmt_status status = check_block(writer, block, diag);
    status = status == FMT_OK ? append_indexes(writer, block, diag) : status;
    status = status == FMT_OK && writer->options.has_dag ? append_node(writer, block, diag) : status;
    if (status != FMT_OK) {
        writer->failed = writer->failed == FMT_OK ? status : writer->failed;
        return status;
    }
    writer->first_object = writer->n_blocks == 0 ? block->object.least : writer->first_object;
    writer->last_object = block->object.most;
    writer->n_quins += block->n_quins;
    writer->n_blocks++;
    writer->needs_sanctuary = writer->needs_sanctuary || block->needs_sanctuary;
    return FMT_OK;
}

/* ------------------------------------------------------------------------------------------------------------ layout */

/* A root has no blocks of its own, and no indexes over them; BIDX stays, because some readers ask for its head. */
static bool has_field_indexes(const q42_writer *writer) {
    return writer->options.manifest.size == 0;
}

typedef struct file_layout {
    q42_section lexicon, manifest, bidx, fidx, pidx, directory, data, dag;
    uint64_t end;
} file_layout;

static q42_section place(uint64_t *at, uint64_t length) {
    const q42_section section = {length != 0 ? *at : 0, length};
    *at += length;
    return section;
}

static file_layout lay_out(const q42_writer *writer) {
    const uint64_t *sizes = writer->sizes;
    const bool is_indexed = has_field_indexes(writer);
    file_layout l;
    uint64_t at = Q42_HEADER_BYTES;
    l.lexicon = place(&at, q42_lexicon_bytes(writer));
    l.manifest = place(&at, writer->options.manifest.size);
    l.bidx = place(&at, WRITE_INDEX_BYTES + sizes[Q42_SPOOL_BIDX]);
    l.fidx = place(&at, is_indexed ? WRITE_INDEX_BYTES + sizes[Q42_SPOOL_FIDX] : 0);
    l.pidx = place(&at, is_indexed ? WRITE_INDEX_BYTES + sizes[Q42_SPOOL_PIDX_TABLE] + 4 + sizes[Q42_SPOOL_PIDX] : 0);
    l.directory = place(&at, sizes[Q42_SPOOL_DIRECTORY]);
    l.data = place(&at, sizes[Q42_SPOOL_DATA]);
    l.dag = place(&at, sizes[Q42_SPOOL_DAG] != 0 ? DAG_HEAD + sizes[Q42_SPOOL_DAG] : 0);
    l.end = at;
    return l;
}

uint64_t q42_writer_size(const q42_writer *writer) {
    return lay_out(writer).end;
}

static uint16_t choose_flags(const q42_writer *writer) {
    unsigned flags = Q42_FLAG_BLOCKS_LZ4 | Q42_FLAG_OBJECT_SORTED;
    flags |= writer->options.manifest.size != 0 ? Q42_FLAG_VOLUME_ROOT : 0;
    flags |= has_field_indexes(writer) ? Q42_FLAG_FIELD_RANGES | Q42_FLAG_FIELD_POSTINGS : 0;
    if (writer->options.is_sanctuary || writer->needs_sanctuary) {
        flags |= Q42_FLAG_SANCTUARY;
    } else if (writer->options.is_commons) {
        flags |= Q42_FLAG_COMMONS;
    }
    return (uint16_t)flags;
}

/* --------------------------------------------------------------------------------------------------------- finishing */

fmt_status q42_write_put(q42_write_out *out, const void *data, uint64_t size) {
    const fmt_status status = size != 0 ? out->sink->write(out->sink->ctx, data, size, out->diag) : FMT_OK;
    out->at += status == FMT_OK ? size : 0;
    return status;
}

fmt_status q42_write_put_spool(q42_write_out *out, q42_spool_id id, uint64_t offset, uint64_t size) {
    const q42_spool *spool = &out->writer->spools[id];
    uint8_t *copy = out->writer->copy;
    fmt_status status = FMT_OK;
    while (size > 0 && status == FMT_OK) {
        const uint64_t part = size < WRITE_COPY_BYTES ? size : WRITE_COPY_BYTES;
        status = spool->read(spool->ctx, offset, copy, part, out->diag);
        status = status == FMT_OK ? q42_write_put(out, copy, part) : status;
        offset += part;
        size -= part;
    }
    return status;
}

static void store_section(uint8_t *at, q42_section section) {
    store_u64(at, section.offset);
    store_u64(at + 8, section.length);
}

static fmt_status put_header(q42_write_out *out, const file_layout *l, const q42_write_report *report) {
    uint8_t h[Q42_HEADER_BYTES] = {'Q', '4', '2', 0};
    store_u16(h + 4, 3);
    store_u16(h + 6, report->flags);
    store_section(h + 8, l->lexicon);
    store_section(h + 24, l->bidx);
    store_section(h + 40, l->directory);
    store_section(h + 56, l->data);
    store_u64(h + 72, report->n_blocks);
    store_u32(h + 80, Q42_BLOCK_BYTES);
    store_u32(h + 84, Q42_BLOCK_QUINS);
    memcpy(h + 104, report->merkle_root, Q42_DIGEST_BYTES);
    store_u64(h + 136, out->writer->options.timestamp_ms);
    store_section(h + 144, l->dag);
    store_section(h + 176, l->manifest);
    store_section(h + 192, l->fidx);
    store_section(h + 208, l->pidx);
    return q42_write_put(out, h, sizeof h);
}

static fmt_status put_index_head(q42_write_out *out, const char *magic) {
    uint8_t head[WRITE_INDEX_BYTES] = {0};
    memcpy(head, magic, 4);
    store_u32(head + 4, 1);
    store_u32(head + 8, (uint32_t)out->writer->n_blocks);
    return q42_write_put(out, head, sizeof head);
}

static fmt_status put_whole_spool(q42_write_out *out, q42_spool_id spool) {
    return q42_write_put_spool(out, spool, 0, out->writer->sizes[spool]);
}

static fmt_status put_index(q42_write_out *out, const char *magic, q42_spool_id spool) {
    const fmt_status status = put_index_head(out, magic);
    return status != FMT_OK ? status : put_whole_spool(out, spool);
}

static fmt_status put_postings(q42_write_out *out) {
    uint8_t end[4];
    store_u32(end, (uint32_t)out->writer->sizes[Q42_SPOOL_PIDX]);
    fmt_status status = put_index(out, "PIDX", Q42_SPOOL_PIDX_TABLE);
    status = status == FMT_OK ? q42_write_put(out, end, sizeof end) : status;
    return status == FMT_OK ? put_whole_spool(out, Q42_SPOOL_PIDX) : status;
}

static fmt_status put_dag(q42_write_out *out) {
    uint8_t count[DAG_HEAD];
    store_u64(count, out->writer->n_blocks);
    const fmt_status status = q42_write_put(out, count, sizeof count);
    return status != FMT_OK ? status : put_whole_spool(out, Q42_SPOOL_DAG);
}

static fmt_status put_indexes(q42_write_out *out) {
    fmt_status status = put_index(out, "BIDX", Q42_SPOOL_BIDX);
    if (status == FMT_OK && has_field_indexes(out->writer)) {
        status = put_index(out, "FIDX", Q42_SPOOL_FIDX);
        status = status == FMT_OK ? put_postings(out) : status;
    }
    return status;
}

static fmt_status put_file(q42_write_out *out, const file_layout *l, const q42_write_report *report) {
    const fmt_span manifest = out->writer->options.manifest;
    fmt_status status = put_header(out, l, report);
    status = status == FMT_OK ? q42_lexicon_put(out) : status;
    status = status == FMT_OK ? q42_write_put(out, manifest.data, manifest.size) : status;
    status = status == FMT_OK ? put_indexes(out) : status;
    status = status == FMT_OK ? put_whole_spool(out, Q42_SPOOL_DIRECTORY) : status;
    status = status == FMT_OK ? put_whole_spool(out, Q42_SPOOL_DATA) : status;
    return status == FMT_OK && l->dag.length != 0 ? put_dag(out) : status;
}

fmt_status q42_writer_finish(q42_writer *writer, const q42_sink *sink, q42_write_report *out_report, fmt_diag *diag) {
    const file_layout l = lay_out(writer);
    q42_write_report report = {.bytes = l.end,
                               .n_quins = writer->n_quins,
                               .n_blocks = writer->n_blocks,
                               .n_terms = writer->n_entries - writer->n_marks,
                               .flags = choose_flags(writer),
                               .first_object = writer->first_object,
                               .last_object = writer->last_object,
                               .first_key = writer->first_key,
                               .last_key = writer->last_key};
    q42_write_out out = {writer, sink, 0, diag};
    fmt_status status = FMT_OK;
    if (writer->failed != FMT_OK) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_state, (diag_place){.index = FMT_NO_INDEX}, "a finish after an error");
    }
    if (l.dag.length != 0) {
        status = hash(writer->tip, sizeof writer->tip, report.merkle_root, diag);
    }
    status = status == FMT_OK ? put_file(&out, &l, &report) : status;
    writer->failed = status != FMT_OK ? status : FMT_BAD_ARG; /* one file a writer */
    if (status == FMT_OK) {
        *out_report = report;
    }
    return status;
}
