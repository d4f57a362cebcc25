/* govern_fixture.h — requests in a folder of their own: a policy from words, a clock that stands still, a heat and a model that say what a
 * test wants. */
#ifndef GOVERN_FIXTURE_H
#define GOVERN_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "govern/gate.h"

#define FIXTURE_START UINT64_C(1750000000000)
#define FIXTURE_AGENT "did:example:agent"
#define FIXTURE_PRINCIPAL "did:example:ana"

extern char fixture_folder[CORPUS_PATH_SIZE];
extern uint64_t fixture_time;    /* ms; what the clock says */
extern double fixture_celsius;   /* negative: no sensor */

/* What the model answers. */
typedef struct fixture_answer {
    const char *text;
    uint32_t n_tokens;
    bool is_partial, is_judged;
    qn_status status;            /* below 0: it fails with this code */
    gate_code code;
    uint32_t n_claims;
    q42_quin claims[4];
    uint32_t n_calls;            /* counted */
} fixture_answer;
extern fixture_answer fixture_says;

int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Writes FOLDER/name. */
void fixture_write(const char *name, const char *text);
/* Writes a volume of these quins; returns its path (static, until the next call). */
const char *fixture_volume(const char *name, const q42_quin *quins, uint32_t n, bool is_sanctuary);

/* Writes a volume of these N-Quads. */
void fixture_graph(const char *name, const char *text);

/* A request under FOLDER/policy.ini, which gets `more` behind the least that a policy needs. Intent llm:ReadGraph. */
request *fixture_request(const char *more);
void fixture_release(request *r);
/* Adds a scope; `path` may be null. */
void fixture_scope(request *r, const char *name, const char *path);

/* The result of a gate; fails the test when it was not asked. */
const gate_result *fixture_result(const request *r, const char *gate);

/* The last AUDIT record of the log, in one text: "gate verdict code-word detail\n" for each entry. Static. */
const char *fixture_last_audit(void);
/* How many quins the log holds that hold, and how many agreements wait. */
uint64_t fixture_count_quins(void);
size_t fixture_count_pending(void);

#endif
