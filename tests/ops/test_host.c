/* test_host.c — counted memory, a small thread team, a clock and a log for tests of plugins. */
#include "test_host.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test_blobs.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define MOST_WORKERS 64

typedef struct memory_block {
    struct memory_block *next;
    void *memory;
    uint64_t bytes;
    uint32_t kind;
} memory_block;

struct test_host {
    qn_host services;
    qn_machine machine;
    volatile uint32_t cancel;

    pthread_mutex_t memory_lock;
    memory_block *blocks;
    uint64_t bytes[QN_MEM_KINDS], peak[QN_MEM_KINDS];
    uint64_t n_allocations, allocations_left;
    atomic_uint_fast64_t log_lines;

    pthread_mutex_t region_lock; /* one region at a time */
    pthread_mutex_t team_lock;
    pthread_cond_t region_begun, region_done;
    pthread_t threads[MOST_WORKERS];
    uint32_t n_workers, n_running;
    uint64_t region;             /* number of the region that runs */
    bool is_closing;
    qn_team_fn fn;
    void *arg;
    atomic_uint_fast64_t next;
    atomic_uint barrier_count, barrier_phase;
};

typedef struct worker_start {
    test_host *host;
    uint32_t worker;
} worker_start;

/* --- Log and memory --------------------------------------------------------------------------------------------------- */

static void QN_CALL host_log(void *ctx, uint32_t level, const char *text) {
    test_host *host = ctx;
    (void)level;
    atomic_fetch_add(&host->log_lines, 1);
    if (getenv("QUOIN_TEST_VERBOSE") != NULL) {
        fprintf(stderr, "plugin: %s\n", text);
    }
}

static void count_bytes(test_host *host, uint32_t kind, int64_t bytes) {
    host->bytes[kind] += (uint64_t)bytes;
    if (host->bytes[kind] > host->peak[kind]) {
        host->peak[kind] = host->bytes[kind];
    }
}

static void *QN_CALL host_mem_alloc(void *ctx, uint32_t kind, uint64_t bytes, uint64_t align) {
    test_host *host = ctx;
    void *memory = NULL;
    if (kind >= QN_MEM_KINDS || align == 0 || (align & (align - 1)) != 0 || align > 4096) {
        return NULL;
    }
    pthread_mutex_lock(&host->memory_lock);
    host->n_allocations++;
    if (host->allocations_left > 0) {
        memory_block *block = malloc(sizeof *block);
        if (host->allocations_left != UINT64_MAX) {
            host->allocations_left--;
        }
        if (block != NULL && posix_memalign(&memory, align < 16 ? 16 : align, bytes == 0 ? 1 : bytes) == 0) {
            memset(memory, 0, bytes);
            *block = (memory_block){host->blocks, memory, bytes, kind};
            host->blocks = block;
            count_bytes(host, kind, (int64_t)bytes);
        } else {
            free(block);
            memory = NULL;
        }
    }
    pthread_mutex_unlock(&host->memory_lock);
    return memory;
}

static void QN_CALL host_mem_free(void *ctx, void *memory) {
    test_host *host = ctx;
    if (memory == NULL) {
        return;
    }
    pthread_mutex_lock(&host->memory_lock);
    for (memory_block **at = &host->blocks; *at != NULL; at = &(*at)->next) {
        memory_block *block = *at;
        if (block->memory == memory) {
            *at = block->next;
            count_bytes(host, block->kind, -(int64_t)block->bytes);
            free(block);
            free(memory);
            memory = NULL;
            break;
        }
    }
    pthread_mutex_unlock(&host->memory_lock);
    if (memory != NULL) {
        fprintf(stderr, "the plugin freed memory that the host did not give\n");
        abort();
    }
}

static void QN_CALL host_mem_note(void *ctx, uint32_t kind, int64_t bytes) {
    test_host *host = ctx;
    pthread_mutex_lock(&host->memory_lock);
    count_bytes(host, kind, bytes);
    pthread_mutex_unlock(&host->memory_lock);
}

/* --- Team ------------------------------------------------------------------------------------------------------------- */

static void *run_worker(void *arg) {
    const worker_start start = *(worker_start *)arg;
    test_host *host = start.host;
    uint64_t seen = 0;
    free(arg);
    pthread_mutex_lock(&host->team_lock);
    for (;;) {
        while (host->region == seen && !host->is_closing) {
            pthread_cond_wait(&host->region_begun, &host->team_lock);
        }
        if (host->is_closing) {
            break;
        }
        seen = host->region;
        pthread_mutex_unlock(&host->team_lock);
        host->fn(host->arg, start.worker, host->n_workers);
        pthread_mutex_lock(&host->team_lock);
        if (--host->n_running == 0) {
            pthread_cond_signal(&host->region_done);
        }
    }
    pthread_mutex_unlock(&host->team_lock);
    return NULL;
}

