/* counting_driver.h — a driver that runs copies and nothing else, and remembers what it was asked for: for tests of the
 * core of the device plugins. Its memories are the host's. Threading: counts whether two calls ever meet. */
#ifndef COUNTING_DRIVER_H
#define COUNTING_DRIVER_H
#include <stdatomic.h>
#include <stdbool.h>

#include "gpu_driver.h"

#define COUNTED_LAUNCHES 4096u

typedef struct counting_driver {
    /* Set by a test before it opens a backend. */
    uint32_t caps_flags;
    uint64_t max_memory_bytes, max_binding_bytes;
    bool refuses_imports;
    /* Told. */
    uint32_t n_memories, n_imports, n_memories_left, n_recordings_left;
    uint32_t n_records, n_runs, n_kernels;
    gpu_launch launches[COUNTED_LAUNCHES]; /* last recorded */
    uint32_t n_launches;
    atomic_int n_inside;
    bool have_met;
} counting_driver;

extern counting_driver counted;

/* Zeros, and the usual capabilities. */
void counting_driver_reset(void);
/* The bytes of a memory. */
char *counting_driver_bytes(const gpu_memory *memory);

#endif
