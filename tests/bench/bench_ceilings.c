/* bench_ceilings.c — see bench_ceilings.h. Loops are written for the widest instructions that the processor offers. */
#include "bench_ceilings.h"

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ROUNDS = 15, INNER = 500000 };

static volatile uint64_t sink;

double bench_cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static uint64_t read_wide(const uint8_t *data, size_t bytes) {
    __m512i sum[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    for (size_t i = 0; i < bytes; i += 256) {
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            sum[k] = _mm512_add_epi64(sum[k], _mm512_loadu_si512(data + i + 64 * k));
        }
    }
    return (uint64_t)_mm512_reduce_add_epi64(_mm512_add_epi64(_mm512_add_epi64(sum[0], sum[1]), _mm512_add_epi64(sum[2], sum[3])));
}

__attribute__((target("avx512f,avx512vnni"))) static void dot_wide(void) {
    __m512i a[12];
    const __m512i x = _mm512_set1_epi8(3);
#pragma GCC unroll 12
    for (int k = 0; k < 12; k++) {
        a[k] = _mm512_set1_epi32(k);
    }
    for (int i = 0; i < INNER; i++) {
#pragma GCC unroll 12
        for (int k = 0; k < 12; k++) {
            a[k] = _mm512_dpbusd_epi32(a[k], x, x);
        }
        __asm__ volatile("" : "+v"(a[0]), "+v"(a[1]), "+v"(a[2]), "+v"(a[3]), "+v"(a[4]), "+v"(a[5]));
    }
#pragma GCC unroll 12
    for (int k = 1; k < 12; k++) {
        a[0] = _mm512_add_epi32(a[0], a[k]);
    }
    sink += (uint64_t)_mm512_reduce_add_epi32(a[0]);
}

__attribute__((target("avx512f"))) static void fma_wide(void) {
    __m512 a[12];
    const __m512 x = _mm512_set1_ps(0.5f);
#pragma GCC unroll 12
    for (int k = 0; k < 12; k++) {
        a[k] = _mm512_set1_ps((float)k);
    }
    for (int i = 0; i < INNER; i++) {
#pragma GCC unroll 12
        for (int k = 0; k < 12; k++) {
            a[k] = _mm512_fmadd_ps(a[k], x, x);
        }
        __asm__ volatile("" : "+v"(a[0]), "+v"(a[1]), "+v"(a[2]), "+v"(a[3]), "+v"(a[4]), "+v"(a[5]));
    }
#pragma GCC unroll 12
    for (int k = 1; k < 12; k++) {
        a[0] = _mm512_add_ps(a[0], a[k]);
    }
    sink += (uint64_t)_mm512_reduce_add_ps(a[0]);
}
#endif

static uint64_t read_plain(const uint8_t *data, size_t bytes) {
    const uint64_t *const words = (const uint64_t *)(const void *)data;
    uint64_t sum[8] = {0};
    for (size_t i = 0; i + 8 <= bytes / 8; i += 8) {
        for (int k = 0; k < 8; k++) {
            sum[k] += words[i + (size_t)k];
        }
    }
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

static double best_seconds(void (*fn)(void)) {
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        const double start = bench_cpu_now();
        fn();
        const double took = bench_cpu_now() - start;
        best = took < best ? took : best;
    }
    return best;
}

double bench_read_gbs(const void *data, size_t bytes) {
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        const double start = bench_cpu_now();
#if defined(__x86_64__)
        sink += __builtin_cpu_supports("avx512f") ? read_wide(data, bytes) : read_plain(data, bytes);
#else
        sink += read_plain(data, bytes);
#endif
        const double took = bench_cpu_now() - start;
        best = took < best ? took : best;
    }
    return (double)bytes / best / 1e9;
}

double bench_int8_gops(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512vnni")) {
        return 12.0 * 128 * INNER / best_seconds(dot_wide) / 1e9;
    }
#endif
    return 0;
}

double bench_f32_gops(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        return 12.0 * 32 * INNER / best_seconds(fma_wide) / 1e9;
    }
#endif
    return 0;
}
