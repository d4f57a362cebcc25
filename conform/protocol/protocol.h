/* protocol.h — the suites of level 1 and what they share.
 *
 * Threading: one thread at a time.
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H
#include "protocol/specimen.h"

extern const cf_suite cf_suite_start, cf_suite_devices, cf_suite_compile, cf_suite_weights, cf_suite_order, cf_suite_step,
    cf_suite_extras, cf_suite_scrub, cf_suite_process;

/* Hands `theirs` to a verb and takes back what a success made. */
typedef qn_status size_call(cf_context *ctx, void *arg, const void *theirs, qn_error *error);

/* The size-first rule on one struct that a verb reads: its own size, 64 more bytes that are zero, one bit behind it (TOO_NEW), and
 * every kind of shorter than in minor 0 (BAD_ARG). `good`: [size] what the verb accepts; least: QN_LEAST_* of it. */
void require_sizes(cf_context *ctx, const char *what, const void *good, uint32_t size, uint32_t least, size_call *call, void *arg);

#endif
