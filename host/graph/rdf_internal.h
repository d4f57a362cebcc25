/* rdf_internal.h — what the source files of the RDF reader share; not for others. */
#ifndef HOST_GRAPH_RDF_INTERNAL_H
#define HOST_GRAPH_RDF_INTERNAL_H
#include <pthread.h>

#include "graph/byte_source.h"
#include "graph/rdf_reader.h"

struct turtle;

struct rdf_reader {
    byte_source *source;
    rdf_format format;
    char *base;         /* owned; null: none */
    char *blank_prefix; /* owned; may be "" */
    ntriples_options parser_options;
    /* Cutting chunks; under the lock. */
    pthread_mutex_t lock;
    uint8_t *carry;     /* [carry_size] the beginning of a line, left over from the chunk before */
    uint64_t carry_size, carry_room;
    uint64_t offset, line, serial; /* of the next chunk */
    qn_status failed;   /* QN_OK, or what ended the reading */
    error_context failure; /* its words */
    /* Of the statement that is being taken; one of them, or none. */
    const rdf_chunk *chunk;
    const struct turtle *turtle;
};

/* rdf_reader_find_term for Turtle and TriG. */
rdf_place rdf_turtle_find_term(const struct turtle *turtle, uint32_t term);

/* rdf_reader_each for Turtle and TriG. */
qn_status rdf_read_turtle(rdf_reader *reader, rdf_statement_fn *take, void *ctx, rdf_reject_fn *reject, error_context *err);

#endif
