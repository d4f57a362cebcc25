/* cmd_publish.c — quoin publish: addresses, torrents and archives of a volume that may be given away. Closed unless Commons is declared,
 * Sanctuary is not, and every block agrees. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text_buffer.h"
#include "base/same_file.h"
#include "cli/graph_command.h"
#include "graph/publication.h"
#include "graph/publish.h"

#define PATH_ROOM 4096

static struct {
    const char *output, *web_seed, *base;
    bool is_reference, is_forced, is_strict;
} settings;

static const option *publish_options(void) {
    settings.base = "base32";
    static const option table[] = {
        {OPTION_STRING, "output", 'o', "PATH",
         "file to write; of a set the folder (default: beside each file, with .torrent or .car)", &settings.output, 0, 0,
         NULL, NULL},
        {OPTION_STRING, "web-seed", 0, "URL", "where the file also is; {hash} and {name} stand for this file's",
         &settings.web_seed, 0, 0, NULL, NULL},
        {OPTION_FLAG, "reference-magnet", 0, NULL,
         "the link that the reference makes: SHA-1 of the file, which torrent clients do not know", &settings.is_reference,
         0, 0, NULL, NULL},
        {OPTION_STRING, "base", 0, "NAME", "how a CID is written: base32 (default), base58 or hex", &settings.base, 0, 0,
         "base32|base58|hex", NULL},
        {OPTION_FLAG, "strict", 0, NULL, "only the letter of the standard, and what the reference would publish too",
         &settings.is_strict, 0, 0, NULL, NULL},
        {OPTION_FLAG, "force", 0, NULL, "replace existing files", &settings.is_forced, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

typedef uint32_t publish_what;
enum { PUBLISH_CHECK, PUBLISH_MAGNET, PUBLISH_TORRENT, PUBLISH_CID, PUBLISH_CAR, PUBLISH_N };
static const char *const what_names[PUBLISH_N] = {"check", "magnet", "torrent", "cid", "car"};

typedef struct publication {
    command_context *c;
    publish_what what;
    graph_volume *volume;
    publish_list list;
    q42_publication tally;
    command_progress progress;
    json_t *files;
    text_buffer text; /* what is printed without --json */
} publication;

/* ---------------------------------------------------------------- the gate */

static json_t *describe_verdict(const q42_publication_verdict *verdict, const q42_witness *witness) {
    char text[PUBLICATION_WITNESS_SIZE];
    return json_pack("{s:s, s:b, s:s, s:s}", "class", q42_class_name(verdict->which), "public", verdict->may_publish,
                     "reason", verdict->reason, "witness", publication_describe(witness, text));
}

static json_t *describe_tally(const q42_publication *t) {
    return json_pack("{s:I, s:I, s:[IIIII], s:[III], s:[IIII]}", "quins", (json_int_t)t->n_quins, "unreadable_blocks",
                     (json_int_t)t->n_bad_blocks, "by_tier", (json_int_t)t->n_by_tier[0], (json_int_t)t->n_by_tier[1],
                     (json_int_t)t->n_by_tier[2], (json_int_t)t->n_by_tier[3], (json_int_t)t->n_by_tier[4], "by_label",
                     (json_int_t)t->n_by_label[0], (json_int_t)t->n_by_label[1], (json_int_t)t->n_by_label[2],
                     "by_lane", (json_int_t)t->n_by_lane[0], (json_int_t)t->n_by_lane[1], (json_int_t)t->n_by_lane[2],
                     (json_int_t)t->n_by_lane[3]);
}

static void tell_reference(const publication *p, const q42_publication_verdict *ours,
                           const q42_publication_verdict *theirs) {
    char text[PUBLICATION_WITNESS_SIZE];
    if (ours->may_publish != theirs->may_publish || ours->which != theirs->which) {
        publication_describe(&p->tally.theirs, text);
        log_line(QN_LOG_INFO, "the reference would call it %s and %s: %s%s%s%s", q42_class_name(theirs->which),
                 theirs->may_publish ? "public" : "not public", theirs->reason, text[0] != '\0' ? " (" : "", text,
                 text[0] != '\0' ? ")" : "");
    }
}

static qn_status pass_gate(publication *p, error_context *err) {
    char text[PUBLICATION_WITNESS_SIZE];
    const q42_publication_verdict ours = q42_publication_judge(&p->tally);
    const q42_publication_verdict theirs = q42_publication_judge_as_reference(&p->tally);
    tell_reference(p, &ours, &theirs);
    const bool is_theirs = ours.may_publish && settings.is_strict && !theirs.may_publish;
    if (ours.may_publish && !is_theirs) {
        return QN_OK;
    }
    publication_describe(is_theirs ? &p->tally.theirs : &p->tally.ours, text);
    return FAIL(err, QN_BAD_INPUT, "%s: not public (%s): %s%s%s%s", graph_volume_path(p->volume),
                q42_class_name(is_theirs ? theirs.which : ours.which), is_theirs ? theirs.reason : ours.reason,
                text[0] != '\0' ? " (" : "", text, text[0] != '\0' ? ")" : "");
}

