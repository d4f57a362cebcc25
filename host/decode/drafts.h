/* drafts.h — guessed tokens that the session holds already, ahead of what was chosen.
 *
 * [last token, guess 1, …, guess m] are run in one step that keeps m + 1 rows of logits. Row i says what follows guess i: while the
 * choice from it is guess i + 1, nothing has to be run. At the first other choice the guesses behind it are forgotten, and the session
 * stands as if they had never been there.
 *
 * Threading: as the session.
 * Memory:    fixed.
 */
#ifndef HOST_DRAFTS_H
#define HOST_DRAFTS_H
#include "decode/session.h"
#include "decode/token_hooks.h"

typedef struct drafts {
    session *s;
    const draft_source *source; /* null: no guesses are made */
    uint32_t ids[1 + TOKEN_MAX_DRAFT]; /* the token that was run, then the guesses */
    uint32_t n, at;          /* guesses in the session; how many were chosen since */
    uint32_t n_drafted, n_accepted;
} drafts;

void drafts_init(drafts *d, session *s, const draft_source *source);

/* Positions of the session that were chosen or prompt; those behind are guesses. */
uint32_t drafts_length(const drafts *d);
/* The row of logits that says what follows; null when the last step left none. */
float *drafts_row(const drafts *d);
/* `id` was chosen: afterwards drafts_row says what follows it. At most `budget` more tokens are wanted. */
qn_status drafts_append(drafts *d, uint32_t id, uint32_t budget, error_context *err);
/* Forgets the guesses that were not chosen. */
qn_status drafts_settle(drafts *d, error_context *err);

#endif
