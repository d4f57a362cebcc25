/* cf_host.h — the host services of abi.h with nothing behind them but libc and threads, made for watching a plugin.
 *
 * Memory is counted by kind and canaried; the k-th allocation can be made to fail; the cancel flag can be raised by a count of service
 * calls; the blob store (cf_blobs.h) keeps, forgets, shortens or garbles; the team is real threads, a barrier and a counter.
 *
 * Threading: as qn_host asks. cf_host_open and cf_host_close: one thread.
 * Memory:    cf_host_close frees what the plugin left behind and tells how many bytes that was.
 */
#ifndef CF_HOST_H
#define CF_HOST_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/abi.h>

#define CF_MOST_WORKERS 64u

typedef struct cf_host cf_host;

/* What a level name ("c", "avx2", "avxvnni", "avx512", "avx512vnni", "neon", "dotprod", "native") leaves of this machine's features.
 * False when the name is unknown (*out_is_known tells) or the machine has less than the level needs. */
bool cf_host_features(const char *level, uint64_t *out_features, bool *out_is_known);

/* A host whose team has n_workers (1..CF_MOST_WORKERS) workers and that reports `features`; null when memory is short. */
cf_host *cf_host_open(uint32_t n_workers, uint64_t features);

/* Frees everything. Returns the bytes that the plugin still held. */
uint64_t cf_host_close(cf_host *host);

const qn_host *cf_host_services(const cf_host *host);

/* Bytes held now and the most held at once, by QN_MEM_*; mem_note counts too. The sum of the kinds: QN_MEM_KINDS. */
uint64_t cf_host_bytes(cf_host *host, uint32_t kind);
uint64_t cf_host_peak(cf_host *host, uint32_t kind);
/* Do these bytes stand, at a multiple of 4, in memory that the plugin holds from mem_alloc? */
bool cf_host_holds(cf_host *host, const void *bytes, uint64_t n);
/* From here on the peak counts anew. */
void cf_host_reset_peak(cf_host *host);

/* The allocation after the next `n` succeeds no more (and none after it); UINT64_MAX: all succeed. */
void cf_host_fail_after(cf_host *host, uint64_t n);

/* The allocation after the next `n` fails, and those behind it succeed again; UINT64_MAX: none does. */
void cf_host_fail_once(cf_host *host, uint64_t n);

/* Allocations asked for since cf_host_open. */
uint64_t cf_host_allocations(cf_host *host);

void cf_host_cancel(cf_host *host, bool is_cancelled);
/* Raises the cancel flag at the n-th service call from now (team, memory, log, time); 0: never. */
void cf_host_cancel_at(cf_host *host, uint64_t n);

enum {
    CF_BLOBS_KEEP,     /* get gives what put took */
    CF_BLOBS_NONE,     /* get never finds anything, put takes it */
    CF_BLOBS_FULL,     /* put answers NO_HOST_MEM */
    CF_BLOBS_SHORT,    /* get gives the first half */
    CF_BLOBS_GARBLED,  /* get gives the right size with bits turned over */
    CF_BLOBS_RANDOM,   /* get gives random bytes for keys that were never put */
    CF_BLOBS_ABSENT,   /* the services are null */
    CF_BLOBS_MODES
};
/* Before start. CF_BLOBS_KEEP at first: all hosts of a process have one store, so that a later life finds what an earlier one put. */
void cf_host_set_blobs(cf_host *host, uint32_t mode);

/* First thing that the plugin did wrong with a service ("mem_free of memory that the host did not give"), or null. Static. */
const char *cf_host_misuse(const cf_host *host);

/* Lines that the plugin logged, and the last of them; "" for none. */
uint64_t cf_host_log_lines(const cf_host *host);
const char *cf_host_last_log(const cf_host *host);

#endif
