/* q42_sections.c — the sections of a volume lie inside the file and apart from each other; what nobody owns is told. */
#include "common/checked.h"
#include "q42_internal.h"

#define MAX_SECTIONS 9u

typedef struct named_section {
    const char *name;
    uint32_t field_at; /* of its offset in the header */
    q42_section section;
} named_section;

/* The sections that are there, by offset; returns how many. */
static uint32_t list_sections(const q42_header *h, named_section out[MAX_SECTIONS]) {
    const named_section all[MAX_SECTIONS] = {
        {"lexicon", Q42_LEXICON_AT, h->lexicon},   {"manifest", Q42_MANIFEST_AT, h->manifest},
        {"BIDX", Q42_BIDX_AT, h->bidx},            {"FIDX", Q42_FIDX_AT, h->fidx},
        {"PIDX", Q42_PIDX_AT, h->pidx},            {"block directory", Q42_DIRECTORY_AT, h->directory},
        {"block data", Q42_DATA_AT, h->data},      {"temporal index", Q42_TEMPORAL_AT, h->temporal},
        {"DAG", Q42_DAG_AT, h->dag},
    };
    uint32_t n = 0;
    for (uint32_t i = 0; i < MAX_SECTIONS; i++) {
        if (all[i].section.length == 0) {
            continue;
        }
        uint32_t at = n++;
        for (; at > 0 && out[at - 1].section.offset > all[i].section.offset; at--) {
            out[at] = out[at - 1];
        }
        out[at] = all[i];
    }
    return n;
}

fmt_status q42_check_sections(const q42_reader *reader, const q42_header *header) {
    named_section sections[MAX_SECTIONS];
    const uint32_t n = list_sections(header, sections);
    for (uint32_t i = 0; i < n; i++) {
        const q42_section s = sections[i].section;
        if (s.offset < Q42_HEADER_BYTES || !checked_range(s.offset, s.length, reader->span.size)) {
            const diag_place here = {sections[i].field_at, FMT_NO_INDEX, reader->span.size, s.offset};
            return q42_refuse(reader->diag, Q42_R_SECTION_BOUNDS, here,
                              "the %s has %llu bytes at byte %llu of a file of %llu bytes", sections[i].name,
                              (ull)s.length, (ull)s.offset, (ull)reader->span.size);
        }
    }
    for (uint32_t i = 1; i < n; i++) {
        const named_section *before = &sections[i - 1];
        const uint64_t end = before->section.offset + before->section.length;
        if (sections[i].section.offset < end) {
            const diag_place here = {sections[i].field_at, FMT_NO_INDEX, end, sections[i].section.offset};
            return q42_refuse(reader->diag, Q42_R_SECTION_OVERLAP, here,
                              "the %s begins at byte %llu, the %s ends at byte %llu", sections[i].name,
                              (ull)sections[i].section.offset, before->name, (ull)end);
        }
    }
    return FMT_OK;
}

static fmt_status settle_gap(const q42_reader *reader, uint64_t begin, uint64_t end, const char *next) {
    fmt_diag finding;
    const diag_place here = {begin, FMT_NO_INDEX, begin, end};
    diag_refuse(&finding, FMT_OK, q42_get_rule(Q42_R_GAP), here, "%llu bytes before the %s belong to no section",
                (ull)(end - begin), next);
    return q42_settle(reader, &finding);
}

fmt_status q42_check_unowned(const q42_reader *reader, const q42_header *header) {
    named_section sections[MAX_SECTIONS];
    const uint32_t n = list_sections(header, sections);
    uint64_t end = Q42_HEADER_BYTES;
    for (uint32_t i = 0; i < n; i++) {
        if (sections[i].section.offset > end) {
            const fmt_status status = settle_gap(reader, end, sections[i].section.offset, sections[i].name);
            if (status != FMT_OK) {
                return status;
            }
        }
        end = sections[i].section.offset + sections[i].section.length;
    }
    if (end == reader->span.size) {
        return FMT_OK;
    }
    fmt_diag finding;
    const diag_place here = {end, FMT_NO_INDEX, end, reader->span.size};
    diag_refuse(&finding, FMT_OK, q42_get_rule(Q42_R_TRAILING), here, "%llu bytes follow the last section",
                (ull)(reader->span.size - end));
    return q42_settle(reader, &finding);
}
