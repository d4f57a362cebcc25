/* test_host.h — the host services of abi.h with nothing behind them but libc and pthreads, for tests of plugins.
 *
 * Memory is counted by kind, so that a test can ask what is left and make an allocation fail; the team is real threads.
 *
 * Threading: as qn_host asks. test_host_open and test_host_close: one thread.
 * Memory:    test_host_close frees what the plugin left behind and tells how many bytes that was.
 */
#ifndef TEST_HOST_H
#define TEST_HOST_H
#include <stdatomic.h>
#include <stdbool.h>

#include <quoin/abi.h>

typedef struct test_host test_host;

/* What a level name ("c", "avx2", "avx512", "avx512vnni", "neon", "dotprod", "native") leaves of this machine's features.
 * False when the name is unknown or the machine has less than the level needs. */
bool test_host_features(const char *level, uint64_t *out_features);

/* A host whose team has n_workers (1..64) workers and that reports `features`. Ends the test program when memory is short. */
test_host *test_host_open(uint32_t n_workers, uint64_t features);

/* Frees everything. Returns the bytes that the plugin still held. */
uint64_t test_host_close(test_host *host);

const qn_host *test_host_services(const test_host *host);

/* Bytes held now and the most held at once, by QN_MEM_*; mem_note counts too. */
uint64_t test_host_bytes(const test_host *host, uint32_t kind);
uint64_t test_host_peak(const test_host *host, uint32_t kind);

/* The allocation after the next `n` succeeds no more (and none after it); UINT64_MAX: all succeed. */
void test_host_fail_after(test_host *host, uint64_t n);

/* Allocations asked for since test_host_open. */
uint64_t test_host_allocations(const test_host *host);

void test_host_cancel(test_host *host, bool is_cancelled);

/* Lines that the plugin logged. */
uint64_t test_host_log_lines(const test_host *host);

#endif
