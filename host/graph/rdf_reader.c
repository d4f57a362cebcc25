/* rdf_reader.c — opening an input: format, base, prefix. */
#include "graph/rdf_reader.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rdf_internal.h"

static const struct {
    const char *name;
    rdf_format format;
} names[] = {
    {"nt", RDF_NTRIPLES},   {"ntriples", RDF_NTRIPLES}, {"n-triples", RDF_NTRIPLES}, {"nq", RDF_NQUADS},
    {"nquads", RDF_NQUADS}, {"n-quads", RDF_NQUADS},    {"ttl", RDF_TURTLE},         {"turtle", RDF_TURTLE},
    {"trig", RDF_TRIG},
};

bool rdf_format_find(const char *name, rdf_format *out_format) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(name, names[i].name) == 0) {
            *out_format = names[i].format;
            return true;
        }
    }
    return false;
}

const char *rdf_format_name(rdf_format format) {
    static const char *const words[] = {"unknown", "N-Triples", "N-Quads", "Turtle", "TriG"};
    return words[format <= RDF_TRIG ? format : RDF_AUTO];
}

/* The format that the last extension of path[0..size) means, behind one of a compression. */
static bool find_by_extension(const char *path, rdf_format *out_format) {
    static const char *const compressions[] = {".gz", ".zst", ".lz4"};
    char extension[16];
    const char *slash = strrchr(path, '/');
    const char *file = slash == NULL ? path : slash + 1;
    size_t size = strlen(file);
    for (size_t i = 0; i < sizeof compressions / sizeof compressions[0]; i++) {
        const size_t n = strlen(compressions[i]);
        if (size > n && strcasecmp(file + size - n, compressions[i]) == 0) {
            size -= n;
            break;
        }
    }
    size_t dot = size;
    while (dot > 0 && file[dot - 1] != '.') {
        dot--;
    }
    if (dot == 0 || size - dot >= sizeof extension) {
        return false;
    }
    memcpy(extension, file + dot, size - dot);
    extension[size - dot] = '\0';
    return rdf_format_find(extension, out_format);
}

static qn_status choose_format(rdf_reader *reader, const char *path, rdf_format wanted, error_context *err) {
    if (wanted != RDF_AUTO) {
        reader->format = wanted;
    } else if (strcmp(path, "-") == 0) {
        reader->format = RDF_NQUADS;
    } else if (!find_by_extension(path, &reader->format)) {
        return FAIL(err, QN_BAD_INPUT, "%s: its name ends with none of .nt .nq .ttl .trig (with .gz, .zst or .lz4 behind); say the "
                    "format", path);
    }
    return QN_OK;
}

static fmt_str str_of(const char *text) {
    return (fmt_str){text, strlen(text)};
}

static qn_status check_base(const char *base, error_context *err) {
    ntriples_term term;
    fmt_diag diag;
    char *room = malloc(NTRIPLES_TERM_ROOM);
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory to check the base IRI");
    }
    const bool is_right = ntriples_make_iri(str_of(base), room, &term, &diag) == FMT_OK;
    free(room);
    return is_right ? QN_OK : FAIL(err, QN_BAD_INPUT, "the base \"%.200s\" is no absolute IRI", base);
}

static qn_status check_prefix(const char *prefix, error_context *err) {
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t size = strlen(prefix);
    if (size > 64 || strspn(prefix, rest) != size) {
        return FAIL(err, QN_BAD_INPUT, "the prefix \"%.80s\" of blank nodes must be at most 64 letters, digits and _", prefix);
    }
    return QN_OK;
}

static qn_status copy_options(rdf_reader *reader, const rdf_options *options, error_context *err) {
    const char *prefix = options->blank_prefix == NULL ? "" : options->blank_prefix;
    qn_status status = check_prefix(prefix, err);
    if (status == QN_OK && options->base != NULL) {
        status = check_base(options->base, err);
    }
    if (status != QN_OK) {
        return status;
    }
    reader->blank_prefix = strdup(prefix);
    reader->base = options->base == NULL ? NULL : strdup(options->base);
    if (reader->blank_prefix == NULL || (options->base != NULL && reader->base == NULL)) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for the options of an input");
    }
    return QN_OK;
}

qn_status rdf_reader_open(const char *path, const rdf_options *options, rdf_reader **out_reader, error_context *err) {
    rdf_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to read it", path);
    }
    pthread_mutex_init(&reader->lock, NULL);
    qn_status status = copy_options(reader, options, err);
    status = status == QN_OK ? choose_format(reader, path, options->format, err) : status;
    if (status == QN_OK) {
        status = options->text != NULL ? byte_source_open_text(*options->text, path, &reader->source, err) : byte_source_open(path, &reader->source, err);
    }
    if (status != QN_OK) {
        rdf_reader_close(reader);
        return status;
    }
    reader->line = 1;
    reader->parser_options.syntax = reader->format == RDF_NTRIPLES ? NTRIPLES_TRIPLES : NTRIPLES_QUADS;
    reader->parser_options.blank_prefix = str_of(reader->blank_prefix);
    *out_reader = reader;
    return QN_OK;
}

void rdf_reader_close(rdf_reader *reader) {
    if (reader == NULL) {
        return;
    }
    byte_source_close(reader->source);
    pthread_mutex_destroy(&reader->lock);
    free(reader->carry);
    free(reader->base);
    free(reader->blank_prefix);
    free(reader);
}

const char *rdf_reader_name(const rdf_reader *reader) {
    return byte_source_name(reader->source);
}

rdf_format rdf_reader_format(const rdf_reader *reader) {
    return reader->format;
}

bool rdf_reader_has_chunks(const rdf_reader *reader) {
    return reader->format == RDF_NTRIPLES || reader->format == RDF_NQUADS;
}

const ntriples_options *rdf_reader_parser_options(const rdf_reader *reader) {
    return &reader->parser_options;
}

void rdf_reader_progress(rdf_reader *reader, uint64_t *out_read, uint64_t *out_size) {
    byte_source_progress(reader->source, out_read, out_size);
}

rdf_place rdf_reader_find_term(const rdf_reader *reader, const ntriples_statement *statement, uint32_t term) {
    return reader->turtle != NULL ? rdf_turtle_find_term(reader->turtle, term)
                                  : rdf_chunk_find_term(reader->chunk, statement, term);
}
