/* cf_host.c — counted memory, a log, a clock and a cancel flag for a plugin that is watched. */
#include "core/cf_host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <quoin/glue.h>

#include "core/cf_blobs.h"
#include "core/cf_team.h"

#define CANARY UINT64_C(0x5ca1ab1e0ddba11)

typedef struct memory_block {
    struct memory_block *next;
    void *memory;
    uint64_t bytes;
    uint32_t kind;
} memory_block;

struct cf_host {
    qn_host services;
    qn_machine machine;
    volatile uint32_t cancel;
    atomic_uint_fast64_t calls_left; /* until the cancel flag is raised; 0: never */

    pthread_mutex_t lock;
    memory_block *blocks;
    uint64_t bytes[QN_MEM_KINDS + 1], peak[QN_MEM_KINDS + 1]; /* the last is the sum */
    uint64_t n_allocations, allocations_left, left_to_failure; /* UINT64_MAX: no end */
    const char *_Atomic misuse;
    uint64_t log_lines;
    char last_log[512];
    uint32_t blob_mode;          /* CF_BLOBS_* */
    cf_team *team;
};

static void note_misuse(cf_host *host, const char *text) {
    const char *none = NULL;
    atomic_compare_exchange_strong(&host->misuse, &none, text);
}

/* Every service comes through here. */
static void count_call(cf_host *host) {
    if (atomic_load(&host->calls_left) > 0 && atomic_fetch_sub(&host->calls_left, 1) == 1) {
        qn_flag_set(&host->cancel, true);
    }
}

/* --- Log and memory --------------------------------------------------------------------------------------------------- */

static void QN_CALL host_log(void *ctx, uint32_t level, const char *text) {
    cf_host *host = ctx;
    count_call(host);
    if (level > QN_LOG_DEBUG || text == NULL || text[0] == '\0') {
        note_misuse(host, "a log line of an unknown level or without text");
    }
    pthread_mutex_lock(&host->lock);
    host->log_lines++;
    snprintf(host->last_log, sizeof host->last_log, "%s", text == NULL ? "" : text);
    pthread_mutex_unlock(&host->lock);
}

static void count_bytes(cf_host *host, uint32_t kind, int64_t bytes) {
    const uint32_t slots[2] = {kind, QN_MEM_KINDS};
    for (int i = 0; i < 2; i++) {
        host->bytes[slots[i]] += (uint64_t)bytes;
        if ((int64_t)host->bytes[slots[i]] < 0) {
            note_misuse(host, "mem_note gives back more than was taken");
        } else if (host->bytes[slots[i]] > host->peak[slots[i]]) {
            host->peak[slots[i]] = host->bytes[slots[i]];
        }
    }
}

static bool may_allocate(cf_host *host) {
    host->n_allocations++;
    if (host->left_to_failure != UINT64_MAX && host->left_to_failure-- == 0) {
        return false;
    }
    if (host->allocations_left != UINT64_MAX && host->allocations_left > 0) {
        host->allocations_left--;
        return true;
    }
    return host->allocations_left == UINT64_MAX;
}

/* The block and its list entry, with a canary behind its last byte; null when memory is short. */
static void *make_block(cf_host *host, uint32_t kind, uint64_t bytes, uint64_t align) {
    void *memory = NULL;
    const uint64_t canary = CANARY;
    memory_block *block = malloc(sizeof *block);
    if (block == NULL || bytes > UINT64_MAX / 2 ||
        posix_memalign(&memory, align < 16 ? 16 : align, bytes + sizeof canary) != 0) {
        free(block);
        return NULL;
    }
    memset(memory, 0, bytes);
    memcpy((char *)memory + bytes, &canary, sizeof canary);
    *block = (memory_block){host->blocks, memory, bytes, kind};
    host->blocks = block;
    count_bytes(host, kind, (int64_t)bytes);
    return memory;
}

static void *QN_CALL host_mem_alloc(void *ctx, uint32_t kind, uint64_t bytes, uint64_t align) {
    cf_host *host = ctx;
    count_call(host);
    if (kind >= QN_MEM_KINDS || align == 0 || (align & (align - 1)) != 0 || align > 4096) {
        note_misuse(host, "mem_alloc with an unknown kind, or an alignment that is no power of two up to 4096");
        return NULL;
    }
    pthread_mutex_lock(&host->lock);
    void *memory = may_allocate(host) ? make_block(host, kind, bytes, align) : NULL;
    pthread_mutex_unlock(&host->lock);
    return memory;
}

