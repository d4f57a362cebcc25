/* layout_auto.h — convert --layout auto: a backend that times the layouts, and the table of what it measured.
 *
 * What is chosen, and by which rule, is convert/layout_choice.h; how it is timed, bench/layout_speed.h.
 *
 * Threading: one thread at a time.
 * Memory:    the caller's struct; what layout_auto_choose has made is freed by layout_auto_end, also on a zeroed one.
 */
#ifndef HOST_LAYOUT_AUTO_H
#define HOST_LAYOUT_AUTO_H
#include "cli/command.h"
#include "convert/layout_choice.h"

typedef struct layout_auto {
    command_context *c;
    const char *output; /* the container's path: what is timed lies beside it for a moment */
    bool is_forced;     /* it may be there already */
    bool may_convert;   /* --weights auto */
    bool is_chosen;     /* choice is valid */
    layout_choice choice;
} layout_auto;

/* Opens the backend that would run the model; c, output, is_forced and may_convert are set. Where none can be opened this is told and the layout will be packed; only one that the
 * user named is an error. */
qn_status layout_auto_begin(layout_auto *a);
void layout_auto_end(layout_auto *a);

/* Sets options->layout and options->form. Where nothing can be measured they become packed and what was asked for, and this is told.
 * FMT_CANCELLED: the user said so; FMT_IO: the output cannot be written; other statuses are those of planning. [may block] */
fmt_status layout_auto_choose(layout_auto *a, const p64_source *source, p64_write_options *options, fmt_diag *diag);

/* What was measured, and the choice: a new reference, null when nothing was chosen here. */
json_t *layout_auto_json(const layout_auto *a);
/* The same as lines; false when they do not arrive. */
bool layout_auto_print(const layout_auto *a);

#endif
