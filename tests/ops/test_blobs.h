/* test_blobs.h — a blob store in memory, the same for all hosts of a test program: what a plugin compiled once, it finds again at the next
 * start. Without it a test that opens a device hundreds of times compiles hundreds of times.
 *
 * Threading: one thread at a time per program.
 * Memory:    kept until test_blobs_end.
 */
#ifndef TEST_BLOBS_H
#define TEST_BLOBS_H
#include <stdbool.h>

#include <quoin/abi.h>

/* Hosts that are opened from now on have the store. */
void test_blobs_begin(void);
void test_blobs_end(void);
bool test_blobs_are_kept(void);

uint64_t QN_CALL test_blobs_get(void *ctx, const char *key, void *data, uint64_t room);
qn_status QN_CALL test_blobs_put(void *ctx, const char *key, const void *data, uint64_t bytes);

#endif
