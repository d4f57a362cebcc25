/* nt_file.c — a file through the parser; apart from the rest, which also runs where nothing maps files. */
#include <string.h>

#include "cases.h"
#include "nt_fixture.h"

nt_result nt_parse_file(const char *path) {
    const size_t length = strlen(path);
    const bool is_quads = length > 3 && strcmp(path + length - 3, ".nq") == 0;
    const fmt_span span = test_map_file(path);
    const nt_result result = nt_parse(span, is_quads ? NTRIPLES_QUADS : NTRIPLES_TRIPLES);
    test_unmap_file(span);
    return result;
}
