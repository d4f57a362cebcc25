/* rdf_turtle.c — Turtle and TriG through libserd, whose every event is checked again: IRIs are resolved and must be
 * absolute, characters, language tags and labels must be right, a text may not be too long. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <serd/serd.h>

#include "base/text_buffer.h"
#include "graph/iri.h"
#include "graph/turtle_feed.h"
#include "rdf_internal.h"

#define WORDS_SIZE 200

typedef struct turtle {
    rdf_reader *reader;
    SerdEnv *env;
    rdf_statement_fn *take;
    rdf_reject_fn *reject;
    void *ctx;
    error_context *err;
    qn_status status;          /* QN_OK, or what ended the reading */
    bool is_chosen;            /* a prefix for generated labels has been chosen: */
    uint32_t prefix;
    bool is_opened;            /* the object of the statement in work is a bracket that has just been opened */
    bool is_part;              /* what is at fault is the literal's language tag or datatype */
    bool is_refused;           /* libserd has said something: */
    char words[WORDS_SIZE];
    text_buffer base;          /* absolute; size 0: none */
    text_buffer iri;           /* the one that is being put together */
    text_buffer prefix_iri;    /* of a prefix that is being declared, terminated */
    ntriples_statement statement;
    turtle_feed feed;          /* from here on not zeroed */
    char scratch[NTRIPLES_SCRATCH_SIZE];
} turtle;

/* ---------------------------------------------------------------- faults */

__attribute__((format(printf, 4, 5)))
static void describe(const turtle *t, turtle_rule rule, fmt_diag *out, const char *format, ...) {
    char finding[WORDS_SIZE + 60];
    va_list args;
    va_start(args, format);
    vsnprintf(finding, sizeof finding, format, args);
    va_end(args);
    *out = (fmt_diag){.rule = turtle_rules[rule].id, .section = turtle_rules[rule].section, .offset = t->feed.offset,
                      .index = t->feed.line};
    snprintf(out->text, sizeof out->text, "%s: %s.", finding, turtle_rules[rule].sentence);
}

static turtle_place feed_place(const turtle *t) {
    return (turtle_place){t->feed.line, t->feed.column, t->feed.offset};
}

static turtle_place term_place(const turtle *t, uint32_t term) {
    return turtle_places_find(&t->feed.places, term, t->is_opened);
}

rdf_place rdf_turtle_find_term(const turtle *t, uint32_t term) {
    const turtle_place place = term_place(t, term);
    return (rdf_place){place.line, place.column};
}

/* Puts the place in the input before the words of a diagnosis; those of a term begin with a place inside the term. */
static void put_place(fmt_diag *diag, turtle_place place) {
    char words[FMT_TEXT_SIZE], text[80];
    const char *inner = strncmp(diag->text, "line 1, column ", 15) == 0 ? strstr(diag->text, ": ") : NULL;
    snprintf(words, sizeof words, "%s", inner == NULL ? diag->text : inner + 2);
    diag->offset = place.offset;
    diag->index = place.line;
    snprintf(text, sizeof text, "line %" PRIu64 ", column %" PRIu64, place.line, place.column);
    snprintf(diag->text, sizeof diag->text, "%s: %.*s", text, (int)(sizeof diag->text - sizeof text - 3), words);
}

/* A term of a statement is at fault: the statement is refused, and reading goes on when the caller wants it. */
static SerdStatus refuse_statement(turtle *t, fmt_status fault, uint32_t term, fmt_diag *diag) {
    const turtle_place place = t->is_part ? t->feed.places.part : term_place(t, term);
    put_place(diag, place);
    const rdf_reject reject = {diag, place.line, place.column, {NULL, 0}};
    t->status = t->reject == NULL ? error_from_diag(t->err, fault, diag, rdf_reader_name(t->reader))
                                  : t->reject(t->ctx, &reject, t->err);
    return t->status < 0 ? SERD_ERR_INTERNAL : SERD_SUCCESS;
}

/* ---------------------------------------------------------------- terms */

static fmt_str buffer_str(const text_buffer *buffer) {
    return (fmt_str){buffer->text, buffer->size};
}

static bool append(text_buffer *buffer, const void *bytes, size_t size) {
    return text_buffer_append(buffer, bytes, size);
}

static fmt_str node_str(const SerdNode *node) {
    return (fmt_str){(const char *)node->buf, node->n_bytes};
}

