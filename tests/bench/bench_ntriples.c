/* bench_ntriples.c — how fast N-Triples and N-Quads are parsed, on one core.
 *
 *     bench_ntriples FILE [ROUNDS]          parse only; a file named .nq is read as N-Quads
 *     bench_ntriples --write FILE           the same, and write canonical statements to standard output
 *
 * Prints for each round statements, megabytes a second and the sum of all term sizes. The same file through another
 * parser (serdi -i ntriples -o ntriples FILE >/dev/null) is what to compare with. repeat_statements.py makes a large file
 * from a small one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <quoin/ntriples.h>

static char scratch[NTRIPLES_SCRATCH_SIZE];

typedef struct totals {
    uint64_t statements, bytes;
} totals;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_statement(const ntriples_statement *statement) {
    static char line[NTRIPLES_LINE_SIZE];
    fmt_str terms[4];
    for (uint32_t i = 0; i < statement->n_terms; i++) {
        terms[i] = (fmt_str){statement->terms[i].text, statement->terms[i].size};
    }
    fwrite(line, 1, ntriples_write_statement(terms, statement->n_terms, line), stdout);
}

static fmt_status parse(fmt_span span, ntriples_syntax syntax, int is_writing, totals *out) {
    ntriples_parser parser;
    ntriples_statement statement;
    fmt_diag diag;
    fmt_status status;
    const ntriples_options options = {.syntax = syntax};
    ntriples_start(&parser, (ntriples_chunk){span, 0, 1}, &options, scratch);
    while ((status = ntriples_next(&parser, &statement, &diag)) == FMT_OK) {
        out->statements++;
        for (uint32_t i = 0; i < statement.n_terms; i++) {
            out->bytes += statement.terms[i].size;
        }
        if (is_writing) {
            write_statement(&statement);
        }
    }
    if (status != FMT_NOT_FOUND) {
        fprintf(stderr, "%s\n", diag.text);
    }
    return status;
}

static fmt_span map_file(const char *path) {
    struct stat facts;
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &facts) != 0) {
        perror(path);
        exit(1);
    }
    void *data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    return (fmt_span){data, (uint64_t)facts.st_size};
}

int main(int argc, char **argv) {
    const int is_writing = argc > 1 && strcmp(argv[1], "--write") == 0;
    const char *path = argc > 1 + is_writing ? argv[1 + is_writing] : NULL;
    if (path == NULL) {
        fprintf(stderr, "usage: bench_ntriples [--write] FILE [ROUNDS]\n");
        return 2;
    }
    const int rounds = is_writing ? 1 : argc > 2 ? atoi(argv[2]) : 5;
    const size_t length = strlen(path);
    const fmt_span span = map_file(path);
    const ntriples_syntax syntax = length > 3 && strcmp(path + length - 3, ".nq") == 0 ? NTRIPLES_QUADS : NTRIPLES_TRIPLES;
    for (int i = 0; i < rounds; i++) {
        totals all = {0, 0};
        const double start = seconds();
        if (parse(span, syntax, is_writing, &all) != FMT_NOT_FOUND) {
            return 1;
        }
        const double taken = seconds() - start;
        fprintf(stderr, "%llu statements, %.0f MB/s, %.3f s, %llu bytes of terms\n", (unsigned long long)all.statements,
                (double)span.size / 1e6 / taken, taken, (unsigned long long)all.bytes);
    }
    return 0;
}
