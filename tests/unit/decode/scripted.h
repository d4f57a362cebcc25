/* scripted.h — a session whose backend says what a script says: the tiny model on the reference backend, whose step is
 * replaced by one that makes the scripted id the most likely one.
 *
 * Script: the id at index p follows position p. Ids of bytes are TINY_BYTE_0 + byte.
 */
#ifndef TEST_SCRIPTED_H
#define TEST_SCRIPTED_H
#include <stdint.h>

#include "backends/choose.h"
#include "corpus.h"
#include "decode/session.h"
#include "model/model.h"
#include "tiny_model.h"

typedef struct scripted {
    char folder[CORPUS_PATH_SIZE];
    team *workers;
    registry backends;
    host_services services;
    backend on;
    model *m;
    plan *p;
    session *s;
    /* what the step does */
    uint32_t script[TINY_CONTEXT];
    uint32_t n_steps;           /* steps so far */
    uint32_t fail_at_step;      /* counted from 1; 0 = never */
    qn_status fail_with;
    uint32_t cancel_at_step;    /* sets the host's flag and answers CANCELLED, as a plugin does that polls it */
    uint32_t milliseconds;      /* that a step takes */
    qn_plugin table;
    qn_status (QN_CALL *real_step)(qn_session *session, const qn_step *step, qn_error *err); /* of the backend itself */
} scripted;

/* For cmocka: *state becomes a scripted with a context of n_ctx positions (chunk: tokens of one step). */
int scripted_open(void **state, uint32_t n_ctx, uint32_t chunk);
/* The same with another number of rows of logits than 2. */
int scripted_open_rows(void **state, uint32_t n_ctx, uint32_t chunk, uint32_t rows);
int scripted_close(void **state);

/* Script from `position` on: the bytes of `text`, then `last` when it is not TOKEN_NONE. */
void scripted_say(scripted *f, uint32_t position, const char *text, uint32_t last);

#endif