/* An IRI as the text has it, against the base of the text. An absolute one is kept as it is. */
static fmt_status resolve(turtle *t, fmt_str iri, fmt_str *out, fmt_diag *diag) {
    *out = iri;
    if (iri_is_absolute(iri)) {
        return FMT_OK;
    }
    if (t->base.size == 0) {
        describe(t, TURTLE_BASE, diag, "<%.*s>", (int)(iri.size < WORDS_SIZE ? iri.size : WORDS_SIZE), iri.data);
        return FMT_BAD_FILE;
    }
    if (!iri_resolve(buffer_str(&t->base), iri, &t->iri)) {
        return FMT_NO_SPACE;
    }
    *out = buffer_str(&t->iri);
    return FMT_OK;
}

/* The whole IRI without brackets that a node stands for. */
static fmt_status whole_iri(turtle *t, const SerdNode *node, fmt_str *out, fmt_diag *diag) {
    SerdChunk prefix, suffix;
    t->iri.size = 0;
    if (node->type == SERD_URI) {
        return resolve(t, node_str(node), out, diag);
    }
    if (serd_env_expand(t->env, node, &prefix, &suffix) != SERD_SUCCESS) {
        const char *name = (const char *)node->buf;
        describe(t, TURTLE_PREFIX, diag, "\"%.*s:\"", (int)strcspn(name, ":"), name);
        return FMT_BAD_FILE;
    }
    if (!append(&t->iri, prefix.buf, prefix.len) || !append(&t->iri, suffix.buf, suffix.len)) {
        return FMT_NO_SPACE;
    }
    *out = buffer_str(&t->iri);
    return FMT_OK;
}

/* x… is a label of the text, b… one that libserd has made. */
static fmt_status make_label(turtle *t, const SerdNode *node, char *room, ntriples_term *out, fmt_diag *diag) {
    char generated[TURTLE_LABEL_START];
    const char *prefix = t->reader->blank_prefix, *name = (const char *)node->buf;
    t->iri.size = 0;
    generated[0] = '\0';
    if (name[0] != 'x') {
        t->prefix = t->is_chosen ? t->prefix : turtle_free_prefix(t->feed.taken);
        t->is_chosen = true;
        turtle_generated_prefix(t->prefix, generated);
    }
    if (!append(&t->iri, prefix, strlen(prefix)) || !append(&t->iri, generated, strlen(generated)) ||
        !append(&t->iri, name + 1, node->n_bytes - 1)) {
        return FMT_NO_SPACE;
    }
    return ntriples_make_blank(buffer_str(&t->iri), room, out, diag);
}

static fmt_status make_resource(turtle *t, const SerdNode *node, char *room, ntriples_term *out, fmt_diag *diag) {
    fmt_str iri;
    if (node->type == SERD_BLANK) {
        return make_label(t, node, room, out, diag);
    }
    const fmt_status status = whole_iri(t, node, &iri, diag);
    return status == FMT_OK ? ntriples_make_iri(iri, room, out, diag) : status;
}

static bool is_there(const SerdNode *node) {
    return node != NULL && node->buf != NULL && node->type != SERD_NOTHING;
}

/* Which rules say nothing about a language tag or a datatype. */
static bool is_about_text(const fmt_diag *diag) {
    return strcmp(diag->rule, "utf-8") == 0 || strcmp(diag->rule, "term-too-long") == 0;
}

static fmt_status make_object(turtle *t, const SerdNode *node, const SerdNode *datatype, const SerdNode *language, char *room,
                              ntriples_term *out, fmt_diag *diag) {
    fmt_str tag = {NULL, 0}, type = {NULL, 0};
    if (node->type != SERD_LITERAL) {
        return make_resource(t, node, room, out, diag);
    }
    if (is_there(language)) {
        tag = node_str(language);
    } else if (is_there(datatype)) {
        const fmt_status status = whole_iri(t, datatype, &type, diag);
        if (status != FMT_OK) {
            t->is_part = true;
            return status;
        }
    }
    const fmt_status status = ntriples_make_literal(node_str(node), tag, type, room, out, diag);
    t->is_part = status != FMT_OK && (tag.size > 0 || type.size > 0) && !is_about_text(diag);
    return status;
}

/* ---------------------------------------------------------------- events of libserd */

typedef struct event {
    const SerdNode *nodes[4]; /* by position */
    const SerdNode *datatype, *language;
} event;

/* The terms of a statement; *out_term: the one that is at fault. */
static fmt_status make_terms(turtle *t, const event *e, uint32_t *out_term, fmt_diag *diag) {
    ntriples_statement *s = &t->statement;
    fmt_status fault = FMT_OK;
    s->n_terms = is_there(e->nodes[NTRIPLES_GRAPH]) ? 4 : 3;
    for (uint32_t i = 0; fault == FMT_OK && i < s->n_terms; i++) {
        char *room = t->scratch + (size_t)i * NTRIPLES_TERM_ROOM;
        *out_term = i;
        fault = i == NTRIPLES_OBJECT ? make_object(t, e->nodes[i], e->datatype, e->language, room, &s->terms[i], diag)
                                     : make_resource(t, e->nodes[i], room, &s->terms[i], diag);
    }
    return fault;
}

