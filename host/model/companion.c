/* companion.c — finding, binding and reading a companion volume. */
#include "model/companion.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <quoin/q42.h>

#include "base/span_digest.h"
#include "common/diag.h"
#include "model/companion_volume.h"
#include "model/container_facts.h"

static const fmt_rule rule_words = {"companion-words", "18", "a model helper says it once, in the form of its profile"};
static const fmt_rule rule_binding = {"companion-binding", "19",
                                      "convert the source again, or take the companion away"};
static const fmt_rule rule_dims = {"companion-disagrees", "19",
                                   "container and companion must not contradict each other"};
static const char rule_digest[] = "companion-digest";
static const fmt_rule note_name = {"companion-name", "18", "the checksum says that it belongs to the container"};
static const fmt_rule note_foreign = {"companion-foreign", "18", "the container is looked at alone"};
static const fmt_rule note_unbound = {"companion-unbound", "19", "the container is looked at alone"};

/* A companion while it is read. */
typedef struct reading {
    const char *p64_name; /* without folder */
    const char *path;     /* of the companion */
    const companion_options *options;
    const p64_file *p64;
    companion *c;
    companion_volume volume;
} reading;

/* --------------------------------------------------------------------------------------------------------- messages */

/* Rules of statements, keys and small volumes: what they are broken by has a name, not a byte. */
static bool has_no_byte(const char *rule) {
    static const char *const beginnings[] = {"companion-", "convert-", "volume-"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        if (strncmp(rule, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

qn_status companion_fail(error_context *err, fmt_status status, const fmt_diag *diag, const char *path) {
    const qn_status code = error_from_diag(err, status, diag, path);
    if (err != NULL && has_no_byte(diag->rule)) {
        FAIL(err, code, "%s: %s (rule %s)", path, diag->text, diag->rule);
        err->rule = diag->rule;
        err->offset = 0;
    }
    return code;
}

static void put_note(const reading *r, const fmt_rule *rule, const char *finding) {
    fmt_diag note;
    if (r->options->note != NULL) {
        diag_refuse(&note, FMT_OK, rule, (diag_place){0, FMT_NO_INDEX, 0, 0}, "%.120s %s", r->path, finding);
        r->options->note(r->options->note_ctx, &note);
    }
}

/* A note of the volume's reader: the listener expects findings about the container, so the text names the volume. */
static void forward_note(void *ctx, const fmt_diag *from) {
    const reading *r = ctx;
    fmt_diag note = *from;
    snprintf(note.text, sizeof note.text, "%.120s: %.190s", r->path, from->text);
    if (r->options->note != NULL) {
        r->options->note(r->options->note_ctx, &note);
    }
}

/* ------------------------------------------------------------------------------------------------------------ words */

/* The only object of a predicate with metadata 0; false when there is none, or more. */
static bool find_object(const reading *r, const char *predicate, uint64_t *out_object) {
    uint64_t count;
    const companion_item *items =
        companion_find_items(r->volume.items, r->volume.n_items, q42_hash(predicate, strlen(predicate)), &count);
    if (count != 1 || items->metadata != 0) {
        return false;
    }
    *out_object = items->object;
    return true;
}

static bool has_predicate(const reading *r, const char *predicate) {
    uint64_t count;
    return companion_find_items(r->volume.items, r->volume.n_items, q42_hash(predicate, strlen(predicate)), &count) != NULL;
}

static fmt_status refuse_word(const char *predicate, const char *finding, fmt_diag *diag) {
    return diag_refuse(diag, FMT_BAD_FILE, &rule_words, (diag_place){0, FMT_NO_INDEX, 0, 0}, "%s %s", predicate,
                       finding);
}

static fmt_status read_word(reading *r, const char *predicate, char out[COMPANION_WORD_SIZE], fmt_diag *diag) {
    uint64_t object;
    fmt_str text;
    if (!find_object(r, predicate, &object) || object >> 60 != 0) {
        return refuse_word(predicate, "is missing, is no text or is said more than once", diag);
    }
    const fmt_status status = companion_volume_find_text(&r->volume, object, &text, diag);
    if (status == FMT_OK) { /* longer ones are nobody's; what they are compared with is short */
        snprintf(out, COMPANION_WORD_SIZE, "%.*s",
                 (int)(text.size < COMPANION_WORD_SIZE ? text.size : COMPANION_WORD_SIZE - 1), text.data);
    }
    return status;
}

static fmt_status read_optional_word(reading *r, const char *predicate, char out[COMPANION_WORD_SIZE], fmt_diag *diag) {
    return has_predicate(r, predicate) ? read_word(r, predicate, out, diag) : FMT_OK;
}

static fmt_status read_count(reading *r, const char *predicate, uint64_t *out, fmt_diag *diag) {
    uint64_t object = 0;
    return find_object(r, predicate, &object) && companion_get_integer(object, out)
               ? FMT_OK
               : refuse_word(predicate, "is missing, is no integer or is said more than once", diag);
}

/* Everything that the profile wants. */
static fmt_status check_profile(reading *r, fmt_diag *diag) {
    static const char *const texts[] = {"q42:sourceGguf", "q42:p64Asset", "q42:layout", "q42:chatFamily"};
    static const char *const counts[] = {"q42:pageLog2", "q42:convertedUnixMs", "q42:bosTokenId", "q42:eosTokenId",
                                         "q42:vocabLen"};
    char word[COMPANION_WORD_SIZE];
    uint64_t number = 0;
    bool flag;
    fmt_status status = read_word(r, "q42:format", word, diag);
    if (status == FMT_OK && strcmp(word, COMPANION_FORMAT_WORD) != 0) {
        return refuse_word("q42:format", "is not " COMPANION_FORMAT_WORD, diag);
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == FMT_OK; i++) {
        status = read_word(r, texts[i], word, diag);
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == FMT_OK; i++) {
        status = read_count(r, counts[i], &number, diag);
    }
    if (status == FMT_OK && !(find_object(r, "q42:addBosToken", &number) && companion_get_boolean(number, &flag))) {
        return refuse_word("q42:addBosToken", "is missing, is no boolean or is said more than once", diag);
    }
    return status;
}

static void read_stops(reading *r) {
    static const char predicate[] = "q42:stopTokenId";
    uint64_t count, id;
    const companion_item *items =
        companion_find_items(r->volume.items, r->volume.n_items, q42_hash(predicate, sizeof predicate - 1), &count);
    for (uint64_t i = 0; i < count && r->c->n_stops < COMPANION_MAX_STOPS; i++) {
        if (companion_get_integer(items[i].object, &id) && id < UINT32_MAX) {
            r->c->stops[r->c->n_stops++] = (uint32_t)id;
        }
    }
}

/* ---------------------------------------------------------------------------------------------------------- binding */

static fmt_status check_crc(reading *r, fmt_diag *diag) {
    uint64_t crc = 0;
    const fmt_status status = read_count(r, "lm:p64MetadataCrc", &crc, diag);
    if (status == FMT_OK && crc != r->p64->metadata_crc) {
        return diag_refuse(diag, FMT_BAD_FILE, &rule_binding, (diag_place){0, FMT_NO_INDEX, r->p64->metadata_crc, crc},
                           "it belongs to another container: lm:p64MetadataCrc is %08" PRIx64 ", that of %.80s is %08x",
                           crc, r->p64_name, r->p64->metadata_crc);
    }
    r->c->metadata_crc = (uint32_t)crc;
    return status;
}

static fmt_status read_binding(reading *r, fmt_diag *diag) {
    companion *c = r->c;
    const bool is_raw = (r->p64->header.flags & P64_FLAG_RAW) != 0;
    const struct {
        const char *predicate;
        char *word;
    } words[] = {{"lm:p64Sha256", c->p64_sha256},
                 {"lm:sourceSha256", c->source_sha256},
                 {"lm:ropeType", c->rope_type},
                 {"lm:dimsOrder", c->dims_order},
                 {"lm:sourceFormat", c->source_format}};
    fmt_status status = check_crc(r, diag);
    for (size_t i = 0; i < sizeof words / sizeof words[0] && status == FMT_OK; i++) {
        status = read_optional_word(r, words[i].predicate, words[i].word, diag);
    }
    if (status == FMT_OK && c->rope_type[0] != '\0' && strcmp(c->rope_type, "adjacent") != 0 &&
        strcmp(c->rope_type, "half") != 0) {
        return refuse_word("lm:ropeType", "is neither adjacent nor half", diag);
    }
    if (status == FMT_OK && c->dims_order[0] != '\0' && strcmp(c->dims_order, is_raw ? "rowmajor" : "ggml") != 0) {
        return diag_refuse(diag, FMT_BAD_FILE, &rule_dims, (diag_place){0, FMT_NO_INDEX, 0, 0},
                           "the container's dimensions are %s, lm:dimsOrder is %s", is_raw ? "rowmajor" : "ggml",
                           c->dims_order);
    }
    read_stops(r);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- the way */

static fmt_status build_keys(reading *r, fmt_diag *diag) {
    const companion_texts texts = {&r->volume, companion_volume_find_text};
    const fmt_status status = companion_image_build(r->volume.items, r->volume.n_items, &texts, r->p64, &r->c->image, diag);
    return status == FMT_OK ? container_agrees(r->p64, &r->c->image.file, diag) : status;
}

static fmt_status bind_and_read(reading *r, fmt_diag *diag) {
    fmt_status status = companion_volume_collect(&r->volume, diag);
    r->c->n_statements = r->volume.n_items;
    if (status == FMT_OK && !has_predicate(r, "lm:p64MetadataCrc")) {
        r->c->state = COMPANION_UNBOUND;
        put_note(r, &note_unbound,
                 "is a model helper, but not bound to a container (no lm:p64MetadataCrc); it is not used");
        return FMT_OK;
    }
    if (status == FMT_OK) {
        status = check_profile(r, diag);
    }
    if (status == FMT_OK) {
        status = read_binding(r, diag);
    }
    if (status == FMT_OK) {
        status = build_keys(r, diag);
    }
    if (status == FMT_OK) {
        r->c->state = COMPANION_BOUND;
        if (r->volume.subject != q42_hash(r->p64_name, strlen(r->p64_name))) {
            put_note(r, &note_name, "was made for a container of another file name");
        }
    }
    return status;
}

static fmt_status read_volume(reading *r, fmt_span span, fmt_diag *diag) {
    const fmt_status status = companion_volume_open(&r->volume, span, r->options->mode, forward_note, r, diag);
    if (status == FMT_NOT_FOUND) {
        r->c->state = COMPANION_FOREIGN;
        put_note(r, &note_foreign, "is a Q42 volume, but no model helper; it is not used");
        return FMT_OK;
    }
    return status == FMT_OK ? bind_and_read(r, diag) : status;
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool companion_path_of(const char *p64_path, char out_path[COMPANION_PATH_SIZE]) {
    const size_t length = strlen(p64_path);
    const size_t stem = length > 4 && strcasecmp(p64_path + length - 4, ".p64") == 0 ? length - 4 : length;
    const int n = snprintf(out_path, COMPANION_PATH_SIZE, "%.*s.q42", (int)stem, p64_path);
    return n > 0 && n < COMPANION_PATH_SIZE;
}

/* Everything but the mapping, which *out has already. */
static qn_status read_span(fmt_span span, const char *p64_path, const p64_file *p64, const companion_options *options,
                           companion *out, error_context *err) {
    reading r = {
        .p64_name = name_of(p64_path), .path = options->path, .options = options, .p64 = p64, .c = out};
    fmt_diag diag = {.rule = ""};
    snprintf(out->keys_name, sizeof out->keys_name, "%.4000s (its keys)", options->path);
    const fmt_status status = read_volume(&r, span, &diag);
    companion_volume_free(&r.volume);
    return status == FMT_OK ? QN_OK : companion_fail(err, status, &diag, options->path);
}

qn_status companion_read(fmt_span volume, const char *p64_path, const p64_file *p64, const companion_options *options,
                         companion *out, error_context *err) {
    *out = (companion){.file = {.fd = -1}};
    return read_span(volume, p64_path, p64, options, out, err);
}

qn_status companion_open(const char *p64_path, const p64_file *p64, const companion_options *options, companion *out,
                         error_context *err) {
    char beside[COMPANION_PATH_SIZE];
    companion_options named = *options;
    struct stat info;
    *out = (companion){.file = {.fd = -1}};
    if (options->path == NULL) {
        if (!companion_path_of(p64_path, beside) || stat(beside, &info) != 0) {
            return QN_OK;
        }
        named.path = beside;
    }
    QN_TRY(mapped_file_open(named.path, &out->file, err), err, "opening the companion volume");
    QN_TRY(read_span(out->file.span, p64_path, p64, &named, out, err), err, "reading the companion volume of %s",
           p64_path);
    return mapped_file_check(&out->file, err);
}

void companion_close(companion *c) {
    companion_image_free(&c->image);
    mapped_file_close(&c->file);
    c->state = COMPANION_ABSENT;
}

const char *companion_state_name(companion_state state) {
    static const char *const names[] = {"none", "foreign", "unbound", "bound"};
    return names[state];
}

/* ----------------------------------------------------------------------------------------------------------- digest */

qn_status companion_check_digest(const companion *c, const char *container_path, const uint8_t digest[SHA256_BYTES],
                                 error_context *err) {
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(digest, hex);
    if (strcmp(hex, c->p64_sha256) == 0) {
        return QN_OK;
    }
    FAIL(err, QN_BAD_FILE,
         "%s: lm:p64Sha256 is \"%s\", the SHA-256 of %s is %s: one of the two was changed; convert the source again "
         "(rule "
         "%s)",
         c->file.path, c->p64_sha256, container_path, hex, rule_digest);
    if (err != NULL) {
        err->rule = rule_digest;
    }
    return QN_BAD_FILE;
}

/* ------------------------------------------------------------------------------------------------------------ probe */

static bool is_helper(fmt_span span) {
    companion_volume volume;
    fmt_diag diag;
    const fmt_status status = companion_volume_open(&volume, span, FMT_MODE_DEFAULT, NULL, NULL, &diag);
    companion_volume_free(&volume);
    return status == FMT_OK;
}

qn_status companion_probe(const char *path, companion_state *out_state, error_context *err) {
    mapped_file file = {.fd = -1};
    struct stat info;
    if (stat(path, &info) != 0 && errno == ENOENT) {
        *out_state = COMPANION_ABSENT;
        return QN_OK;
    }
    QN_TRY(mapped_file_open(path, &file, err), err, "looking at %s", path);
    *out_state = is_helper(file.span) ? COMPANION_UNBOUND : COMPANION_FOREIGN;
    mapped_file_close(&file);
    return QN_OK;
}
