/* ingest.h — RDF files become a Q42 volume.
 *
 *     inputs -> rdf_reader (chunks of lines, or statements) -> one lane a worker -> volume_writer
 *
 * Strict by default: the first fault ends the load, and nothing is written. With a list of rejects the load goes on behind a faulty
 * statement and the list says which they were.
 *
 * Threading: one load at a time per team.
 * Memory:    options.volume.memory, and for each worker a chunk of INGEST_CHUNK_BYTES beside it.
 * Errors:    qn_status; the message names input, line and column (rdf_reader.h), and of a collision both terms.
 */
#ifndef HOST_GRAPH_INGEST_H
#define HOST_GRAPH_INGEST_H
#include "graph/rdf_reader.h"
#include "graph/volume.h"
#include "graph/volume_writer.h"

#define INGEST_CHUNK_BYTES (1u << 20)

typedef struct ingest_options {
    const char *const *inputs; /* paths; "-" is standard input */
    uint32_t n_inputs;
    rdf_format format;         /* RDF_AUTO: each by its name */
    const char *base;          /* of relative IRIs; may be null */
    const char *graph;         /* IRI for statements without a graph; null: the default graph */
    uint32_t tier;             /* 0..4, into the metadata of every quin */
    term_convention terms;     /* TERMS_SURFACE or TERMS_BARE */
    const char *reject_path;   /* list of rejects; null: the first fault ends the load */
    bool rejects_long;         /* a term that is too long is rejected too */
    volume_writer_options volume;
    progress_fn *progress;     /* may be null; bytes of the inputs, then quins of the commit */
    void *progress_ctx;
} ingest_options;

typedef struct ingest_report {
    uint64_t n_statements, n_rejected;
    uint64_t n_long; /* of the rejected: a term was too long */
    volume_report volume;
} ingest_report;

/* Opens one of the inputs, as a load reads it. To be closed. */
qn_status ingest_open_input(const ingest_options *options, uint32_t input, rdf_reader **out_reader, error_context *err);

/* Writes the volume at `path`. After an error neither it nor the list of rejects is there, or both are as they were. */
qn_status ingest_run(const char *path, const ingest_options *options, team *workers, ingest_report *out_report,
                     error_context *err);

#endif
