/* fuzz_driver.c — stands in for libFuzzer: hands each file of the corpus, and a fixed number of mutations of it, to the
 * target. The mutations depend on the content and the number only, so a failure comes back on every machine.
 *
 *     fuzz_gguf [--mutations N] FILE-OR-FOLDER...
 *
 * Every input gets an allocation of exactly its size, so that a sanitizer sees a read past its end. Exit status: 0, or
 * 77 when no file was found (the corpus is not there).
 */
#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LARGEST (4 << 20) /* bytes of a seed: larger ones only cost time */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long n_mutations, n_files, n_inputs;

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void run_input(const uint8_t *bytes, size_t size) {
    uint8_t *exact = malloc(size + (size == 0));
    if (exact == NULL) {
        fprintf(stderr, "no memory for %lu bytes\n", (unsigned long)size);
        exit(2);
    }
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    n_inputs++;
}

/* Numbers at which parsers trip. */
static const uint64_t special[] = {0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
                                   UINT64_C(1) << 32, UINT64_C(1) << 61, UINT64_C(1) << 63, UINT64_MAX};

/* Most structure stands in front, so half of the changes go to the first kilobyte. */
static size_t choose_place(uint64_t *random, size_t size) {
    const size_t front = size < 1024 ? size : 1024;
    return (size_t)(next_random(random) % (next_random(random) & 1 ? front : size));
}

static size_t mutate(uint8_t *bytes, size_t size, uint64_t *random) {
    const size_t at = choose_place(random, size);
    const uint64_t number = special[next_random(random) % (sizeof special / sizeof special[0])];
    const size_t width = (size_t)1 << (next_random(random) % 4);
    switch (next_random(random) % 4) {
    case 0:
        bytes[at] ^= (uint8_t)(1u << (next_random(random) % 8));
        return size;
    case 1:
        bytes[at] = (uint8_t)next_random(random);
        return size;
    case 2:
        for (size_t i = 0; i < width && at + i < size; i++) {
            bytes[at + i] = (uint8_t)(number >> (8 * i));
        }
        return size;
    default:
        return at;
    }
}

static void run_mutations(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size);
    uint64_t random = UINT64_C(0x9E3779B97F4A7C15) ^ size;
    if (copy == NULL) {
        return;
    }
    for (unsigned long i = 0; i < n_mutations; i++) {
        size_t length = size;
        memcpy(copy, bytes, size);
        for (uint64_t changes = 1 + next_random(&random) % 4; changes > 0 && length > 0; changes--) {
            length = mutate(copy, length, &random);
        }
        run_input(copy, length);
    }
    free(copy);
}

static void run_file(const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(size + 1);
    if (file != NULL && bytes != NULL && fread(bytes, 1, size, file) == size) {
        n_files++;
        run_input(bytes, size);
        if (size > 0) {
            run_mutations(bytes, size);
        }
    } else {
        fprintf(stderr, "cannot read %s\n", path);
    }
    if (file != NULL) {
        fclose(file);
    }
    free(bytes);
}

static int visit(const char *path, const struct stat *info, int kind, struct FTW *walk) {
    (void)walk;
    if (kind == FTW_F && info->st_size <= LARGEST) {
        run_file(path, (size_t)info->st_size);
    }
    return 0;
}

int main(int argc, char **argv) {
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--mutations") == 0) {
        n_mutations = strtoul(argv[2], NULL, 10);
        first = 3;
    }
    for (int i = first; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0) {
            nftw(argv[i], visit, 16, FTW_PHYS);
        } else {
            printf("%s is absent\n", argv[i]);
        }
    }
    printf("%lu files, %lu inputs\n", n_files, n_inputs);
    return n_files == 0 ? 77 : 0;
}
