/* prove_fixture.h — the toy model of tests/vectors/prov, opened, and its facts as the vectors have them. */
#ifndef TEST_PROVE_FIXTURE_H
#define TEST_PROVE_FIXTURE_H
#include "base/text_buffer.h"
#include "prove/prove_check.h"
#include "prove/prove_generation.h"
#include "prove/prove_model.h"

#define TOY_TIME UINT64_C(1750000000000)

typedef struct toy {
    mapped_file file, licence_file;
    void *scratch;
    p64_file p64;
    prove_source source;
    prove_licence licence;
    prove_consent consent;
    prove_runtime tool;
    prove_model_facts facts;
    char path[512]; /* of the container */
} toy;

void toy_open(toy *t);
void toy_close(toy *t);

/* The path of a file of the vectors, in one of four static rooms. */
const char *toy_path(const char *name);
/* A file of the vectors, or of any path; to be freed. */
text_buffer toy_read(const char *path);
/* The bytes of a settled graph's volume. */
text_buffer toy_bytes(prove_graph *g);
/* Program and kernels of the vectors' record. */
void toy_runtime(prove_runtime *out);
/* SHA-256 of a word. */
void toy_digest(const char *word, uint8_t out[SHA256_BYTES]);

#endif
