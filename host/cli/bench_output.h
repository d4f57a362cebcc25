/* bench_output.h — what `quoin bench` measured, as text and as JSON.
 *
 * Threading: one thread at a time.
 */
#ifndef HOST_BENCH_OUTPUT_H
#define HOST_BENCH_OUTPUT_H
#include "bench/ceilings.h"
#include "bench/choice_speed.h"
#include "bench/step_speed.h"
#include "bench/text_speed.h"
#include "bench/token_work.h"
#include "cli/engine_options.h"
#include "decode/profile.h"

typedef struct bench_result {
    step_speed_options options;
    step_speed steps;
    token_work work;
    ceilings most;
    text_speed text;
    choice_speed choice;
    profile_table ops;
} bench_result;

/* Sorts the spreads of the result. A new reference. */
json_t *bench_to_json(const command_context *c, const engine *e, bench_result *r);

/* The same as lines, from that object and the profile; false when they do not arrive. `all_ops`: not only the slowest. */
bool bench_print(const json_t *object, const bench_result *r, bool all_ops);

/* The rows of comparison_make. */
bool bench_print_comparison(const json_t *rows);

#endif
