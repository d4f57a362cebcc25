/* host_services.h — the qn_host table that plugins see: memory accounting, team, log, time, cancel.
 *
 * Threading: made and destroyed on one thread; the services themselves carry the tags of abi.h.
 * Memory:    owns the accounting; borrows the team and the machine facts, which must outlive it.
 */
#ifndef HOST_SERVICES_H
#define HOST_SERVICES_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <quoin/abi.h>

#include "backends/blob_store.h"
#include "backends/weight_memory.h"
#include "base/error.h"
#include "base/team.h"

/* What the ctx of a table points to, whoever's table it is. */
typedef struct host_context {
    struct host_services *services;
} host_context;

typedef struct host_services {
    host_context context;
    qn_host table;                    /* without a blob store: that one is a plugin's own, see plugin_host.h */
    blob_store blobs;
    weight_memory weights;            /* what mem_alloc gives of QN_MEM_WEIGHTS */
    team *workers;
    qn_machine machine;
    atomic_llong used[QN_MEM_KINDS];  /* bytes taken through mem_alloc and told by mem_note */
    atomic_llong peak[QN_MEM_KINDS];
    atomic_ullong n_allocations;      /* calls of mem_alloc so far: a test wants none per token */
    bool is_guarded;                  /* look at the process around plugin code: for a whole program, not for a library */
    bool checks_contract;             /* put contract_guard.h around every plugin */
    volatile uint32_t cancel;         /* written by anyone (a signal handler too), read by plugins */
} host_services;

void host_services_init(host_services *services, const qn_machine *machine, team *workers);

/* "gcc 12.2.0": the compiler of this build, for caches and reports. Static. */
const char *host_build_id(void);

/* "0.1.0": of this program. Static. */
const char *host_version(void);

/* QN_SANITIZER_* of this build. */
uint32_t host_sanitizer(void);

#endif
