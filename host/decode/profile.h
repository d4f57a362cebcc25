/* profile.h — where the time of a decode step goes, summed over the layers by what the op is for.
 *
 * Threading: one thread at a time per session.
 * Memory:    profile_decode allocates the rows, profile_free gives them back.
 */
#ifndef HOST_PROFILE_H
#define HOST_PROFILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "decode/session.h"

typedef struct profile_row {
    char label[96];        /* "matmul ffn_down.weight Q4_K 576x1536" */
    char kernel[64];       /* as the plugin names it; "" when it does not */
    uint32_t n_ops;
    double microseconds;   /* per step, all ops of the row together */
} profile_row;

typedef struct profile_table {
    profile_row *rows;     /* [n_rows], slowest first */
    uint32_t n_rows;
    double total_microseconds;
} profile_table;

/* Decodes a few tokens with the plugin's clock on. A plugin without the extension gives an empty table, which is no
 * error. */
qn_status profile_decode(session *s, profile_table *out, error_context *err);
void profile_free(profile_table *table);

json_t *profile_to_json(const profile_table *table);
/* The slowest row, or all rows; through `write`, whose failure is passed on. */
bool profile_print(const profile_table *table, bool all, bool (*write)(const char *text, size_t size));

#endif
