/* host_services.c — the services behind the table. */
#define _GNU_SOURCE /* madvise */
#include "backends/host_services.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <quoin/note.h>

#include "base/log.h"
#include "base/mapped_file.h"

#define MAX_ALIGN 4096u
#define LEAST_REGION (UINT64_C(256) << 10) /* smaller weights come from the heap */
#define LEAST_HUGE (UINT64_C(4) << 20)     /* smaller states gain nothing from large pages */
#define LEAST_SHARED (UINT64_C(4) << 20)   /* fewer bytes are forgotten by one thread */

/* Stands directly before each block that mem_alloc gives. */
typedef struct block_header {
    void *base;
    struct weight_region *region; /* of weight_memory; null: base is the heap's */
    uint64_t bytes;
    uint32_t kind;
} block_header;

static host_services *find_services(void *ctx) {
    return ((host_context *)ctx)->services;
}

static void count_bytes(host_services *services, uint32_t kind, long long delta) {
    const uint32_t slot = kind < QN_MEM_KINDS ? kind : QN_MEM_OTHER;
    const long long now = atomic_fetch_add(&services->used[slot], delta) + delta;
    long long peak = atomic_load(&services->peak[slot]);
    while (now > peak && !atomic_compare_exchange_weak(&services->peak[slot], &peak, now)) {
    }
}

static void QN_CALL log_text(void *ctx, uint32_t level, const char *text) {
    (void)ctx;
    log_line(level, "%s", text);
}

/* Each token reads all states that it sees in long runs: small pages make that up to two thirds slower. */
static void ask_for_huge_pages(char *base, uint64_t bytes) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = ((uintptr_t)base + page - 1) / page * page, end = ((uintptr_t)base + bytes) / page * page;
    if (bytes >= LEAST_HUGE) {
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* refused where there are none */
    }
}

static void *QN_CALL alloc_memory(void *ctx, uint32_t kind, uint64_t bytes, uint64_t align) {
    host_services *services = find_services(ctx);
    const uint64_t wanted = align < sizeof(block_header) ? 64 : align;
    if (wanted > MAX_ALIGN || (wanted & (wanted - 1)) != 0 || bytes > (UINT64_MAX >> 2)) {
        return NULL;
    }
    block_header header = {.bytes = bytes, .kind = kind};
    const uint64_t whole = bytes + wanted + sizeof header;
    /* A sanitizer looks after the ends of heap blocks only. */
    header.base = kind == QN_MEM_WEIGHTS && bytes >= LEAST_REGION && QN_NOTE_SANITIZER == QN_SANITIZER_NONE
                      ? weight_memory_take(&services->weights, whole, &header.region)
                      : calloc(1, (size_t)whole);
    if (header.base == NULL) {
        return NULL;
    }
    if (kind == QN_MEM_STATE) {
        ask_for_huge_pages(header.base, bytes);
    }
    atomic_fetch_add(&services->n_allocations, 1);
    char *data = (char *)header.base + sizeof header;
    data += (wanted - (uintptr_t)data % wanted) % wanted;
    memcpy(data - sizeof header, &header, sizeof header);
    count_bytes(services, kind, (long long)bytes);
    return data;
}

static void QN_CALL free_memory(void *ctx, void *memory) {
    if (memory == NULL) {
        return;
    }
    block_header header;
    memcpy(&header, (char *)memory - sizeof header, sizeof header);
    count_bytes(find_services(ctx), header.kind, -(long long)header.bytes);
    if (header.region != NULL) {
        weight_memory_give(&find_services(ctx)->weights, header.region);
    } else {
        free(header.base);
    }
}

static void QN_CALL note_memory(void *ctx, uint32_t kind, int64_t bytes) {
    count_bytes(find_services(ctx), kind, bytes);
}

static void QN_CALL run_team(void *ctx, qn_team_fn fn, void *arg) {
    team_run(find_services(ctx)->workers, fn, arg);
}

static void QN_CALL wait_team(void *ctx) {
    team_barrier(find_services(ctx)->workers);
}

static uint64_t QN_CALL next_in_team(void *ctx) {
    return team_next(find_services(ctx)->workers);
}

static void QN_CALL reset_team(void *ctx) {
    team_reset(find_services(ctx)->workers);
}

typedef struct forget_job {
    const uint8_t *data;
    uint64_t bytes;
} forget_job;

/* Parts that meet inside a page leave that page, which costs nothing worth a thought. */
static void forget_share(void *arg, uint32_t worker, uint32_t n_workers) {
    const forget_job *job = arg;
    const uint64_t begin = job->bytes / n_workers * worker;
    mapped_file_forget(job->data + begin, worker + 1 == n_workers ? job->bytes - begin : job->bytes / n_workers);
}

static void QN_CALL forget_weight(void *ctx, const void *data, uint64_t bytes) {
    forget_job job = {data, bytes};
    if (bytes < LEAST_SHARED) {
        forget_share(&job, 0, 1);
    } else {
        team_run(find_services(ctx)->workers, forget_share, &job);
    }
}

static uint64_t QN_CALL read_clock(void *ctx) {
    (void)ctx;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const void *QN_CALL find_extension(void *ctx, const char *id) {
    (void)ctx;
    (void)id;
    return NULL;
}

const char *host_build_id(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

const char *host_version(void) {
    return QUOIN_VERSION;
}

uint32_t host_sanitizer(void) {
    return QN_NOTE_SANITIZER;
}

void host_services_init(host_services *services, const qn_machine *machine, team *workers) {
    memset(services, 0, sizeof *services);
    services->machine = *machine;
    services->machine.n_workers = team_size(workers);
    services->workers = workers;
    weight_memory_init(&services->weights);
    services->context.services = services;
    blob_store_open(&services->blobs, NULL, BLOB_STORE_BYTES);
    services->table = (qn_host){.size = sizeof services->table,
                                .minor = QN_ABI_MINOR,
                                .ctx = &services->context,
                                .name = "quoin",
                                .version = QUOIN_VERSION,
                                .build_id = host_build_id(),
                                .machine = &services->machine,
                                .log = log_text,
                                .mem_alloc = alloc_memory,
                                .mem_free = free_memory,
                                .mem_note = note_memory,
                                .team_run = run_team,
                                .team_barrier = wait_team,
                                .team_next = next_in_team,
                                .team_reset = reset_team,
                                .weight_done = forget_weight,
                                .time_ns = read_clock,
                                .cancel = &services->cancel,
                                .get_ext = find_extension};
}