/* ---------------------------------------------------------------- one file */

/* URL with {hash} and {name} filled in, malloc'ed; null for no URL or no memory. */
static char *fill_url(const char *url, const char *hash, const char *name) {
    text_buffer out = {0};
    bool is_right = url != NULL;
    while (is_right && *url != '\0') {
        const bool is_hash = strncmp(url, "{hash}", 6) == 0, is_name = strncmp(url, "{name}", 6) == 0;
        const char *part = is_hash ? hash : is_name ? name : url;
        is_right = text_buffer_append(&out, part, is_hash || is_name ? strlen(part) : 1);
        url += is_hash || is_name ? 6 : 1;
    }
    if (!is_right || !text_buffer_append(&out, "", 1)) {
        text_buffer_free(&out);
        return NULL;
    }
    return out.text;
}

/* Where the file's torrent or archive goes. */
static qn_status make_path(const publication *p, const publish_file *file, const char *ending, char out[PATH_ROOM],
                           error_context *err) {
    const bool is_set = p->list.n_files > 1;
    const int n = settings.output == NULL ? snprintf(out, PATH_ROOM, "%s%s", file->path, ending)
                  : is_set ? snprintf(out, PATH_ROOM, "%s/%s%s", settings.output, file->name, ending)
                           : snprintf(out, PATH_ROOM, "%s", settings.output);
    if (n <= 0 || n >= PATH_ROOM) {
        return FAIL(err, QN_BAD_INPUT, "%s: the path of the output is too long", file->path);
    }
    return same_file(out, file->path) ? FAIL(err, QN_BAD_INPUT, "%s is what is published: write another file", out) : QN_OK;
}

