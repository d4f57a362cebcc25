/* fuzz_ere.c — the first line is a pattern, the rest the text that is searched.
 *
 * What is demanded: a refusal has words; with case ignored at least as much is found, when nothing is negated. */
#include <stdlib.h>
#include <string.h>

#include "rules/ere.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ere_program *program, *ignoring;
    error_context err = {.code = QN_OK};
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    const size_t n = end != NULL ? (size_t)(end - data) : size;
    const fmt_str pattern = {(const char *)data, n}, text = {(const char *)data + n, size - n};
    if (ere_compile(pattern, false, &program, &err) < 0) {
        REQUIRE(strlen(error_text(&err)) > 10);
        return 0;
    }
    REQUIRE(ere_compile(pattern, true, &ignoring, NULL) == QN_OK);
    const bool is_found = ere_search(program, text), is_found_ignoring = ere_search(ignoring, text);
    const bool is_negated = n > 0 && (memchr(data, '^', n) != NULL || memchr(data, '\\', n) != NULL);
    REQUIRE(!is_found || is_found_ignoring || is_negated);
    ere_free(program);
    ere_free(ignoring);
    return 0;
}
