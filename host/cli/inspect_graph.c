/* inspect_graph.c — a volume's header, sections and right to be published. */
#include "cli/inspect_graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/graph_command.h"
#include "graph/publication.h"
#include "graph/verify_volume.h"

#define LISTED_MEMBERS 32u

typedef struct named_flag {
    uint16_t bit;
    const char *name;
} named_flag;

static const named_flag flag_names[] = {
    {Q42_FLAG_BLOCKS_LZ4, "lz4"},           {Q42_FLAG_OBJECT_SORTED, "object-sorted"},
    {Q42_FLAG_VOLUME_ROOT, "volume-root"},  {Q42_FLAG_FIELD_RANGES, "field-ranges"},
    {Q42_FLAG_FIELD_POSTINGS, "field-postings"}, {Q42_FLAG_COMMONS, "permissive-commons"},
    {Q42_FLAG_SANCTUARY, "sanctuary"},
};

static json_t *describe_flags(uint16_t flags) {
    json_t *names = json_array();
    uint16_t rest = flags;
    for (size_t i = 0; i < sizeof flag_names / sizeof flag_names[0]; i++) {
        if ((flags & flag_names[i].bit) != 0) {
            json_array_append_new(names, json_string(flag_names[i].name));
            rest = (uint16_t)(rest & ~flag_names[i].bit);
        }
    }
    if (rest != 0) {
        json_array_append_new(names, json_string("unknown"));
    }
    if (flags == 0) {
        json_array_append_new(names, json_string("none"));
    }
    return names;
}

static json_t *describe_sections(const q42_header *h) {
    const struct {
        const char *name;
        q42_section section;
    } sections[] = {
        {"header", {0, Q42_HEADER_BYTES}}, {"lexicon", h->lexicon},
        {"volume-manifest", h->manifest},  {"bidx", h->bidx},
        {"field-ranges", h->fidx},         {"field-postings", h->pidx},
        {"block-directory", h->directory}, {"block-data", h->data},
        {"temporal-index", h->temporal},   {"merkle-dag", h->dag},
    };
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (sections[i].section.length > 0) {
            json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "name", sections[i].name, "offset",
                                                  (json_int_t)sections[i].section.offset, "length",
                                                  (json_int_t)sections[i].section.length));
        }
    }
    return list;
}

static json_t *describe_member(const q42_segment *member) {
    char hex[2 * Q42_DIGEST_BYTES + 1];
    return json_pack("{s:o, s:I, s:I, s:o, s:o, s:s}", "locator",
                     command_json_text(member->locator.data, member->locator.size), "bytes", (json_int_t)member->bytes,
                     "quins", (json_int_t)member->n_quins, "first", graph_json_id(member->first), "last",
                     graph_json_id(member->last), "sha256", graph_hex(member->digest, Q42_DIGEST_BYTES, hex));
}

static json_t *describe_manifest(const q42_manifest *m, bool shows_all) {
    json_t *members = json_array();
    q42_manifest_walk walk = {0, 0};
    q42_segment member;
    while ((shows_all || walk.index < LISTED_MEMBERS) && q42_manifest_next(m, &walk, &member)) {
        json_array_append_new(members, describe_member(&member));
    }
    return json_pack("{s:i, s:I, s:i, s:i, s:o}", "version", (int)m->version, "generation", (json_int_t)m->generation,
                     "segments", (int)m->n_segments, "lexicon_shards", (int)m->n_shards, "members", members);
}

/* ------------------------------------------------------------------------------------------------------ publication */

static const char *transport_of(const q42_publication *tally, const q42_publication_verdict *verdict) {
    return verdict->may_publish ? "webtorrent-commons" : tally->n_by_lane[2] > 0 ? "pairwise" : "local-only";
}

static json_t *term_text(graph_volume *volume, uint64_t id) {
    static char text[Q42_MAX_TERM];
    error_context quiet = {0};
    q42_term term;
    if (!q42_is_named(id) || graph_volume_find_term(volume, id, &term, &quiet) < 0 || term.kind == Q42_TERM_TRIPLE) {
        return json_null();
    }
    const uint32_t size = graph_term_copy(&term, text);
    return command_json_text(text, size);
}

