/* special_match.h — finds tokens that are matched whole in text: added tokens always, control tokens where that is allowed.
 *
 * At each position the longest spelling wins; positions are tried from the left.
 *
 * Threading: immutable after it is built.
 * Memory:    owned: one index over the special tokens; their spellings stay borrowed.
 */
#ifndef HOST_SPECIAL_MATCH_H
#define HOST_SPECIAL_MATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "text/vocab.h"

typedef struct special_token {
    fmt_str spelling; /* 1 byte or more */
    uint32_t id;
    bool is_added;    /* user-defined: matched in any text; otherwise control or unknown */
    bool is_marker;   /* added, but spelled like what separates the turns of a conversation: <|...|>, [INST] and the like */
} special_token;

typedef struct special_matcher {
    special_token *tokens; /* [n_tokens] by spelling, then added before control, then by id */
    uint32_t n_tokens;
    uint32_t first[257];   /* tokens that begin with byte b: [first[b], first[b + 1]) */
    bool starts_added[256], starts_any[256]; /* is there a token, of the one kind or of any, that begins with this byte? */
} special_matcher;

qn_status special_matcher_init(special_matcher *m, const vocab *v, error_context *err);
void special_matcher_deinit(special_matcher *m);

/* How far tokens may reach from where a match begins; not behind it: none of that kind is given. */
typedef struct special_limits {
    const uint8_t *end;         /* added tokens */
    const uint8_t *marker_end;  /* added tokens that are markers */
    const uint8_t *control_end; /* control tokens */
} special_limits;

/* The longest special token at `at` (before limits->end), or null. [any-thread] [no-alloc] */
const special_token *special_match_at(const special_matcher *m, const uint8_t *at, const special_limits *limits);

/* Id of the special token with this spelling, or TOKEN_NONE. */
uint32_t special_find(const special_matcher *m, fmt_str spelling);

#endif
