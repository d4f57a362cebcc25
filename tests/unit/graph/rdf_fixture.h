/* rdf_fixture.h — files with RDF in them, plain or compressed, and all statements of an input as text. */
#ifndef TEST_RDF_FIXTURE_H
#define TEST_RDF_FIXTURE_H
#include "corpus.h"
#include "graph/rdf_reader.h"

typedef struct rdf_folder {
    char path[CORPUS_PATH_SIZE];
} rdf_folder;

/* Writes NAME into the scratch folder; returns its path, valid until the next call. */
const char *rdf_write(const rdf_folder *folder, const char *name, const void *bytes, size_t size);

/* The bytes compressed as ".gz", ".zst" or ".lz4"; the caller frees. */
uint8_t *rdf_compress(const char *extension, const void *bytes, size_t size, size_t *out_size);

typedef struct rdf_result {
    qn_status status;
    char message[1024]; /* "" without error */
    char *text;         /* canonical statements, terminated; "" when there are none */
    size_t size, room, n_statements;
    size_t n_rejects;
    char rejects[2000]; /* their texts, one a line */
    uint64_t last_line; /* of the last statement */
} rdf_result;

/* All statements of an input. `is_lenient`: rejects are collected. To be freed. */
rdf_result rdf_read(const char *path, const rdf_options *options, int is_lenient);
/* The same for a text, which goes through a file with this name. */
rdf_result rdf_read_text(const rdf_folder *folder, const char *name, const char *text, const rdf_options *options);
void rdf_free(rdf_result *result);

#endif
