/* conform_waivers.h — failures that are known: a file beside a plugin, with a reason and an end for each.
 *
 *     # PATTERN              LAST DAY    REASON
 *     1.order.tap_*          2027-03-31  tap before the first step answers BAD_ARG; fixed in 24.2
 *
 * A waived test that fails, crashes, hangs or is unsupported counts as WAIVED. One that passes all the same fails: the waiver has to
 * go. Past its last day a waiver waives nothing.
 *
 * Threading: one thread at a time per object.
 * Memory:    owned by the object until conform_waivers_free.
 */
#ifndef CONFORM_WAIVERS_H
#define CONFORM_WAIVERS_H
#include "program/conform_plan.h"
#include "program/conform_result.h"

typedef struct conform_waiver {
    char pattern[CONFORM_ID_SIZE], last_day[12], reason[400];
    uint32_t line, n_used, n_passed;
    bool is_expired;
} conform_waiver;

typedef struct conform_waivers {
    const char *path;
    conform_waiver *all;
    uint32_t n;
} conform_waivers;

/* Reads the file; `today` as 2027-03-31. QN_BAD_INPUT with path and line, QN_IO and QN_NOT_FOUND with the path. */
qn_status conform_waivers_read(const char *path, const char *today, conform_waivers *out, error_context *err);
void conform_waivers_free(conform_waivers *waivers);

/* Applies the first waiver that matches: changes outcome and words of *result. is_must: UNSUPPORTED is a failure. */
void conform_waive(conform_waivers *waivers, const conform_entry *entry, bool is_must, conform_result *result);

#endif
