/* q42_open.c — opening a volume: the steps and their order (section 3.3 of the format's document). */
#include "q42_internal.h"

static fmt_span section_span(const q42_reader *reader, q42_section section) {
    const fmt_span span = {q42_section_data(reader->span, section), section.length};
    return span;
}

static fmt_status open_lexicon(const q42_reader *reader, q42_volume *volume) {
    const q42_section section = volume->header.lexicon;
    if (section.length == 0) {
        return FMT_OK; /* form Q42_LEXICON_NONE */
    }
    const fmt_status status =
        q42_lexicon_open(section_span(reader, section), section.offset, &volume->lexicon, reader->diag);
    if (status == FMT_OK && volume->lexicon.form == Q42_LEXICON_UNTAGGED) {
        q42_note(reader, Q42_R_LEXICON_UNTAGGED, ((diag_place){section.offset, FMT_NO_INDEX, 0, 0}),
                 "the lexicon has no kind bytes, as those beside volumes of version 1");
    }
    return status;
}

static fmt_status open_manifest(const q42_reader *reader, q42_volume *volume) {
    const q42_section section = volume->header.manifest;
    return section.length == 0 ? FMT_OK
                               : q42_manifest_open(section_span(reader, section), section.offset, &volume->manifest,
                                                   reader->diag);
}

/* What the default mode accepts although the letter does not. */
static fmt_status settle_letter(const q42_reader *reader, const q42_header *header) {
    fmt_diag finding;
    fmt_status status = FMT_OK;
    if (header->version != Q42_VERSION_WRITTEN) {
        const diag_place here = {Q42_VERSION_AT, FMT_NO_INDEX, Q42_VERSION_WRITTEN, header->version};
        diag_refuse(&finding, FMT_OK, q42_get_rule(Q42_R_VERSION_4), here, "this is a volume of version %u",
                    header->version);
        status = q42_settle(reader, &finding);
    }
    const unsigned unknown = header->flags & ~Q42_KNOWN_FLAGS;
    if (status == FMT_OK && unknown != 0) {
        const diag_place here = {Q42_FLAGS_AT, FMT_NO_INDEX, 0, unknown};
        diag_refuse(&finding, FMT_OK, q42_get_rule(Q42_R_UNKNOWN_FLAGS), here, "the flags 0x%04x are set", unknown);
        status = q42_settle(reader, &finding);
    }
    const uint64_t dirty = q42_first_nonzero(reader->span.data, Q42_RESERVED_AT, Q42_HEADER_BYTES);
    if (status == FMT_OK && dirty < Q42_HEADER_BYTES) {
        const diag_place here = {dirty, FMT_NO_INDEX, 0, reader->span.data[dirty]};
        diag_refuse(&finding, FMT_OK, q42_get_rule(Q42_R_RESERVED), here, "byte %llu of the header is %02x", (ull)dirty,
                    reader->span.data[dirty]);
        status = q42_settle(reader, &finding);
    }
    return status == FMT_OK ? q42_check_unowned(reader, header) : status;
}

fmt_status q42_open(fmt_span span, fmt_mode mode, q42_volume *out_volume, fmt_note_fn *note, void *note_ctx,
                    fmt_diag *diag) {
    static fmt_status (*const steps[])(const q42_reader *, const q42_header *) = {
        q42_check_bidx, q42_check_fidx, q42_check_pidx, q42_check_directory, settle_letter};
    q42_volume volume = {.span = span, .mode = mode};
    const q42_reader reader = {span, mode, note, note_ctx, diag};
    fmt_status status = q42_read_header(&reader, &volume.header);
    status = status == FMT_OK ? q42_check_sections(&reader, &volume.header) : status;
    status = status == FMT_OK ? open_manifest(&reader, &volume) : status;
    status = status == FMT_OK ? open_lexicon(&reader, &volume) : status;
    for (size_t i = 0; status == FMT_OK && i < sizeof steps / sizeof steps[0]; i++) {
        status = steps[i](&reader, &volume.header);
    }
    if (status == FMT_OK) {
        *out_volume = volume;
    }
    return status;
}
