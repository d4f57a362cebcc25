/* inspect_files.c — what the files around Q42 volumes say of themselves. */
#include <stdlib.h>

#include "cli/graph_command.h"
#include "cli/inspect_graph.h"
#include "cli/wal_text.h"

#define LISTED_QUINS 20u
#define SHOWN_PAYLOAD 512u

/* The error of a reader; null. */
static json_t *refuse(command_context *c, fmt_status status, const fmt_diag *diag, const mapped_file *file) {
    error_from_diag(&c->err, status, diag, file->path);
    return NULL;
}

static json_t *inspect_journal(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    static const char *const privacies[] = {"sanctuary", "restricted", "commons"};
    q42_journal j;
    fmt_diag diag;
    char base[2 * Q42_DIGEST_BYTES + 1];
    const fmt_status status = q42_journal_open(file->span, options->mode, &j, graph_tell_note, file->path, &diag);
    if (status != FMT_OK) {
        return refuse(c, status, &diag, file);
    }
    return json_pack("{s:i, s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "profile", (int)j.header.profile,
                     "privacy", j.header.privacy < 3 ? privacies[j.header.privacy] : "unknown", "world",
                     graph_json_id(j.header.world), "base_sha256",
                     graph_hex(j.header.base_digest, Q42_DIGEST_BYTES, base), "base_generation",
                     (json_int_t)j.header.base_generation, "transactions", (json_int_t)j.n_transactions, "adds",
                     (json_int_t)j.n_adds, "removes", (json_int_t)j.n_removes, "terms", (json_int_t)j.n_terms,
                     "torn_bytes", (json_int_t)j.n_torn_bytes, "ignored_frames", (json_int_t)j.n_ignored);
}

static json_t *inspect_log(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    qwal_log log;
    fmt_diag diag;
    char checkpoint[2 * Q42_DIGEST_BYTES + 1], created[WAL_TIME_SIZE];
    const fmt_status status = qwal_open(file->span, options->mode, &log, graph_tell_note, file->path, &diag);
    if (status != FMT_OK) {
        return refuse(c, status, &diag, file);
    }
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "created", wal_text_time(log.header.created_ms, created),
                     "checkpoint_sha256", graph_hex(log.header.checkpoint, Q42_DIGEST_BYTES, checkpoint), "first_sequence",
                     (json_int_t)log.first_sequence, "last_sequence", (json_int_t)log.last_sequence, "records",
                     (json_int_t)log.n_records, "commits", (json_int_t)log.n_commits, "quins", (json_int_t)log.n_quins, "terms",
                     (json_int_t)log.n_terms, "torn_bytes", (json_int_t)log.n_torn_bytes);
}

static json_t *inspect_envelope(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    q42_envelope e;
    fmt_diag diag;
    const fmt_status status = q42_envelope_open(file->span, options->mode, &e, graph_tell_note, file->path, &diag);
    if (status != FMT_OK) {
        return refuse(c, status, &diag, file);
    }
    const uint64_t shown = e.payload.size < SHOWN_PAYLOAD || options->shows_all ? e.payload.size : SHOWN_PAYLOAD;
    return json_pack("{s:o, s:o, s:I, s:o}", "profile", graph_json_id(e.profile), "profile_name",
                     e.profile_name != NULL ? json_string(e.profile_name) : json_null(), "payload_bytes",
                     (json_int_t)e.payload.size, "payload", command_json_text(e.payload.data, shown));
}

static json_t *inspect_vault(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    q42_vault v;
    q42_vault_walk walk = {0};
    q42_vault_entry entry;
    fmt_diag diag;
    (void)options;
    const fmt_status status = q42_vault_open(file->span, &v, &diag);
    if (status != FMT_OK) {
        return refuse(c, status, &diag, file);
    }
    json_t *entries = json_array();
    while (q42_vault_next(&v, &walk, &entry)) {
        json_array_append_new(entries, json_pack("{s:o, s:o}", "property",
                                                 command_json_text(entry.property.data, entry.property.size), "value",
                                                 command_json_text(entry.value.data, entry.value.size)));
    }
    return json_pack("{s:o, s:i, s:i, s:o}", "subject", command_json_text(v.subject.data, v.subject.size), "data_files",
                     (int)v.n_data_files, "envelopes", (int)v.n_envelopes, "entries", entries);
}

static json_t *inspect_archive(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    q42_car car;
    q42_car_block block;
    fmt_diag diag;
    char root[Q42_CID_TEXT_SIZE];
    uint64_t at = 0, n = 0, bytes = 0;
    fmt_status status = q42_car_open(file->span, options->mode, &car, graph_tell_note, file->path, &diag);
    while (status == FMT_OK && (status = q42_car_next(&car, &at, &block, &diag)) == FMT_OK) {
        n++;
        bytes += block.cid.codec == Q42_CODEC_RAW ? block.data.size : 0;
    }
    if (status != FMT_NOT_FOUND) {
        return refuse(c, status, &diag, file);
    }
    return json_pack("{s:i, s:o, s:b, s:I, s:I}", "roots", (int)car.n_roots, "root",
                     car.n_roots > 0 ? json_string(q42_cid_text(&car.root, Q42_CID_BASE32, root)) : json_null(),
                     "is_canonical", car.is_canonical, "blocks", (json_int_t)n, "content_bytes", (json_int_t)bytes);
}