static void QN_CALL host_team_run(void *ctx, qn_team_fn fn, void *arg) {
    test_host *host = ctx;
    pthread_mutex_lock(&host->region_lock);
    pthread_mutex_lock(&host->team_lock);
    host->fn = fn;
    host->arg = arg;
    host->n_running = host->n_workers - 1;
    host->region++;
    atomic_store(&host->next, 0);
    pthread_cond_broadcast(&host->region_begun);
    pthread_mutex_unlock(&host->team_lock);
    fn(arg, 0, host->n_workers);
    pthread_mutex_lock(&host->team_lock);
    while (host->n_running > 0) {
        pthread_cond_wait(&host->region_done, &host->team_lock);
    }
    pthread_mutex_unlock(&host->team_lock);
    pthread_mutex_unlock(&host->region_lock);
}

static void QN_CALL host_team_barrier(void *ctx) {
    test_host *host = ctx;
    const unsigned phase = atomic_load(&host->barrier_phase);
    if (atomic_fetch_add(&host->barrier_count, 1) + 1 == host->n_workers) {
        atomic_store(&host->barrier_count, 0);
        atomic_store(&host->barrier_phase, phase + 1);
        return;
    }
    while (atomic_load(&host->barrier_phase) == phase) {
        sched_yield();
    }
}

static uint64_t QN_CALL host_team_next(void *ctx) {
    return atomic_fetch_add(&((test_host *)ctx)->next, 1);
}

static void QN_CALL host_team_reset(void *ctx) {
    atomic_store(&((test_host *)ctx)->next, 0);
}

/* --- The rest --------------------------------------------------------------------------------------------------------- */

static void QN_CALL host_weight_done(void *ctx, const void *data, uint64_t bytes) {
    (void)ctx;
    (void)data;
    (void)bytes;
}

