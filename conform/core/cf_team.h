/* cf_team.h — the team of a cf_host: real threads, one region at a time, a barrier and a shared counter.
 *
 * Threading: cf_team_run from any thread, the rest inside a region.
 * Memory:    owned by the team until cf_team_close.
 */
#ifndef CF_TEAM_H
#define CF_TEAM_H
#include <stdint.h>

#include <quoin/abi.h>

typedef struct cf_team cf_team;

/* n_workers in [1, CF_MOST_WORKERS]; null when memory or threads are short. */
cf_team *cf_team_open(uint32_t n_workers);
void cf_team_close(cf_team *team);

uint32_t cf_team_size(const cf_team *team);
void cf_team_run(cf_team *team, qn_team_fn fn, void *arg);
void cf_team_barrier(cf_team *team);
uint64_t cf_team_next(cf_team *team);
void cf_team_reset(cf_team *team);

#endif