static json_t *inspect_lexicon(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    q42_lexicon lexicon;
    fmt_diag diag;
    (void)options;
    const fmt_status status = q42_lexicon_open(file->span, 0, &lexicon, &diag);
    if (status != FMT_OK) {
        return refuse(c, status, &diag, file);
    }
    return json_pack("{s:s, s:I, s:I}", "form", q42_lexicon_form_name(lexicon.form), "entries",
                     (json_int_t)lexicon.n_entries, "pages", (json_int_t)lexicon.n_pages);
}

static json_t *inspect_index(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    uint64_t n_blocks = 0;
    fmt_diag diag;
    (void)options;
    const fmt_status status = q42_bidx_check(file->span, &n_blocks, &diag);
    return status == FMT_OK ? json_pack("{s:I}", "blocks", (json_int_t)n_blocks) : refuse(c, status, &diag, file);
}

/* --------------------------------------------------------------------------------------------- older forms */

static json_t *inspect_raw(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    const fmt_span none = {NULL, 0};
    q42_raw raw;
    q42_block block;
    fmt_diag diag;
    uint64_t n_quins = 0;
    (void)options;
    fmt_status status = q42_raw_open(file->span, none, none, &raw, &diag);
    for (uint64_t i = 0; status == FMT_OK && i < raw.n_blocks; i++) {
        status = q42_raw_read_block(&raw, i, &block, &diag);
        n_quins += status == FMT_OK ? block.n_quins : 0;
    }
    return status == FMT_OK ? json_pack("{s:I, s:I}", "blocks", (json_int_t)raw.n_blocks, "quins", (json_int_t)n_quins)
                            : refuse(c, status, &diag, file);
}

static json_t *inspect_framed(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    uint8_t *room = malloc(Q42_CHUNK_BYTES);
    uint64_t at = 0, n_chunks = 0, n_quins = 0;
    uint32_t n = 0;
    fmt_diag diag;
    fmt_status status;
    (void)options;
    if (room == NULL) {
        FAIL(&c->err, QN_NO_HOST_MEM, "%s: no memory for a chunk", file->path);
        return NULL;
    }
    while ((status = q42_framed_next(file->span, &at, room, &n, &diag)) == FMT_OK) {
        n_chunks++;
        n_quins += n;
    }
    free(room);
    return status == FMT_NOT_FOUND
               ? json_pack("{s:I, s:I}", "chunks", (json_int_t)n_chunks, "quins", (json_int_t)n_quins)
               : refuse(c, status, &diag, file);
}

static json_t *describe_quin(const uint8_t *at) {
    const q42_quin quin = q42_quin_load(at);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "subject", graph_json_id(quin.subject), "predicate",
                     graph_json_id(quin.predicate), "object", graph_json_id(quin.object), "context",
                     graph_json_id(quin.context), "metadata", graph_json_id(quin.metadata), "parity_is_right",
                     quin.parity == q42_quin_parity(&quin));
}

static json_t *inspect_flat(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    uint64_t n = 0;
    fmt_diag diag;
    const fmt_status status = q42_flat_count(file->span, &n, &diag);
    if (status != FMT_OK) {
        return refuse(c, status, &diag, file);
    }
    json_t *quins = json_array();
    for (uint64_t i = 0; i < n && (options->shows_all || i < LISTED_QUINS); i++) {
        json_array_append_new(quins, describe_quin(file->span.data + i * Q42_QUIN_BYTES));
    }
    return json_pack("{s:I, s:o}", "quins", (json_int_t)n, "quin_list", quins);
}

/* What is no file of ours to read: the reader of volumes says why. */
static json_t *inspect_foreign(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    q42_volume volume;
    fmt_diag diag = {.rule = "header.magic", .section = ""};
    const fmt_status status = q42_open(file->span, options->mode, &volume, NULL, NULL, &diag);
    return refuse(c, status == FMT_OK ? FMT_UNSUPPORTED : status, &diag, file);
}

json_t *inspect_other(command_context *c, const file_kind *kind, const mapped_file *file,
                      const inspect_options_set *options) {
    if (kind->is_vault) {
        return inspect_vault(c, file, options);
    }
    switch (kind->q42) {
    case Q42_FILE_LEXICON: return inspect_lexicon(c, file, options);
    case Q42_FILE_BIDX: return inspect_index(c, file, options);
    case Q42_FILE_JOURNAL: return inspect_journal(c, file, options);
    case Q42_FILE_ENVELOPE: return inspect_envelope(c, file, options);
    case Q42_FILE_RAW: return inspect_raw(c, file, options);
    case Q42_FILE_FRAMED: return inspect_framed(c, file, options);
    case Q42_FILE_FLAT: return inspect_flat(c, file, options);
    case Q42_FILE_WAL: return inspect_log(c, file, options);
    case Q42_FILE_CAR: return inspect_archive(c, file, options);
    default: return inspect_foreign(c, file, options);
    }
}
