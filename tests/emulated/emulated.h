/* emulated.h — a device that is not there, for tests: what its files share.
 *
 *   emulated_driver.c   the table of gpu_driver.h: one device, its options
 *   emulated_memory.c   memory of three places, each with its rule
 *   emulated_run.c      recordings, and the worker that runs them
 *
 * It is as strict as devices are: memory of PLACE_DEVICE cannot be touched while nothing runs; what the host writes
 * into PLACE_UPLOAD while a recording runs is not seen by it; PLACE_READBACK holds poison until the run has ended;
 * launches marked BESIDE run in the other order; new memory holds NaN.
 *
 * Threading: as gpu_driver.h asks; a worker thread per device lives from open to close.
 */
#ifndef EMULATED_H
#define EMULATED_H
#include <pthread.h>
#include <stdbool.h>

#include "gpu_driver.h"

struct gpu_driver_state {
    const qn_host *host;
    bool has_int_dot;
};

typedef struct emulated_memory {
    gpu_memory shared;            /* .host: the host's side of UPLOAD and READBACK */
    uint32_t place;
    bool is_imported;             /* pages are the host's, read-only by contract */
    char *pages;                  /* what kernels and copies see */
    uint64_t page_bytes;          /* 0 when imported */
    struct emulated_memory *next;
} emulated_memory;

struct gpu_recording {
    uint32_t n, room;
    gpu_launch launches[];        /* [room] */
};

#define EMULATED_KERNELS 1024u

struct gpu_driver_device {
    const qn_host *host;
    bool is_unified;
    uint32_t subgroup;            /* 0: it has no subgroups */
    emulated_memory *memories;
    uint8_t opened[EMULATED_KERNELS];
    pthread_t worker;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const gpu_recording *job;     /* null: nothing to do */
    uint64_t *nanoseconds;        /* of the job */
    bool is_closing;
    qn_status status;             /* of the last job, and its error */
    qn_error error;
};

/* emulated_memory.c: the functions of gpu_driver.h. */
qn_status emulated_memory_new(gpu_driver_device *device, uint32_t place, uint64_t bytes, gpu_memory **out,
                              qn_error *err);
qn_status emulated_memory_import(gpu_driver_device *device, const void *data, uint64_t bytes, gpu_memory **out,
                                 uint64_t *at, qn_error *err);
void emulated_memory_free(gpu_driver_device *device, gpu_memory *memory);
qn_status emulated_upload(gpu_driver_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes,
                          qn_error *err);
qn_status emulated_download(gpu_driver_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes,
                            qn_error *err);
/* Lets kernels at all memory, or takes it away from them; moves what passes between host and device. */
void emulated_memories_begin(gpu_driver_device *device);
void emulated_memories_end(gpu_driver_device *device);

/* emulated_run.c */
qn_status emulated_recording_new(gpu_driver_device *device, uint32_t room, gpu_recording **out, qn_error *err);
void emulated_recording_free(gpu_driver_device *device, gpu_recording *recording);
qn_status emulated_record(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n,
                          qn_error *err);
qn_status emulated_run(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err);
/* The worker; arg: the device. */
void *emulated_work(void *arg);

#endif