/* The quin behind a verdict, with the words of its terms. */
static json_t *describe_witness(graph_volume *volume, const q42_witness *w) {
    char words[PUBLICATION_WITNESS_SIZE];
    if (w->why == Q42_WHY_NOTHING) {
        return json_null();
    }
    json_t *object = json_pack("{s:s, s:I}", "where", publication_describe(w, words), "block", (json_int_t)w->block);
    if (w->why != Q42_WHY_BLOCK) {
        const struct {
            const char *name;
            uint64_t id;
        } fields[] = {{"subject", w->quin.subject}, {"predicate", w->quin.predicate}, {"object", w->quin.object},
                      {"context", w->quin.context}};
        json_object_set_new(object, "slot", json_integer(w->slot));
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
            json_object_set_new(object, fields[i].name,
                                json_pack("{s:o, s:o}", "id", graph_json_id(fields[i].id), "term",
                                          term_text(volume, fields[i].id)));
        }
        json_object_set_new(object, "metadata", graph_json_id(w->quin.metadata));
    }
    return object;
}

static void add_verdicts(json_t *object, graph_volume *volume, const q42_publication *tally, bool explain) {
    const q42_publication_verdict ours = q42_publication_judge(tally);
    const q42_publication_verdict theirs = q42_publication_judge_as_reference(tally);
    char words[PUBLICATION_WITNESS_SIZE];
    json_object_set_new(object, "quins", json_integer((json_int_t)tally->n_quins));
    json_object_set_new(object, "publication_class", json_string(q42_class_name(ours.which)));
    json_object_set_new(object, "publication_transport", json_string(transport_of(tally, &ours)));
    json_object_set_new(object, "may_public_magnet", json_boolean(ours.may_publish));
    json_object_set_new(object, "publication_reason", json_string(ours.reason));
    json_object_set_new(object, "reference_class", json_string(q42_class_name(theirs.which)));
    json_object_set_new(object, "reference_may_public_magnet", json_boolean(theirs.may_publish));
    json_object_set_new(object, "reference_reason", json_string(theirs.reason));
    json_object_set_new(object, "reference_quin", json_string(publication_describe(&tally->theirs, words)));
    if (explain) {
        json_object_set_new(object, "explain",
                            json_pack("{s:o, s:o}", "ours", describe_witness(volume, &tally->ours), "reference",
                                      describe_witness(volume, &tally->theirs)));
    }
}

/* A set whose members are missing can still be described; it is then not said to be publishable. */
static bool add_publication(command_context *c, json_t *object, const char *path, const inspect_options_set *options) {
    graph_volume *volume = NULL;
    command_progress progress;
    q42_publication tally;
    error_context reason = {0};
    qn_status status = graph_volume_open(path, options->mode, TERMS_AUTO, &volume, &reason);
    command_begin_progress(&progress, c, "reading");
    if (status == QN_OK) {
        status = publication_scan(volume, command_show_progress, &progress, &tally, &reason);
    }
    command_end_progress(&progress);
    if (status == QN_OK) {
        json_object_set_new(object, "terms_are", json_string(term_convention_name(graph_volume_terms(volume))));
        add_verdicts(object, volume, &tally, options->explain);
    } else if (status == QN_CANCELLED || status == QN_NO_HOST_MEM) {
        c->err = reason;
    } else {
        json_object_set_new(object, "publication_class", json_null());
        json_object_set_new(object, "may_public_magnet", json_false());
        json_object_set_new(object, "publication_reason",
                            command_json_text(error_text(&reason), strlen(error_text(&reason))));
    }
    graph_volume_close(volume);
    return status != QN_CANCELLED && status != QN_NO_HOST_MEM;
}

/* ------------------------------------------------------------------------------------------------- honesty */

static void add_honest(json_t *list, const char *format, ...) ERROR_PRINTF(2, 3);
static void add_honest(json_t *list, const char *format, ...) {
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    json_array_append_new(list, json_string(line));
}

static const char *class_words(const char *name) {
    static const struct {
        const char *name, *words;
    } table[] = {
        {"mixed-fail-closed", "it is declared public and holds what must not leave this machine: it stays here"},
        {"sanctuary", "it holds what must not leave this machine"},
        {"commons-gated", "quins are in the commons lane; that alone does not make it public"},
        {"permissive-commons", "it is declared public, and nothing in it speaks against that"},
        {"unmarked-local", "it is not declared public: it stays on this machine"},
    };
    for (size_t i = 0; name != NULL && i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return table[i].words;
        }
    }
    return "whether it may be published could not be found out";
}

static json_t *describe_honesty(const q42_volume *volume, uint64_t n_terms, const json_t *object) {
    const q42_header *h = &volume->header;
    json_t *list = json_array();
    if (h->block_count > 0 && n_terms == 0) {
        add_honest(list, "it has blocks and no terms of its own: ids alone, unless its set has a lexicon");
    }
    if (volume->manifest.n_shards > 0) {
        add_honest(list, "the lexicon is in %u files of its own", volume->manifest.n_shards);
    }
    if (h->block_count > 0 && h->pidx.length == 0) {
        add_honest(list, "there are no postings (PIDX): a subject, predicate or graph is looked for in every block");
    }
    if ((h->flags & Q42_FLAG_VOLUME_ROOT) != 0) {
        add_honest(list, "it is a volume root: the statements are in %u other files", volume->manifest.n_segments);
    }
    add_honest(list, "%s", class_words(json_string_value(json_object_get(object, "publication_class"))));
    return list;
}

