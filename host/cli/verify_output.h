/* verify_output.h — what `verify` prints about volumes and the files around them, as text and as JSON.
 *
 * Threading: one thread at a time.
 */
#ifndef HOST_CLI_VERIFY_OUTPUT_H
#define HOST_CLI_VERIFY_OUTPUT_H
#include "cli/command.h"
#include "graph/file_kind.h"

/* "structure", "blocks", ...; the names that --level takes, in the order of q42_level. */
#define VERIFY_LEVELS "structure|blocks|lexicon|indexes|full"
q42_level verify_level_of(const char *name); /* one of VERIFY_LEVELS */

/* Prints the outcome and returns the exit status: 0 everything passed, 1 a check failed, 7 nothing failed and something
 * is missing; that of c->err when `status` is an error. `notes` is borrowed. */
int verify_print(command_context *c, const file_kind *kind, const char *level, const char *path,
                 const volume_report_list *list, json_t *notes, qn_status status);

/* One check as JSON: check, verdict, rule, offset, index, message. */
json_t *verify_check_json(const verify_check *check);

#endif
