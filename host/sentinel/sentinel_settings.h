/* sentinel_settings.h — which rules a sentinel has, and what each does: by hand, or from an INI file with a section for each.
 *
 *     [deny]                  action = resample          ; what a rule does when it fires: allow (it is only told),
 *                             ids = 13, 198              ; resample (another choice from the same row) or abort
 *                             text = "foo"               ; every token that is spelled so, also with a blank in front; repeatable
 *     [non-finite]            action = abort             ; a NaN or an infinity in the row
 *     [margin]                least = 0.5                ; the greatest logit less the second is below it; default action allow
 *     [entropy]               most = 6.5                 ; the row's entropy in nats is above it; default action allow
 *     [repetition]            n = 4                      ; the token makes n tokens stand `times` times in the last `window`
 *                             times = 3
 *                             window = 128
 *     [phrase]                phrase = "in conclusion"   ; the token completes it; repeatable
 *                             fold-case = yes            ; A-Z as a-z
 *     [compat-0x99]           action = allow             ; the lowest byte of the logit is 0x99: chance, about 1 in 256. For tests alone
 *
 * A rule whose section is not there is off. Texts may stand in double quotes, which keeps blanks at their ends; \n \t \" \\ and \xHH are
 * read. The actions without a line are resample for deny, repetition and phrase, abort for non-finite, allow for the others.
 *
 * Threading: one thread at a time.
 * Memory:    owned by the settings until sentinel_settings_free; a zeroed struct has no rule.
 * Errors:    QN_BAD_INPUT with file, line, what was found and the nearest word that is known.
 */
#ifndef HOST_SENTINEL_SETTINGS_H
#define HOST_SENTINEL_SETTINGS_H
#include <stdbool.h>

#include "base/config.h"
#include "sentinel/phrase_automaton.h"

typedef uint32_t sentinel_action;
enum { SENTINEL_ALLOW = 0, SENTINEL_RESAMPLE = 1, SENTINEL_ABORT = 2 };
const char *sentinel_action_name(sentinel_action action); /* "allow", ... Static. */

typedef uint32_t sentinel_rule;
enum {
    SENTINEL_DENY = 0, SENTINEL_NON_FINITE, SENTINEL_MARGIN, SENTINEL_ENTROPY, SENTINEL_REPETITION, SENTINEL_PHRASE, SENTINEL_COMPAT_99,
    SENTINEL_RULES
};
const char *sentinel_rule_name(sentinel_rule rule); /* "deny", ... as the sections. Static. */

typedef struct sentinel_settings {
    bool is_on[SENTINEL_RULES];
    sentinel_action actions[SENTINEL_RULES];
    uint32_t *deny_ids;
    size_t n_deny_ids;
    phrase_text *deny_texts;
    size_t n_deny_texts;
    phrase_text *phrases;
    size_t n_phrases;
    bool folds_case;
    double least_margin;      /* logits; > 0 */
    double most_entropy;      /* nats; >= 0 */
    uint32_t n, times, window; /* of repetition */
    config file;              /* where texts point to when they were read */
} sentinel_settings;

/* To be freed, whatever it answers. */
qn_status sentinel_settings_read(const char *path, sentinel_settings *out, error_context *err);
void sentinel_settings_free(sentinel_settings *s);

#endif