static void check_canary(cf_host *host, const memory_block *block) {
    const uint64_t canary = CANARY;
    if (memcmp((const char *)block->memory + block->bytes, &canary, sizeof canary) != 0) {
        note_misuse(host, "memory behind the end of a block of mem_alloc was written");
    }
}

static void QN_CALL host_mem_free(void *ctx, void *memory) {
    cf_host *host = ctx;
    count_call(host);
    if (memory == NULL) {
        return;
    }
    pthread_mutex_lock(&host->lock);
    memory_block **at = &host->blocks;
    while (*at != NULL && (*at)->memory != memory) {
        at = &(*at)->next;
    }
    memory_block *block = *at;
    if (block != NULL) {
        check_canary(host, block);
        *at = block->next;
        count_bytes(host, block->kind, -(int64_t)block->bytes);
        free(block->memory);
        free(block);
    } else {
        note_misuse(host, "mem_free of memory that the host did not give");
    }
    pthread_mutex_unlock(&host->lock);
}

static bool block_holds(const memory_block *block, const void *bytes, uint64_t n) {
    for (uint64_t at = 0; at + n <= block->bytes; at += 4) {
        if (memcmp((const char *)block->memory + at, bytes, n) == 0) {
            return true;
        }
    }
    return false;
}

bool cf_host_holds(cf_host *host, const void *bytes, uint64_t n) {
    bool is_held = false;
    pthread_mutex_lock(&host->lock);
    for (const memory_block *block = host->blocks; block != NULL && !is_held; block = block->next) {
        is_held = block_holds(block, bytes, n);
    }
    pthread_mutex_unlock(&host->lock);
    return is_held;
}

static void QN_CALL host_mem_note(void *ctx, uint32_t kind, int64_t bytes) {
    cf_host *host = ctx;
    count_call(host);
    if (kind >= QN_MEM_KINDS) {
        note_misuse(host, "mem_note of an unknown kind");
        return;
    }
    pthread_mutex_lock(&host->lock);
    count_bytes(host, kind, bytes);
    pthread_mutex_unlock(&host->lock);
}

/* --- Team, blobs, and the rest ---------------------------------------------------------------------------------------- */

static void QN_CALL host_team_run(void *ctx, qn_team_fn fn, void *arg) {
    count_call(ctx);
    cf_team_run(((cf_host *)ctx)->team, fn, arg);
}

static void QN_CALL host_team_barrier(void *ctx) {
    count_call(ctx);
    cf_team_barrier(((cf_host *)ctx)->team);
}

static uint64_t QN_CALL host_team_next(void *ctx) {
    count_call(ctx);
    return cf_team_next(((cf_host *)ctx)->team);
}

static void QN_CALL host_team_reset(void *ctx) {
    count_call(ctx);
    cf_team_reset(((cf_host *)ctx)->team);
}

static void QN_CALL host_weight_done(void *ctx, const void *data, uint64_t bytes) {
    (void)data;
    (void)bytes;
    count_call(ctx);
}

static uint64_t QN_CALL host_blob_get(void *ctx, const char *key, void *data, uint64_t room) {
    cf_host *host = ctx;
    count_call(host);
    if (key == NULL || key[0] == '\0' || (data == NULL && room > 0)) {
        note_misuse(host, "blob_get without a key, or with room and no place");
        return 0;
    }
    return cf_blobs_get(host->blob_mode, key, data, room);
}

static qn_status QN_CALL host_blob_put(void *ctx, const char *key, const void *data, uint64_t bytes) {
    cf_host *host = ctx;
    count_call(host);
    if (key == NULL || key[0] == '\0' || (data == NULL && bytes > 0)) {
        note_misuse(host, "blob_put without a key, or with bytes and no data");
        return QN_BAD_ARG;
    }
    return cf_blobs_put(host->blob_mode, key, data, bytes);
}