static uint64_t QN_CALL host_time_ns(void *ctx) {
    struct timespec now;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const void *QN_CALL host_get_ext(void *ctx, const char *id) {
    (void)ctx;
    (void)id;
    return NULL;
}

static void fill_services(test_host *host, uint32_t n_workers, uint64_t features) {
    host->machine.size = sizeof host->machine;
#if defined(__x86_64__)
    host->machine.arch = QN_ARCH_X86_64;
#elif defined(__aarch64__)
    host->machine.arch = QN_ARCH_AARCH64;
#endif
    host->machine.cpu_features[0] = features;
    host->machine.n_workers = n_workers;
    host->machine.n_cores = n_workers;
    host->machine.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    host->machine.memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * host->machine.page_bytes;
    host->services = (qn_host){
        .size = sizeof host->services, .minor = QN_ABI_MINOR, .ctx = host, .name = "quoin-test", .version = "0",
        .build_id = "test", .machine = &host->machine, .log = host_log, .mem_alloc = host_mem_alloc,
        .mem_free = host_mem_free, .mem_note = host_mem_note, .team_run = host_team_run, .team_barrier = host_team_barrier,
        .team_next = host_team_next, .team_reset = host_team_reset, .weight_done = host_weight_done,
        .time_ns = host_time_ns, .cancel = &host->cancel, .get_ext = host_get_ext};
    if (test_blobs_are_kept()) {
        host->services.blob_get = test_blobs_get;
        host->services.blob_put = test_blobs_put;
    }
}

test_host *test_host_open(uint32_t n_workers, uint64_t features) {
    test_host *host = calloc(1, sizeof *host);
    if (host == NULL || n_workers == 0 || n_workers > MOST_WORKERS) {
        abort();
    }
    fill_services(host, n_workers, features);
    host->allocations_left = UINT64_MAX;
    host->n_workers = n_workers;
    pthread_mutex_init(&host->memory_lock, NULL);
    pthread_mutex_init(&host->region_lock, NULL);
    pthread_mutex_init(&host->team_lock, NULL);
    pthread_cond_init(&host->region_begun, NULL);
    pthread_cond_init(&host->region_done, NULL);
    for (uint32_t w = 1; w < n_workers; w++) {
        worker_start *start = malloc(sizeof *start);
        if (start == NULL) {
            abort();
        }
        *start = (worker_start){host, w};
        if (pthread_create(&host->threads[w], NULL, run_worker, start) != 0) {
            abort();
        }
    }
    return host;
}

uint64_t test_host_close(test_host *host) {
    uint64_t left = 0;
    pthread_mutex_lock(&host->team_lock);
    host->is_closing = true;
    pthread_cond_broadcast(&host->region_begun);
    pthread_mutex_unlock(&host->team_lock);
    for (uint32_t w = 1; w < host->n_workers; w++) {
        pthread_join(host->threads[w], NULL);
    }
    while (host->blocks != NULL) {
        memory_block *block = host->blocks;
        host->blocks = block->next;
        left += block->bytes;
        free(block->memory);
        free(block);
    }
    pthread_mutex_destroy(&host->memory_lock);
    pthread_mutex_destroy(&host->region_lock);
    pthread_mutex_destroy(&host->team_lock);
    pthread_cond_destroy(&host->region_begun);
    pthread_cond_destroy(&host->region_done);
    free(host);
    return left;
}

const qn_host *test_host_services(const test_host *host) {
    return &host->services;
}

uint64_t test_host_bytes(const test_host *host, uint32_t kind) {
    return host->bytes[kind];
}

uint64_t test_host_peak(const test_host *host, uint32_t kind) {
    return host->peak[kind];
}

void test_host_fail_after(test_host *host, uint64_t n) {
    host->allocations_left = n;
}

uint64_t test_host_allocations(const test_host *host) {
    return host->n_allocations;
}

void test_host_cancel(test_host *host, bool is_cancelled) {
    host->cancel = is_cancelled;
}

uint64_t test_host_log_lines(const test_host *host) {
    return atomic_load(&host->log_lines);
}

/* --- Features of this machine ----------------------------------------------------------------------------------------- */

static uint64_t read_features(void) {
    uint64_t features = 0;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1) != 0;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c) {
        features |= QN_X86_AVX2;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
        features |= QN_X86_AVX512;
        features |= __builtin_cpu_supports("avx512vnni") ? QN_X86_AVX512_VNNI : 0;
        features |= __builtin_cpu_supports("avx512bf16") ? QN_X86_AVX512_BF16 : 0;
        features |= __builtin_cpu_supports("avx512vbmi") ? QN_X86_AVX512_VBMI : 0;
    }
    if ((features & QN_X86_AVX2) != 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0) {
        features |= QN_X86_AVX_VNNI;
    }
#elif defined(__aarch64__)
    const unsigned long caps = getauxval(AT_HWCAP), caps2 = getauxval(AT_HWCAP2);
    features |= QN_ARM_NEON;
    features |= (caps >> 20 & 1) != 0 ? QN_ARM_DOTPROD : 0;
    features |= (caps >> 10 & 1) != 0 ? QN_ARM_FP16 : 0;
    features |= (caps2 >> 13 & 1) != 0 ? QN_ARM_I8MM : 0;
#endif
    return features;
}

bool test_host_features(const char *level, uint64_t *out_features) {
    static const struct {
        const char *name;
        uint32_t arch;
        uint64_t features;
    } levels[] = {
        {"c", QN_ARCH_OTHER, 0},
        {"avx2", QN_ARCH_X86_64, QN_X86_AVX2},
        {"avxvnni", QN_ARCH_X86_64, QN_X86_AVX2 | QN_X86_AVX_VNNI},
        {"avx512", QN_ARCH_X86_64, QN_X86_AVX2 | QN_X86_AVX512},
        {"avx512vnni", QN_ARCH_X86_64, QN_X86_AVX2 | QN_X86_AVX512 | QN_X86_AVX512_VNNI},
        {"neon", QN_ARCH_AARCH64, QN_ARM_NEON},
        {"dotprod", QN_ARCH_AARCH64, QN_ARM_NEON | QN_ARM_DOTPROD},
    };
#if defined(__x86_64__)
    const uint32_t arch = QN_ARCH_X86_64;
#elif defined(__aarch64__)
    const uint32_t arch = QN_ARCH_AARCH64;
#else
    const uint32_t arch = QN_ARCH_OTHER;
#endif
    const uint64_t here = read_features();
    if (strcmp(level, "native") == 0) {
        *out_features = here;
        return true;
    }
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (strcmp(level, levels[i].name) == 0 && (levels[i].features == 0 || levels[i].arch == arch)) {
            *out_features = levels[i].features;
            return (here & levels[i].features) == levels[i].features;
        }
    }
    return false;
}
