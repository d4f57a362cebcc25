/* safetensors_to_p64.c — the weights of a model folder as a source for the container's writer: the raw profile.
 *
 * Bytes and dimensions stay as they are. A container knows one file of tensors: offsets count through the files, which
 * follow each other in the order of their names.
 */
#include "convert/safetensors_to_p64.h"

#include <string.h>

#include "common/diag.h"
#include "common/fnv.h"

typedef unsigned long long ull;

static const fmt_rule rule_parity = {"parity", "17", "the container must hold the source's tensors unchanged"};

enum { P64_ENTRY_BYTES = 64, RELEASE_BEHIND = 1 << 20 };

static const sft_tensor *entry_of(const safetensors_source *s, uint32_t index) {
    return s->folder->tensors[index].entry;
}

static hf_shard *shard_of(const safetensors_source *s, uint32_t index) {
    return &s->folder->shards[s->folder->tensors[index].shard];
}

static void get_tensor(void *ctx, uint32_t index, p64_source_tensor *out) {
    const safetensors_source *s = ctx;
    const sft_tensor *t = entry_of(s, index);
    blk_type type = 0;
    (void)sft_dtype_to_block(t->dtype, &type); /* the folder holds nothing else */
    *out = (p64_source_tensor){.name = t->name,
                               .dtype = type,
                               .rank = t->rank == 0 ? 1 : t->rank,
                               .dims = {1, 1, 1, 1},
                               .source_offset = shard_of(s, index)->first_byte + t->begin,
                               .bytes = t->size};
    for (uint32_t k = 0; k < t->rank && k < 4; k++) {
        out->dims[k] = t->shape[k];
    }
    out->role = p64_role_of_raw_name(t->name.data, t->name.size, &out->layer);
}

static const uint8_t *get_bytes(void *ctx, uint32_t index, uint64_t offset, uint64_t size, void *room) {
    safetensors_source *s = ctx;
    const mapped_file *file = &shard_of(s, index)->file;
    (void)room;
    if (s->read_from != NULL) {
        /* The system maps pages around the one that is asked for, so some behind the last read came back. */
        const uint64_t begin = s->read_at > RELEASE_BEHIND ? s->read_at - RELEASE_BEHIND : 0;
        mapped_file_dont_need(s->read_from, begin, s->read_at + s->read_size - begin);
    }
    s->read_from = file;
    s->read_at = entry_of(s, index)->at + offset;
    s->read_size = size;
    return file->span.data + s->read_at;
}

void safetensors_source_init(safetensors_source *out, const hf_folder *folder) {
    *out = (safetensors_source){.folder = folder};
    out->source = (p64_source){
        .ctx = out, .n_tensors = folder->n_tensors, .get_tensor = get_tensor, .get_bytes = get_bytes};
    for (uint32_t i = 0; i < folder->n_tensors; i++) {
        p64_source_tensor t;
        get_tensor(out, i, &t);
        if (t.layer != P64_NO_LAYER && t.layer + 1 > out->source.hparams.n_layer) {
            out->source.hparams.n_layer = t.layer + 1;
        }
    }
}

/* ----------------------------------------------------------------------------------------------------------- parity */

/* Tensor of the source that begins at this offset. */
static uint32_t find_source(const safetensors_source *s, uint64_t offset, fmt_str name) {
    uint32_t low = 0, high = s->folder->n_tensors;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (shard_of(s, middle)->first_byte + entry_of(s, middle)->begin < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const fmt_str found = low < s->folder->n_tensors ? entry_of(s, low)->name : (fmt_str){"", 0};
    const bool is_same = found.size == name.size && memcmp(found.data, name.data, (size_t)name.size) == 0;
    return is_same ? low : UINT32_MAX;
}

static const char *find_difference(const safetensors_source *s, const p64_tensor *t, uint32_t from) {
    p64_source_tensor wanted;
    if (from == UINT32_MAX) {
        return "no tensor of the source has its name and offset";
    }
    get_tensor((void *)(uintptr_t)s, from, &wanted);
    if (t->rank != wanted.rank || t->dtype != wanted.dtype || t->blob.size != wanted.bytes) {
        return "it has another rank, type or size";
    }
    for (uint32_t k = 0; k < 4; k++) {
        if (t->file_dims[k] != wanted.dims[k]) {
            return "it has other dimensions";
        }
    }
    if (memcmp(t->blob.data, shard_of(s, from)->file.span.data + entry_of(s, from)->at, (size_t)wanted.bytes) != 0) {
        return "its bytes differ from the source";
    }
    return NULL;
}

static fmt_status compare(void *ctx, const p64_file *p64, uint32_t index, convert_parity_report *report,
                          fmt_diag *diag) {
    const safetensors_source *s = ctx;
    const p64_tensor t = p64_get_tensor(p64, index);
    const uint32_t from = find_source(s, t.source_offset, t.name);
    const char *difference = find_difference(s, &t, from);
    if (difference != NULL) {
        char name[DIAG_QUOTE_SIZE];
        const uint64_t at = p64->header.tensor_table_at + (uint64_t)P64_ENTRY_BYTES * index;
        return diag_refuse(diag, FMT_BAD_FILE, &rule_parity, (diag_place){at, index, 0, 0}, "tensor %u (%s): %s", index,
                           diag_quote(name, t.name), difference);
    }
    report->n_equal++;
    report->bytes_equal += t.blob.size;
    mapped_file_dont_need(&shard_of(s, from)->file, entry_of(s, from)->at, t.blob.size);
    return FMT_OK;
}

static bool is_intact(void *ctx) {
    const safetensors_source *s = ctx;
    for (uint32_t i = 0; i < s->folder->n_shards; i++) {
        if (mapped_file_check(&s->folder->shards[i].file, NULL) < 0) {
            return false;
        }
    }
    return true;
}

static bool is_own_file(void *ctx, uint64_t device, uint64_t inode) {
    const safetensors_source *s = ctx;
    for (uint32_t i = 0; i < s->folder->n_shards; i++) {
        if (s->folder->shards[i].file.device == device && s->folder->shards[i].file.inode == inode) {
            return true;
        }
    }
    return false;
}

fmt_status convert_safetensors(const convert_request *request, const hf_folder *folder, convert_report *out_report,
                               fmt_diag *diag) {
    safetensors_source from;
    convert_request raw = *request;
    raw.options.is_raw = true;
    safetensors_source_init(&from, folder);
    const convert_weights weights = {from.source, compare, is_intact, is_own_file, NULL};
    return convert_weights_to_p64(&raw, &weights, out_report, diag);
}

fmt_status convert_safetensors_parity(const p64_file *p64, const hf_folder *folder, convert_parity_report *out_report,
                                      fmt_diag *diag) {
    safetensors_source from;
    convert_parity_report report = {.n_tensors = p64->header.tensor_count};
    if (p64->header.tensor_count != folder->n_tensors) {
        return convert_refuse_count(p64, folder->n_tensors, diag);
    }
    safetensors_source_init(&from, folder);
    for (uint32_t i = 0; i < p64->header.tensor_count; i++) {
        const fmt_status status = compare(&from, p64, i, &report, diag);
        if (status != FMT_OK) {
            return status;
        }
    }
    *out_report = report;
    return FMT_OK;
}
