/* p64_sections.c — sections 5, 11 and 12: where the sections lie, the metadata checksum, the hyper-parameters.
 *
 * All sums are made in 64 bits from 32-bit fields, so they cannot wrap.
 */
#include <string.h>

#include "common/crc32c.h"
#include "common/cursor.h"
#include "common/endian.h"
#include "p64_layout.h"

static fmt_status check_hparams_offset(p64_reader *r) {
    const uint64_t offset = r->file->header.hparams_at;
    if (offset < P64_RECORD_BYTES || offset % P64_RECORD_BYTES != 0 || offset + P64_RECORD_BYTES > r->span.size) {
        return p64_refuse(
            r, P64_R_HPARAMS_OFFSET, (p64_at){P64_HDR_HPARAMS_AT, FMT_NO_INDEX, P64_RECORD_BYTES, offset},
            "The hyper-parameters are said to be at byte %llu of %llu; they need 64 bytes at a multiple of 64, "
            "behind the header",
            (unsigned long long)offset, (unsigned long long)r->span.size);
    }
    return FMT_OK;
}

static fmt_status check_alignment(const p64_reader *r) {
    const p64_header *h = &r->file->header;
    const struct {
        const char *name;
        uint32_t field, offset, alignment;
        p64_rule rule;
    } sections[] = {
        {"tensor table", P64_HDR_TENSOR_TABLE_AT, h->tensor_table_at, 64, P64_R_SECTION_ALIGNMENT},
        {"tokenizer section", P64_HDR_TOKENIZER_AT, h->tokenizer_at, 4, P64_R_SECTION_ALIGNMENT},
        {"checksum table", P64_HDR_CHECKSUM_AT, h->checksum_at, 4, P64_R_SECTION_ALIGNMENT},
        {"manifold table", P64_HDR_MANIFOLD_AT, h->manifold_at, 64, P64_R_MANIFOLD_ALIGNMENT},
    };
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (sections[i].offset % sections[i].alignment != 0) {
            return p64_refuse(r, sections[i].rule,
                              (p64_at){sections[i].field, FMT_NO_INDEX, sections[i].alignment, sections[i].offset},
                              "The %s begins at byte %u, no multiple of %u", sections[i].name, sections[i].offset,
                              sections[i].alignment);
        }
    }
    return FMT_OK;
}

static fmt_status check_order(const p64_reader *r) {
    const p64_header *h = &r->file->header;
    const uint64_t n_layer = r->file->hparams.n_layer;
    const struct {
        const char *name;
        uint32_t field, offset;
        uint64_t size;
    } sections[] = {
        {"tensor table", P64_HDR_TENSOR_TABLE_AT, h->tensor_table_at, (uint64_t)P64_RECORD_BYTES * h->tensor_count},
        {"string table", P64_HDR_STRING_TABLE_AT, h->string_table_at, 0},
        {"manifold table", P64_HDR_MANIFOLD_AT, h->manifold_at, P64_RECORD_BYTES * (n_layer + 1)},
        {"tokenizer section", P64_HDR_TOKENIZER_AT, h->tokenizer_at, 0},
        {"checksum table", P64_HDR_CHECKSUM_AT, h->checksum_at, 0},
    };
    uint64_t end = (uint64_t)h->hparams_at + P64_RECORD_BYTES;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (sections[i].offset < end) {
            return p64_refuse(r, P64_R_SECTION_ORDER,
                              (p64_at){sections[i].field, FMT_NO_INDEX, end, sections[i].offset},
                              "The %s begins at byte %u, but the section before it ends at %llu", sections[i].name,
                              sections[i].offset, (unsigned long long)end);
        }
        end = sections[i].offset + sections[i].size;
    }
    return FMT_OK;
}

fmt_status p64_check_section_bounds(p64_reader *r) {
    fmt_status status = check_hparams_offset(r);
    if (status != FMT_OK) {
        return status;
    }
    const p64_header *h = &r->file->header;
    const uint64_t size = r->span.size;
    r->file->hparams.n_layer = load_u32(r->span.data + h->hparams_at + P64_HP_N_LAYER_AT);
    status = check_alignment(r);
    if (status != FMT_OK) {
        return status;
    }
    const uint64_t table_end = (uint64_t)h->tensor_table_at + (uint64_t)P64_RECORD_BYTES * h->tensor_count;
    if (table_end > size) {
        return p64_refuse(r, P64_R_TENSOR_TABLE_BOUNDS,
                          (p64_at){P64_HDR_TENSOR_COUNT_AT, FMT_NO_INDEX, size, h->tensor_count},
                          "%u tensor entries from byte %u end at %llu, past the end of the file at %llu",
                          h->tensor_count, h->tensor_table_at, (unsigned long long)table_end, (unsigned long long)size);
    }
    status = check_order(r);
    if (status != FMT_OK) {
        return status;
    }
    const uint64_t checksum_end = h->checksum_at + 4 * ((uint64_t)h->tensor_count + 1);
    if (checksum_end > size) {
        return p64_refuse(r, P64_R_CHECKSUM_BOUNDS, (p64_at){P64_HDR_CHECKSUM_AT, FMT_NO_INDEX, size, checksum_end},
                          "The checksum table from byte %u ends at %llu, past the end of the file at %llu",
                          h->checksum_at, (unsigned long long)checksum_end, (unsigned long long)size);
    }
    const uint64_t page = h->page_size;
    r->file->blob_floor = (checksum_end + page - 1) & ~(page - 1);
    return FMT_OK;
}

