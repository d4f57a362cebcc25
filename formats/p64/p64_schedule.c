/* p64_schedule.c — section 7: one record a layer, computed from the entries and compared with what is stored. */
#include "common/endian.h"
#include "p64_layout.h"

typedef unsigned long long ull;

void p64_schedule_add(p64_schedule_record *record, p64_role role, uint64_t blob_offset, uint64_t blob_size) {
    const uint32_t begin = (uint32_t)blob_offset;
    const uint32_t end = (uint32_t)(blob_offset + blob_size);
    if (record->tensor_count == 0 || begin < record->blob_begin) {
        record->blob_begin = begin;
    }
    if (end > record->blob_end) {
        record->blob_end = end;
    }
    record->tensor_count = (uint16_t)(record->tensor_count + (record->tensor_count < UINT16_MAX));
    record->roles_mask |= (uint16_t)(role < 16 ? 1u << role : 0);
}

static p64_schedule_record load_record(const uint8_t *at) {
    return (p64_schedule_record){load_u32(at + P64_SCH_LAYER_AT), load_u32(at + P64_SCH_BEGIN_AT),
                                 load_u32(at + P64_SCH_END_AT), load_u16(at + P64_SCH_COUNT_AT),
                                 load_u16(at + P64_SCH_ROLES_AT)};
}

p64_schedule_record p64_get_schedule(const p64_file *file, uint32_t layer) {
    return load_record(file->span.data + file->header.role_table_at + (uint64_t)P64_RECORD_BYTES * layer);
}

static fmt_status compare_record(const p64_reader *r, uint32_t layer) {
    const p64_schedule_record wanted = r->layers[layer];
    const p64_schedule_record stored = p64_get_schedule(r->file, layer);
    const struct {
        const char *name;
        uint32_t at, wanted, stored;
    } fields[] = {
        {"layer", P64_SCH_LAYER_AT, layer, stored.layer},
        {"blob_begin", P64_SCH_BEGIN_AT, wanted.blob_begin, stored.blob_begin},
        {"blob_end", P64_SCH_END_AT, wanted.blob_end, stored.blob_end},
        {"tensor_count", P64_SCH_COUNT_AT, wanted.tensor_count, stored.tensor_count},
        {"roles_mask", P64_SCH_ROLES_AT, wanted.roles_mask, stored.roles_mask},
    };
    const uint64_t at = r->file->header.role_table_at + (uint64_t)P64_RECORD_BYTES * layer;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].stored != fields[i].wanted) {
            return p64_refuse(r, P64_R_SCHEDULE_MISMATCH,
                              (p64_at){at + fields[i].at, layer, fields[i].wanted, fields[i].stored},
                              "The schedule of layer %u says %s %u; its tensors give %u", layer, fields[i].name,
                              fields[i].stored, fields[i].wanted);
        }
    }
    return p64_require_zero(r, P64_R_SCHEDULE_RESERVED, at + P64_SCH_RESERVED_AT, at + P64_RECORD_BYTES,
                            "Reserved bytes of a schedule record");
}

fmt_status p64_check_schedule(p64_reader *r) {
    const uint32_t n_layer = r->file->hparams.n_layer;
    const uint64_t begin = r->file->header.role_table_at;
    if ((r->file->header.flags & P64_FLAG_SCHEDULE) == 0 || n_layer == 0) {
        return FMT_OK;
    }
    if (p64_first_nonzero(r->span, begin, begin + (uint64_t)P64_RECORD_BYTES * n_layer) == UINT64_MAX) {
        return p64_strictly(
            r, P64_R_SCHEDULE_BLANK, (p64_at){begin, FMT_NO_INDEX, n_layer, 0},
            "The layer schedule at byte %llu holds only zeros, although flag bit 6 says that it is there", (ull)begin);
    }
    for (uint32_t layer = 0; layer < n_layer; layer++) {
        const fmt_status status = compare_record(r, layer);
        if (status != FMT_OK) {
            return status;
        }
    }
    r->file->has_schedule = true;
    return FMT_OK;
}