static SerdStatus take_statement(void *handle, SerdStatementFlags flags, const SerdNode *graph, const SerdNode *subject,
                                 const SerdNode *predicate, const SerdNode *object, const SerdNode *datatype,
                                 const SerdNode *language) {
    turtle *t = handle;
    const event e = {{subject, predicate, object, graph}, datatype, language};
    uint32_t term = NTRIPLES_SUBJECT;
    fmt_diag diag;
    memset(&diag, 0, sizeof diag);
    t->is_opened = (flags & (SERD_ANON_O_BEGIN | SERD_EMPTY_O | SERD_LIST_O_BEGIN)) != 0;
    t->is_part = false;
    const fmt_status fault = make_terms(t, &e, &term, &diag);
    if (fault == FMT_NO_SPACE) {
        t->status = FAIL(t->err, QN_NO_HOST_MEM, "%s: no memory for a term", rdf_reader_name(t->reader));
        return SERD_ERR_INTERNAL;
    }
    if (fault != FMT_OK) {
        return refuse_statement(t, fault, term, &diag);
    }
    t->statement.line = t->feed.line;
    t->statement.offset = t->feed.offset;
    t->status = t->take(t->ctx, &t->statement, t->err);
    return t->status < 0 ? SERD_ERR_INTERNAL : SERD_SUCCESS;
}

/* A directive cannot be left out: a fault in it ends the reading. */
static SerdStatus refuse_directive(turtle *t, fmt_status fault, fmt_diag *diag) {
    if (fault == FMT_NO_SPACE) {
        t->status = FAIL(t->err, QN_NO_HOST_MEM, "%s: no memory for an IRI", rdf_reader_name(t->reader));
    } else {
        put_place(diag, t->feed.places.last);
        t->status = error_from_diag(t->err, fault, diag, rdf_reader_name(t->reader));
    }
    return SERD_ERR_INTERNAL;
}

static SerdStatus take_base(void *handle, const SerdNode *node) {
    turtle *t = handle;
    fmt_str iri;
    fmt_diag diag;
    fmt_status fault = resolve(t, node_str(node), &iri, &diag);
    if (fault == FMT_OK) {
        t->base.size = 0; /* `iri` is in t->iri or belongs to libserd */
        fault = append(&t->base, iri.data, iri.size) ? FMT_OK : FMT_NO_SPACE;
    }
    return fault == FMT_OK ? SERD_SUCCESS : refuse_directive(t, fault, &diag);
}

static SerdStatus take_prefix(void *handle, const SerdNode *name, const SerdNode *node) {
    turtle *t = handle;
    fmt_str iri;
    fmt_diag diag;
    const fmt_status fault = resolve(t, node_str(node), &iri, &diag);
    if (fault != FMT_OK) {
        return refuse_directive(t, fault, &diag);
    }
    t->prefix_iri.size = 0;
    /* libserd copies one byte more than it is told. */
    if (!append(&t->prefix_iri, iri.data, iri.size) || !append(&t->prefix_iri, "", 1)) {
        return refuse_directive(t, FMT_NO_SPACE, &diag);
    }
    const SerdNode whole = {(const uint8_t *)t->prefix_iri.text, iri.size, iri.size, 0, SERD_URI};
    return serd_env_set_prefix(t->env, name, &whole);
}

/* The first thing that it says is the cause. */
static SerdStatus take_words(void *handle, const SerdError *error) {
    turtle *t = handle;
    if (!t->is_refused) {
        t->is_refused = true;
        vsnprintf(t->words, sizeof t->words, error->fmt, *error->args);
        t->words[strcspn(t->words, "\n")] = '\0';
    }
    return SERD_SUCCESS;
}

static size_t give_byte(void *buffer, size_t size, size_t n, void *handle) {
    turtle *t = handle;
    (void)size;
    (void)n;
    const int byte = turtle_feed_next(&t->feed);
    if (byte == TURTLE_FEED_END) {
        return 0;
    }
    *(uint8_t *)buffer = (uint8_t)byte;
    return 1;
}

static int has_failed(void *handle) {
    const turtle *t = handle;
    return t->feed.status != QN_OK || t->feed.fault != TURTLE_N_RULES;
}

/* ---------------------------------------------------------------- reading */