static uint64_t QN_CALL host_time_ns(void *ctx) {
    struct timespec now;
    count_call(ctx);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const void *QN_CALL host_get_ext(void *ctx, const char *id) {
    (void)id;
    count_call(ctx);
    return NULL;
}

static void fill_machine(qn_machine *machine, uint32_t n_workers, uint64_t features) {
    machine->size = sizeof *machine;
#if defined(__x86_64__)
    machine->arch = QN_ARCH_X86_64;
#elif defined(__aarch64__)
    machine->arch = QN_ARCH_AARCH64;
#endif
    machine->cpu_features[0] = features;
    machine->n_workers = n_workers;
    machine->n_cores = n_workers;
    machine->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    machine->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * machine->page_bytes;
}

static void fill_services(cf_host *host) {
    host->services = (qn_host){
        .size = sizeof host->services, .minor = QN_ABI_MINOR, .ctx = host, .name = "quoin-conform", .version = "0",
        .build_id = "conform", .machine = &host->machine, .log = host_log, .mem_alloc = host_mem_alloc,
        .mem_free = host_mem_free, .mem_note = host_mem_note, .team_run = host_team_run, .team_barrier = host_team_barrier,
        .team_next = host_team_next, .team_reset = host_team_reset, .weight_done = host_weight_done,
        .blob_get = host_blob_get, .blob_put = host_blob_put, .time_ns = host_time_ns, .cancel = &host->cancel,
        .get_ext = host_get_ext};
}

/* --- Making and asking ------------------------------------------------------------------------------------------------ */

cf_host *cf_host_open(uint32_t n_workers, uint64_t features) {
    cf_host *host = calloc(1, sizeof *host);
    if (host == NULL) {
        return NULL;
    }
    host->team = cf_team_open(n_workers);
    if (host->team == NULL) {
        free(host);
        return NULL;
    }
    pthread_mutex_init(&host->lock, NULL);
    host->allocations_left = host->left_to_failure = UINT64_MAX;
    fill_machine(&host->machine, n_workers, features);
    fill_services(host);
    return host;
}

uint64_t cf_host_close(cf_host *host) {
    uint64_t left = 0;
    if (host == NULL) {
        return 0;
    }
    cf_team_close(host->team);
    while (host->blocks != NULL) {
        memory_block *block = host->blocks;
        host->blocks = block->next;
        left += block->bytes;
        free(block->memory);
        free(block);
    }
    pthread_mutex_destroy(&host->lock);
    free(host);
    return left;
}

const qn_host *cf_host_services(const cf_host *host) {
    return &host->services;
}

uint64_t cf_host_bytes(cf_host *host, uint32_t kind) {
    pthread_mutex_lock(&host->lock);
    const uint64_t bytes = host->bytes[kind];
    pthread_mutex_unlock(&host->lock);
    return bytes;
}

uint64_t cf_host_peak(cf_host *host, uint32_t kind) {
    pthread_mutex_lock(&host->lock);
    const uint64_t bytes = host->peak[kind];
    pthread_mutex_unlock(&host->lock);
    return bytes;
}

void cf_host_reset_peak(cf_host *host) {
    pthread_mutex_lock(&host->lock);
    memcpy(host->peak, host->bytes, sizeof host->peak);
    pthread_mutex_unlock(&host->lock);
}

void cf_host_fail_after(cf_host *host, uint64_t n) {
    pthread_mutex_lock(&host->lock);
    host->allocations_left = n;
    pthread_mutex_unlock(&host->lock);
}

void cf_host_fail_once(cf_host *host, uint64_t n) {
    pthread_mutex_lock(&host->lock);
    host->left_to_failure = n;
    pthread_mutex_unlock(&host->lock);
}

uint64_t cf_host_allocations(cf_host *host) {
    pthread_mutex_lock(&host->lock);
    const uint64_t n = host->n_allocations;
    pthread_mutex_unlock(&host->lock);
    return n;
}

void cf_host_cancel(cf_host *host, bool is_cancelled) {
    qn_flag_set(&host->cancel, is_cancelled);
}

void cf_host_cancel_at(cf_host *host, uint64_t n) {
    qn_flag_set(&host->cancel, false);
    atomic_store(&host->calls_left, n);
}

void cf_host_set_blobs(cf_host *host, uint32_t mode) {
    host->blob_mode = mode;
    host->services.blob_get = mode == CF_BLOBS_ABSENT ? NULL : host_blob_get;
    host->services.blob_put = mode == CF_BLOBS_ABSENT ? NULL : host_blob_put;
}

const char *cf_host_misuse(const cf_host *host) {
    return atomic_load(&host->misuse);
}

uint64_t cf_host_log_lines(const cf_host *host) {
    return host->log_lines;
}

const char *cf_host_last_log(const cf_host *host) {
    return host->last_log;
}
