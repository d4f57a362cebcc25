/* mapped_file.c — mapping, and surviving a truncation. */
#define _GNU_SOURCE
#include "base/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_MAPPINGS 131072 /* the largest volume set, its lexicon shards, and what else is open */

/* Read by the signal handler, so: atomics only, and a slot is filled before `size` makes it visible. */
static struct {
    _Atomic(uintptr_t) begin;
    _Atomic(uintptr_t) size;
    atomic_bool is_damaged;
} mappings[MAX_MAPPINGS]; /* pages of it that are never used cost nothing */
static _Atomic(uint32_t) n_ever_used; /* slots behind it have never been filled */
static uint32_t least_free;           /* no slot before it is free; under table_lock */

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous_action;
static bool is_handler_installed;

static bool patch_page(uintptr_t address) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uint32_t n = atomic_load(&n_ever_used);
    for (uint32_t i = 0; i < n; i++) {
        const uintptr_t begin = atomic_load(&mappings[i].begin);
        if (address - begin < atomic_load(&mappings[i].size)) {
            atomic_store(&mappings[i].is_damaged, true);
            void *at = (void *)(address & ~(page - 1));
            return mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
        }
    }
    return false;
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    const int saved_errno = errno;
    const bool is_ours = patch_page((uintptr_t)info->si_addr);
    errno = saved_errno;
    if (is_ours) {
        return;
    }
    if ((previous_action.sa_flags & SA_SIGINFO) != 0 && previous_action.sa_sigaction != NULL) {
        previous_action.sa_sigaction(number, info, context);
    } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
        previous_action.sa_handler(number);
    } else {
        signal(number, SIG_DFL); /* the faulting instruction runs again and now ends the process */
    }
}

static void install_handler(void) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    action.sa_sigaction = on_bus_error;
    sigemptyset(&action.sa_mask);
    is_handler_installed = sigaction(SIGBUS, &action, &previous_action) == 0;
}

static qn_status register_mapping(mapped_file *file, error_context *err) {
    qn_status status = QN_OK;
    pthread_mutex_lock(&table_lock);
    if (!is_handler_installed) {
        install_handler();
    }
    uint32_t slot = least_free;
    while (slot < MAX_MAPPINGS && atomic_load(&mappings[slot].size) != 0) {
        slot++;
    }
    if (slot == MAX_MAPPINGS) {
        status = FAIL(err, QN_LIMIT, "%s: more than %d files are mapped at once", file->path, MAX_MAPPINGS);
    } else {
        file->slot = slot;
        least_free = slot + 1;
        atomic_store(&mappings[slot].is_damaged, false);
        atomic_store(&mappings[slot].begin, (uintptr_t)file->span.data);
        if (slot >= atomic_load(&n_ever_used)) {
            atomic_store(&n_ever_used, slot + 1);
        }
        atomic_store(&mappings[slot].size, (uintptr_t)file->span.size);
    }
    pthread_mutex_unlock(&table_lock);
    return status;
}

static qn_status map_descriptor(mapped_file *file, error_context *err) {
    struct stat info;
    if (fstat(file->fd, &info) != 0) {
        return error_from_errno(err, errno, file->path, "cannot read its size");
    }
    if (!S_ISREG(info.st_mode)) {
        return FAIL(err, QN_BAD_INPUT, "%s: is %s, not a file", file->path,
                    S_ISDIR(info.st_mode) ? "a folder" : "a device or pipe");
    }
    file->device = (uint64_t)info.st_dev;
    file->inode = (uint64_t)info.st_ino;
    file->modified_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    file->span.size = (uint64_t)info.st_size;
    if (info.st_size == 0) {
        return QN_OK;
    }
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, file->fd, 0);
    if (data == MAP_FAILED) {
        file->span.size = 0;
        return error_from_errno(err, errno, file->path, "cannot map it into memory");
    }
    file->span.data = data;
    return register_mapping(file, err);
}

qn_status mapped_file_open(const char *path, mapped_file *out_file, error_context *err) {
    mapped_file file = {.fd = -1, .slot = MAX_MAPPINGS, .path = strdup(path)};
    if (file.path == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", path);
    }
    file.fd = open(path, O_RDONLY | O_CLOEXEC);
    const qn_status status = file.fd < 0 ? error_from_errno(err, errno, path, "cannot open it")
                                         : map_descriptor(&file, err);
    if (status < 0) {
        mapped_file_close(&file);
        return status;
    }
    *out_file = file;
    return QN_OK;
}

void mapped_file_close(mapped_file *file) {
    if (file == NULL || file->path == NULL) {
        return;
    }
    if (file->slot < MAX_MAPPINGS && file->span.size > 0) {
        pthread_mutex_lock(&table_lock);
        atomic_store(&mappings[file->slot].size, 0);
        least_free = file->slot < least_free ? file->slot : least_free;
        pthread_mutex_unlock(&table_lock);
    }
    if (file->span.data != NULL) {
        munmap((void *)(uintptr_t)file->span.data, (size_t)file->span.size);
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    free(file->path);
    memset(file, 0, sizeof *file);
    file->fd = -1;
}

qn_status mapped_file_check(const mapped_file *file, error_context *err) {
    struct stat info;
    const bool is_damaged = file->slot < MAX_MAPPINGS && atomic_load(&mappings[file->slot].is_damaged);
    if (fstat(file->fd, &info) == 0 && (uint64_t)info.st_size < file->span.size) {
        return FAIL(err, QN_IO,
                    "%s: was cut from %" PRIu64 " to %" PRIu64
                    " bytes while it was in use; nothing computed from it can be trusted",
                    file->path, file->span.size, (uint64_t)info.st_size);
    }
    if (is_damaged) {
        return FAIL(err, QN_IO, "%s: a part of it could not be read from the disk while it was in use", file->path);
    }
    return QN_OK;
}

static void advise(const mapped_file *file, uint64_t offset, uint64_t size, int advice) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t begin = offset & ~(page - 1);
    if (file->span.data != NULL && offset < file->span.size) {
        const uint64_t end = size > file->span.size - offset ? file->span.size : offset + size;
        madvise((void *)(uintptr_t)(file->span.data + begin), (size_t)(end - begin), advice);
    }
}

void mapped_file_will_need(const mapped_file *file, uint64_t offset, uint64_t size) {
    advise(file, offset, size, MADV_WILLNEED);
}

void mapped_file_dont_need(const mapped_file *file, uint64_t offset, uint64_t size) {
    advise(file, offset, size, MADV_DONTNEED);
}

void mapped_file_forget(const void *data, uint64_t size) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = ((uintptr_t)data + page - 1) & ~(page - 1), end = ((uintptr_t)data + size) & ~(page - 1);
    const uint32_t n = atomic_load(&n_ever_used);
    for (uint32_t i = 0; i < n && begin < end; i++) {
        const uintptr_t map_begin = atomic_load(&mappings[i].begin), map_size = atomic_load(&mappings[i].size);
        if (begin - map_begin < map_size && end - map_begin <= map_size) {
            madvise((void *)begin, end - begin, MADV_DONTNEED); /* a shared file mapping: nothing is lost */
            return;
        }
    }
}