/* Reads the text once for its labels, where it can be read twice. */
static qn_status find_labels(turtle *t) {
    turtle_feed *feed = &t->feed;
    if (!byte_source_rewind(t->reader->source)) {
        return QN_OK;
    }
    turtle_feed_start(feed, t->reader->source, t->reader->format == RDF_TRIG, t->err);
    while (turtle_feed_next(feed) != TURTLE_FEED_END) {
    }
    const uint64_t taken = feed->taken;
    const qn_status status = feed->status;
    t->prefix = turtle_free_prefix(taken);
    t->is_chosen = status == QN_OK;
    if (status == QN_OK && !byte_source_rewind(t->reader->source)) {
        return FAIL(t->err, QN_IO, "%s: it cannot be read a second time", rdf_reader_name(t->reader));
    }
    return status;
}

/* What a fault of the feed found. */
static void describe_fault(const turtle *t, turtle_rule rule, fmt_diag *diag) {
    const turtle_feed *feed = &t->feed;
    if (rule == TURTLE_NESTING) {
        describe(t, rule, diag, "%" PRIu64 " open brackets", feed->depth);
    } else if (rule == TURTLE_TOKEN) {
        describe(t, rule, diag, "a term of more than %" PRIu64 " bytes", RDF_LONGEST_TOKEN);
    } else if (rule == TURTLE_LABEL_CLASH) {
        describe(t, rule, diag, "a label that begins with genid");
    } else {
        describe(t, rule, diag, "the byte 0x%02x stands here", feed->last);
    }
}

/* How the reading ended, in order of what is the cause of what. */
static qn_status settle(turtle *t, SerdStatus serd) {
    const turtle_feed *feed = &t->feed;
    fmt_diag diag;
    if (feed->status != QN_OK || t->status < 0) {
        return feed->status != QN_OK ? feed->status : t->status;
    }
    const bool has_clash = t->is_chosen && (t->prefix >= 64 || (feed->taken >> t->prefix & 1) != 0);
    const turtle_rule rule = feed->fault != TURTLE_N_RULES ? feed->fault : has_clash ? TURTLE_LABEL_CLASH : TURTLE_SYNTAX;
    if (rule != TURTLE_SYNTAX) {
        describe_fault(t, rule, &diag);
    } else if (serd > SERD_FAILURE || t->is_refused) {
        describe(t, rule, &diag, "%s", t->is_refused ? t->words : (const char *)serd_strerror(serd));
    } else {
        return QN_OK;
    }
    put_place(&diag, feed_place(t));
    const fmt_status fault = rule == TURTLE_TRIPLE_TERM || rule == TURTLE_VERSION ? FMT_UNSUPPORTED
                             : rule == TURTLE_TOKEN || rule == TURTLE_NESTING ? FMT_LIMIT : FMT_BAD_FILE;
    return error_from_diag(t->err, fault, &diag, rdf_reader_name(t->reader));
}

static qn_status read_all(turtle *t) {
    const SerdSyntax syntax = t->reader->format == RDF_TRIG ? SERD_TRIG : SERD_TURTLE;
    SerdReader *serd = serd_reader_new(syntax, t, NULL, take_base, take_prefix, take_statement, NULL);
    t->env = serd_env_new(NULL);
    const char *base = t->reader->base == NULL ? "" : t->reader->base;
    qn_status status = QN_OK;
    if (serd == NULL || t->env == NULL || !append(&t->base, base, strlen(base))) {
        status = FAIL(t->err, QN_NO_HOST_MEM, "%s: no memory to read it", rdf_reader_name(t->reader));
    } else {
        serd_reader_set_strict(serd, true);
        serd_reader_set_error_sink(serd, take_words, t);
        turtle_feed_start(&t->feed, t->reader->source, t->reader->format == RDF_TRIG, t->err);
        const uint8_t *name = (const uint8_t *)rdf_reader_name(t->reader);
        status = settle(t, serd_reader_read_source(serd, give_byte, has_failed, t, name, 1));
    }
    serd_reader_free(serd);
    serd_env_free(t->env);
    text_buffer_free(&t->iri);
    text_buffer_free(&t->prefix_iri);
    text_buffer_free(&t->base);
    return status;
}

qn_status rdf_read_turtle(rdf_reader *reader, rdf_statement_fn *take, void *ctx, rdf_reject_fn *reject, error_context *err) {
    turtle *t = malloc(sizeof *t);
    if (t == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to read it", rdf_reader_name(reader));
    }
    memset(t, 0, offsetof(turtle, feed));
    t->reader = reader;
    t->take = take;
    t->reject = reject;
    t->ctx = ctx;
    t->err = err;
    reader->turtle = t;
    qn_status status = find_labels(t);
    if (status == QN_OK) {
        status = read_all(t);
    }
    reader->turtle = NULL;
    free(t);
    return status;
}
