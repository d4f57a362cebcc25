/* cases.h — the generated families of hostile and tricky files (tests/cases), and mapping a file for a reader.
 *
 *     test_cases cases;
 *     cases_make("gguf", &cases);
 *     for (size_t i = 0; i < cases.count; i++) { use(cases.items[i].path, cases.items[i].expect); }
 *     cases_free(&cases);
 */
#ifndef TEST_CASES_H
#define TEST_CASES_H
#include <stddef.h>

#include <quoin/span.h>

#include "corpus.h"

typedef struct test_case {
    char id[64];
    char path[CORPUS_PATH_SIZE]; /* file, or folder for a case of several files */
    char expect[16];             /* "accept", "reject" or "refuse-run" */
    char rule[512];              /* what is special about it, for messages */
} test_case;

typedef struct test_cases {
    test_case *items;
    size_t count;
    char folder[CORPUS_PATH_SIZE]; /* scratch folder that holds them all */
} test_cases;

/* Runs tests/cases/gen_FAMILY.py into a scratch folder and reads its manifest. Skips the test without python3, fails it
 * when the generator fails. */
void cases_make(const char *family, test_cases *out_cases);

/* Takes the files and the list away. */
void cases_free(test_cases *cases);

/* Maps a file read-only, however large; fails the test when it cannot. An empty file gives an empty span. */
fmt_span test_map_file(const char *path);
void test_unmap_file(fmt_span span);

#endif
