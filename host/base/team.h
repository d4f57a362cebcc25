/* team.h — the host's worker threads: every worker runs the same function once, with a barrier and a shared counter
 * inside.
 *
 * There is no task queue. The calling thread is worker 0, so a team of one has no thread at all. Waiting spins first
 * and then sleeps, so an idle team costs nothing and a step's barriers cost a fraction of a microsecond.
 *
 * Threading: team_run may be called from any thread; concurrent calls wait for each other. The rest: see each call.
 * Memory:    owned by the team.
 */
#ifndef HOST_TEAM_H
#define HOST_TEAM_H
#include <stdint.h>

#include "base/error.h"

typedef struct team team;
typedef void team_fn(void *arg, uint32_t worker, uint32_t n_workers);

/* Makes a team of `n_workers` (1..256), n_workers - 1 of them new threads. */
qn_status team_create(uint32_t n_workers, team **out_team, error_context *err);
/* Ends the threads; null is legal. Not while a region runs. */
void team_destroy(team *t);

uint32_t team_size(const team *t);

/* Runs fn on every worker and returns when all have returned. The shared counter starts at 0. Never from inside a
 * region. */
void team_run(team *t, team_fn *fn, void *arg);
/* Inside a region only: waits for all workers; writes before it are seen by everyone after it. */
void team_barrier(team *t);
/* Inside a region only: 0, 1, 2, … each value given to one worker. */
uint64_t team_next(team *t);
/* Inside a region only: sets the counter to 0; one worker, between two barriers. */
void team_reset(team *t);

#endif