static fmt_status check_role_table(p64_reader *r) {
    const p64_header *h = &r->file->header;
    const uint64_t offset = h->role_table_at;
    const p64_at at = {P64_HDR_ROLE_TABLE_AT, FMT_NO_INDEX, 0, offset};
    if ((h->flags & P64_FLAG_SCHEDULE) != 0) {
        const uint64_t end = offset + (uint64_t)P64_RECORD_BYTES * r->file->hparams.n_layer;
        if (offset % P64_RECORD_BYTES != 0 || offset < (uint64_t)h->hparams_at + P64_RECORD_BYTES ||
            end > h->tensor_table_at) {
            return p64_refuse(
                r, P64_R_SCHEDULE_OFFSET, at,
                "The layer schedule is said to be at bytes %llu..%llu; it belongs at a multiple of 64 between "
                "the hyper-parameters and the tensor table at %u",
                (unsigned long long)offset, (unsigned long long)end, h->tensor_table_at);
        }
        return FMT_OK;
    }
    if (offset != 0 && offset == h->tensor_table_at && h->version == 4 && r->mode != FMT_MODE_STRICT) {
        p64_note(r, P64_R_ROLE_TABLE_VISION, at,
                 "role_table_offset repeats the offset of the tensor table, as vision files do");
        return FMT_OK;
    }
    if (offset != 0) {
        return p64_refuse(r, P64_R_SCHEDULE_OFFSET, at,
                          "role_table_offset is %llu although flag bit 6 (schedule) is clear",
                          (unsigned long long)offset);
    }
    return FMT_OK;
}

static fmt_status check_metadata_crc(p64_reader *r) {
    const uint64_t at = r->file->header.checksum_at;
    const uint32_t stored = load_u32(r->span.data + at);
    const uint32_t computed = crc32c(r->span.data, at);
    if (stored != computed) {
        return p64_refuse(r, P64_R_METADATA_CRC, (p64_at){at, FMT_NO_INDEX, stored, computed},
                          "The checksum of bytes 0..%llu is %08x; the file says %08x", (unsigned long long)at - 1,
                          computed, stored);
    }
    r->file->metadata_crc = computed;
    return FMT_OK;
}

static void load_hparams(p64_reader *r, bool has_extension) {
    p64_hparams *hp = &r->file->hparams;
    cursor c = cursor_make(r->span, r->file->header.hparams_at);
    *hp = (p64_hparams){0};
    hp->n_layer = cursor_u32(&c);
    hp->n_embd = cursor_u32(&c);
    hp->n_head = cursor_u32(&c);
    hp->n_kv_head = cursor_u32(&c);
    hp->vocab_size = cursor_u32(&c);
    hp->rope_freq_base = cursor_f32(&c);
    hp->rope_scale = cursor_f32(&c);
    r->file->has_extension = has_extension;
    if (has_extension) {
        hp->head_dim = cursor_u32(&c);
        hp->head_dim_swa = cursor_u32(&c);
        hp->sliding_window = cursor_u32(&c);
        hp->shared_kv_layers = cursor_u32(&c);
        hp->logit_softcap = cursor_f32(&c);
        hp->architecture = cursor_u32(&c);
        hp->arch_flags = cursor_u32(&c);
    }
}

fmt_status p64_check_metadata(p64_reader *r) {
    fmt_status status = check_role_table(r);
    if (status == FMT_OK) {
        status = check_metadata_crc(r);
    }
    if (status == FMT_OK) {
        status =
            p64_require_zero(r, P64_R_HEADER_RESERVED, P64_HDR_RESERVED_AT, P64_RECORD_BYTES, "Reserved header bytes");
    }
    const uint64_t hp = r->file->header.hparams_at;
    const bool is_v3 = r->file->header.version == 3;
    if (status == FMT_OK) {
        status = p64_require_zero(r, P64_R_HPARAMS_RESERVED, hp + (is_v3 ? P64_HP_EXTENSION_AT : P64_HP_RESERVED_AT),
                                  hp + P64_RECORD_BYTES, "Reserved hyper-parameter bytes");
    }
    if (status == FMT_OK && !is_v3) {
        status = p64_strictly_zero(r, P64_R_HPARAMS_EXTENSION, hp + P64_HP_EXTENSION_AT, hp + P64_HP_RESERVED_AT,
                                   "Hyper-parameters of the extended profile");
    }
    if (status == FMT_OK) {
        load_hparams(r, p64_first_nonzero(r->span, hp + P64_HP_EXTENSION_AT, hp + P64_HP_RESERVED_AT) != UINT64_MAX);
    }
    return status;
}
