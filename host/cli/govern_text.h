/* govern_text.h — what came of a governed run, as lines or JSON.
 *
 * Threading: the command line is one thread.
 */
#ifndef HOST_GOVERN_TEXT_H
#define HOST_GOVERN_TEXT_H
#include <jansson.h>

#include "cli/command.h"
#include "govern/gate.h"

/* Everything about a run that is over; null without memory. The text of the answer is left out when it may not be shown. */
json_t *govern_text_describe(const request *r);
/* The answer on standard output, outcome and what gates noted on standard error. False when nobody takes the text. */
bool govern_text_print(const request *r);

/* --explain. */
json_t *govern_text_describe_dry(const request *r);
bool govern_text_print_dry(const request *r);

#endif