static qn_status add_line(publication *p, const char *text, error_context *err) {
    const bool is_added = text_buffer_append(&p->text, text, strlen(text)) && text_buffer_append(&p->text, "\n", 1);
    return is_added ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

/* What is told of one file; takes over `details`. */
static qn_status add_file(publication *p, const publish_file *file, json_t *details, const char *line,
                          error_context *err) {
    json_t *object = json_pack("{s:s, s:s, s:I}", "file", file->path, "role", file->role, "bytes",
                               (json_int_t)file->span.size);
    json_object_update(object, details);
    json_decref(details);
    json_array_append_new(p->files, object);
    return add_line(p, line, err);
}

static qn_status add_magnet(publication *p, const publish_file *file, const uint8_t hash[Q42_SHA1_BYTES],
                            const char *hash_name, const char *path, error_context *err) {
    char hex[2 * Q42_SHA1_BYTES + 1];
    graph_hex(hash, Q42_SHA1_BYTES, hex);
    char *url = fill_url(settings.web_seed, hex, file->name);
    const fmt_str name = {file->name, strlen(file->name)}, seed = {url, url != NULL ? strlen(url) : 0};
    const uint64_t size = q42_magnet(hash, name, file->span.size, seed, settings.is_reference, NULL, 0);
    char *link = malloc(size + 1);
    qn_status status = QN_NO_HOST_MEM;
    if (link != NULL) {
        q42_magnet(hash, name, file->span.size, seed, settings.is_reference, link, size + 1);
        const bool is_quiet_link = p->what == PUBLISH_TORRENT;
        status = add_file(p, file, json_pack("{s:s, s:s, s:s?}", hash_name, hex, "magnet", link, "torrent", path),
                          is_quiet_link ? path : link, err);
    } else {
        FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    free(link);
    free(url);
    return status;
}

static qn_status publish_reference(publication *p, const publish_file *file, error_context *err) {
    publish_address address;
    qn_status status = publish_measure(file, PUBLISH_WANT_SHA1, command_show_progress, &p->progress, &address, err);
    if (status >= 0) {
        status = add_magnet(p, file, address.sha1, "sha1", NULL, err);
        publish_address_free(&address);
    }
    return status;
}

static qn_status publish_pieces(publication *p, const publish_file *file, error_context *err) {
    char path[PATH_ROOM];
    uint8_t info_hash[Q42_SHA1_BYTES];
    publish_address address;
    qn_status status = make_path(p, file, ".torrent", path, err);
    status = status < 0 ? status
                        : publish_measure(file, PUBLISH_WANT_PIECES, command_show_progress, &p->progress, &address, err);
    if (status < 0) {
        return status;
    }
    /* The web seed of a torrent stands outside of what the info-hash covers, so {hash} can be filled in afterwards. */
    status = publish_torrent(file, &address, NULL, NULL, false, info_hash, err);
    if (status >= 0) {
        char hex[2 * Q42_SHA1_BYTES + 1];
        char *url = fill_url(settings.web_seed, graph_hex(info_hash, sizeof info_hash, hex), file->name);
        status = publish_torrent(file, &address, url, path, settings.is_forced, info_hash, err);
        free(url);
    }
    publish_address_free(&address);
    return status < 0 ? status : add_magnet(p, file, info_hash, "info_hash", path, err);
}

static q42_cid_base find_base(void) {
    return strcmp(settings.base, "hex") == 0 ? Q42_CID_HEX : strcmp(settings.base, "base58") == 0 ? Q42_CID_BASE58
                                                                                                   : Q42_CID_BASE32;
}

static qn_status publish_content(publication *p, const publish_file *file, error_context *err) {
    char path[PATH_ROOM], text[Q42_CID_TEXT_SIZE];
    publish_address address;
    qn_status status = publish_measure(file, PUBLISH_WANT_CID, command_show_progress, &p->progress, &address, err);
    if (status < 0) {
        return status;
    }
    q42_cid_text(&address.cid, find_base(), text);
    if (p->what == PUBLISH_CID) {
        return add_file(p, file, json_pack("{s:s}", "cid", text), text, err);
    }
    q42_cid root;
    status = make_path(p, file, ".car", path, err);
    status = status < 0 ? status : publish_car(file, path, settings.is_forced, command_show_progress, &p->progress, &root, err);
    return status < 0 ? status : add_file(p, file, json_pack("{s:s, s:s}", "cid", text, "car", path), text, err);
}

static qn_status publish_files(publication *p, error_context *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < p->list.n_files; i++) {
        const publish_file *file = &p->list.files[i];
        status = p->what == PUBLISH_CID || p->what == PUBLISH_CAR ? publish_content(p, file, err)
                 : settings.is_reference                          ? publish_reference(p, file, err)
                                                                  : publish_pieces(p, file, err);
    }
    return status;
}

/* ---------------------------------------------------------------- the whole */

static qn_status publish_volume(publication *p, const char *path, error_context *err) {
    const fmt_mode mode = settings.is_strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT;
    QN_TRY(graph_volume_open(path, mode, TERMS_AUTO, &p->volume, err), err, "opening %s", path);
    QN_TRY(publication_scan(p->volume, command_show_progress, &p->progress, &p->tally, err), err, "looking at %s", path);
    QN_TRY(pass_gate(p, err), err, "publishing %s", path);
    if (p->what == PUBLISH_CHECK) {
        return QN_OK;
    }
    QN_TRY(publish_list_open(p->volume, &p->list, err), err, "listing the files of %s", path);
    QN_TRY(publish_files(p, err), err, "publishing %s", path);
    return graph_volume_check_files(p->volume, err);
}

static int report(publication *p, const char *path) {
    const q42_publication_verdict ours = q42_publication_judge(&p->tally);
    const q42_publication_verdict theirs = q42_publication_judge_as_reference(&p->tally);
    if (p->c->json) {
        json_t *object = json_pack("{s:s, s:o, s:o, s:o, s:O}", "volume", path, "verdict",
                                   describe_verdict(&ours, &p->tally.ours), "reference_verdict",
                                   describe_verdict(&theirs, &p->tally.theirs), "scan", describe_tally(&p->tally),
                                   "files", p->files);
        return command_print_json(p->c, object);
    }
    if (p->what == PUBLISH_CHECK) {
        return graph_report(p->c, NULL, "%s: %s, public: %s\n", path, q42_class_name(ours.which), ours.reason);
    }
    return command_write(p->text.text, p->text.size) ? EXIT_DONE : EXIT_IO;
}

static bool find_what(const char *word, publish_what *out_what) {
    for (publish_what i = 0; i < PUBLISH_N; i++) {
        if (strcmp(what_names[i], word) == 0) {
            *out_what = i;
            return true;
        }
    }
    return false;
}

static int run(command_context *c) {
    publication p = {.c = c, .files = json_array()};
    if (c->args.n_items != 2 || !find_what(c->args.items[0], &p.what)) {
        json_decref(p.files);
        return graph_refuse_usage(c, "publish needs one of check, magnet, torrent, cid, car, and one VOLUME");
    }
    command_catch_signals(c);
    command_begin_progress(&p.progress, c, "publishing");
    const qn_status status = publish_volume(&p, c->args.items[1], &c->err);
    command_end_progress(&p.progress);
    const int exit_status = status < 0 ? command_fail(c) : report(&p, c->args.items[1]);
    text_buffer_free(&p.text);
    json_decref(p.files);
    publish_list_close(&p.list);
    graph_volume_close(p.volume);
    return exit_status;
}

const command command_publish = {
    .name = "publish", .summary = "Give a public volume away: magnet, torrent, CID, CAR",
    .synopsis = "check|magnet|torrent|cid|car VOLUME [options]",
    .example = "  quoin publish check books.q42\n  quoin publish magnet books.q42 --web-seed https://example.org/{name}\n"
               "  quoin publish car books.q42 -o books.car\n",
    .options = publish_options, .run = run, .is_without_backend = true};
