/* corpus.h — where tests find real files and scratch folders.
 *
 * The corpus folder is $QUOIN_CORPUS, or the default that CMake passes; a test that needs a file of it calls corpus_require,
 * which skips the test when the file is absent.
 */
#ifndef TEST_CORPUS_H
#define TEST_CORPUS_H
#include <stddef.h>
#include <stdint.h>

#define CORPUS_PATH_SIZE 4096

/* Path of `relative` inside the corpus; false when there is no such file or folder. */
int corpus_find(const char *relative, char out_path[CORPUS_PATH_SIZE]);

/* The same, but skips the running cmocka test when it is absent. */
void corpus_require(const char *relative, char out_path[CORPUS_PATH_SIZE]);

/* Path of `relative` inside the project's source tree; fails the test when it is absent. */
void source_require(const char *relative, char out_path[CORPUS_PATH_SIZE]);

/* Whole file in memory; the caller frees. Fails the test when it cannot be read. A zero byte follows the content. */
uint8_t *test_read_file(const char *path, size_t *out_size);

/* Makes an empty folder for this test below $TMPDIR or /tmp; test_remove_tree takes it away again. */
void test_make_folder(char out_path[CORPUS_PATH_SIZE]);
void test_remove_tree(const char *path);

#endif
