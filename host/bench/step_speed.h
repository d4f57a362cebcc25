/* step_speed.h — tokens per second: of a prompt, and one by one at given depths.
 *
 * Ids are made up: what they mean does not matter to the time. Each quantity is run once more beforehand to warm up.
 *
 * Threading: one thread at a time per session.
 * Memory:    an array of ids while it runs.
 */
#ifndef HOST_STEP_SPEED_H
#define HOST_STEP_SPEED_H
#include "bench/spread.h"
#include "decode/session.h"

#define STEP_SPEED_MOST_DEPTHS 16u

typedef struct step_speed_options {
    uint32_t n_prompt, n_decode, repeats; /* all at least 1; repeats at most SPREAD_MOST */
    uint32_t depths[STEP_SPEED_MOST_DEPTHS]; /* positions that are filled before decoding */
    uint32_t n_depths;
} step_speed_options;

typedef struct step_speed {
    double first_token_seconds; /* of the first step that the session makes at all: what was put off until then is in it */
    spread prompt;
    spread decode[STEP_SPEED_MOST_DEPTHS]; /* by depth */
} step_speed;

/* Positions that the context must have. */
uint64_t step_speed_context(const step_speed_options *options);

/* `s` is as session_create left it. Errors as session_append. */
qn_status step_speed_measure(session *s, const step_speed_options *options, step_speed *out, error_context *err);

#endif
