/* bench_crc32c.c — how fast each path of CRC-32C is on this machine, one thread: in cache, beyond it, from memory.
 *
 * Build and run: cmake --build build --target bench_crc32c && build/tests/bench_crc32c [LARGEST_BYTES]
 * Each figure is the best of several rounds; run it on a quiet machine.
 */
#define _POSIX_C_SOURCE 200809L
#include "common/crc32c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Bytes a second, best of ten rounds of at least 64 MiB each. The sum keeps the work from being dropped. */
static double measure(const crc32c_path *path, const uint8_t *bytes, uint64_t size, uint32_t *sum) {
    const uint64_t n_repeats = size < UINT64_C(64) << 20 ? (UINT64_C(64) << 20) / size : 1;
    const int n_rounds = size > UINT64_C(64) << 20 ? 3 : 10;
    double best = 0.0;
    for (int round = 0; round < n_rounds; round++) {
        const double begin = now();
        for (uint64_t i = 0; i < n_repeats; i++) {
            *sum += path->extend(*sum, bytes, size);
        }
        const double speed = (double)(size * n_repeats) / (now() - begin);
        best = speed > best ? speed : best;
    }
    return best;
}

int main(int argc, char **argv) {
    static const uint64_t sizes[] = {64, 512, 4096, 65536, UINT64_C(1) << 20, UINT64_C(1) << 30};
    const uint64_t largest = argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_C(1) << 30;
    uint8_t *bytes = malloc(largest);
    if (bytes == NULL) {
        fprintf(stderr, "no memory for %llu bytes\n", (unsigned long long)largest);
        return 5;
    }
    memset(bytes, 0x5A, largest);
    uint32_t sum = 0;
    for (const crc32c_path *path = crc32c_paths; path->name != NULL; path++) {
        if (!path->is_usable()) {
            continue;
        }
        printf("%-15s", path->name);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= largest; i++) {
            printf("  %llu B: %6.2f GB/s", (unsigned long long)sizes[i], measure(path, bytes, sizes[i], &sum) * 1e-9);
        }
        printf("\n");
    }
    free(bytes);
    fprintf(stderr, "checksum of all checksums: %08x\n", (unsigned)sum);
    return 0;
}