/* --------------------------------------------------------------------------------------------------- whole */

static bool has_bytes(const uint8_t *bytes, uint32_t n) {
    uint8_t any = 0;
    for (uint32_t i = 0; i < n; i++) {
        any |= bytes[i];
    }
    return any != 0;
}

static void add_header(json_t *object, const q42_volume *volume) {
    const q42_header *h = &volume->header;
    char hex[2 * Q42_DIGEST_BYTES + 1], flags[8];
    snprintf(flags, sizeof flags, "0x%04x", h->flags);
    json_object_update_new(object, json_pack("{s:i, s:s, s:o, s:I, s:i, s:i, s:I, s:s, s:s, s:I, s:I}", "version",
                                             (int)h->version, "flags", flags, "flag_names", describe_flags(h->flags),
                                             "block_count", (json_int_t)h->block_count, "block_size",
                                             (int)Q42_BLOCK_BYTES, "quins_per_block", (int)Q42_BLOCK_QUINS,
                                             "timestamp_ms", (json_int_t)h->timestamp_ms, "merkle_root",
                                             graph_hex(h->merkle_root, Q42_DIGEST_BYTES, hex), "merkle_kind",
                                             h->dag.length > 0                             ? "dag"
                                             : has_bytes(h->merkle_root, Q42_DIGEST_BYTES) ? "chain of payloads"
                                                                                           : "none",
                                             "natural_person_did_offset", (json_int_t)h->person_did_at,
                                             "software_agent_did_offset", (json_int_t)h->agent_did_at));
}

static void add_lexicon(json_t *object, const q42_volume *volume, uint64_t n_terms, bool has_mark) {
    const q42_header *h = &volume->header;
    json_object_update_new(
        object,
        json_pack("{s:I, s:I, s:s, s:b, s:b, s:b, s:b, s:b, s:b}", "lexicon_bytes", (json_int_t)h->lexicon.length,
                  "lexicon_entries", (json_int_t)volume->lexicon.n_entries, "lexicon_form",
                  q42_lexicon_form_name(volume->lexicon.form), "lexicon_has_no_terms", n_terms == 0, "has_surface_mark",
                  has_mark, "has_bidx", h->bidx.length > 0, "has_field_ranges", h->fidx.length > 0,
                  "has_field_postings", h->pidx.length > 0, "is_volume_root", (h->flags & Q42_FLAG_VOLUME_ROOT) != 0));
}

json_t *inspect_volume(command_context *c, const mapped_file *file, const inspect_options_set *options) {
    q42_volume volume;
    fmt_diag diag;
    const fmt_status opened = q42_open(file->span, options->mode, &volume, graph_tell_note, file->path, &diag);
    if (opened != FMT_OK) {
        error_from_diag(&c->err, opened, &diag, file->path);
        return NULL;
    }
    const bool has_mark = verify_has_mark(&volume.lexicon);
    const uint64_t n_terms = volume.lexicon.n_entries - has_mark;
    json_t *object = json_object();
    add_header(object, &volume);
    add_lexicon(object, &volume, n_terms, has_mark);
    if (!add_publication(c, object, file->path, options)) {
        json_decref(object);
        return NULL;
    }
    if ((volume.header.flags & Q42_FLAG_VOLUME_ROOT) != 0) {
        json_object_set_new(object, "manifest", describe_manifest(&volume.manifest, options->shows_all));
    }
    json_object_set_new(object, "sections", describe_sections(&volume.header));
    json_object_set_new(object, "honesty", describe_honesty(&volume, n_terms, object));
    return object;
}

json_t *inspect_graph(command_context *c, const file_kind *kind, const char *path, const inspect_options_set *options) {
    mapped_file file;
    if (mapped_file_open(path, &file, &c->err) < 0) {
        return NULL;
    }
    json_t *body = kind->q42 == Q42_FILE_VOLUME ? inspect_volume(c, &file, options)
                                                : inspect_other(c, kind, &file, options);
    json_t *head = NULL;
    if (body != NULL) {
        head = json_pack("{s:o, s:s, s:I}", "file", command_json_text(path, strlen(path)), "format", kind->name,
                         "bytes", (json_int_t)file.span.size);
        json_object_update(head, body);
        json_decref(body);
    }
    mapped_file_close(&file);
    return head;
}
