/* graph_command.h — what the commands on volumes, journals and vaults share: sizes, reports, refusals.
 *
 * Threading: the command line is one thread.
 */
#ifndef HOST_GRAPH_COMMAND_H
#define HOST_GRAPH_COMMAND_H
#include <quoin/fmt.h>

#include "cli/command.h"

#define GRAPH_DEFAULT_SEGMENT (UINT64_C(512) << 20)

/* Tells what is wrong with the command line; EXIT_USAGE. */
int graph_refuse_usage(command_context *c, const char *format, ...) ERROR_PRINTF(2, 3);

/* A size as volume_options_size reads it, of at least `least`. QN_BAD_INPUT names the option and the value. A null text
 * leaves *out_bytes as it is. */
qn_status graph_parse_size(const char *option, const char *text, uint64_t least, uint64_t *out_bytes,
                           error_context *err);

/* With --json the object, otherwise the line; takes over the object. */
int graph_report(command_context *c, json_t *object, const char *format, ...) ERROR_PRINTF(3, 4);

/* Sixteen digits, as ids are shown. */
json_t *graph_json_id(uint64_t id);

/* Lower-case digits of `size` bytes; out has 2 * size + 1. Returns out. */
const char *graph_hex(const uint8_t *data, size_t size, char *out);

/* A note of a reader, on standard error; ctx is the path. */
void graph_tell_note(void *path, const fmt_diag *note);

/* FILE with ENDING behind it, malloc'ed. */
char *graph_add_ending(const char *path, const char *ending);

#endif
