/* progress.h — a bar on standard error, only when it is a terminal and the work takes over a second.
 *
 * Threading: one thread at a time per bar.
 * Memory:    the struct; nothing is allocated.
 */
#ifndef HOST_PROGRESS_H
#define HOST_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

/* How long work tells how far it is; false asks it to stop. Called on one thread only. */
typedef bool progress_fn(void *ctx, uint64_t done, uint64_t total);

typedef struct progress_bar {
    const char *label;
    bool is_silent;
    bool is_drawn;
    double begin, last; /* seconds */
} progress_bar;

void progress_begin(progress_bar *bar, const char *label, bool is_silent);
void progress_show(progress_bar *bar, uint64_t done, uint64_t total);
void progress_end(progress_bar *bar); /* wipes the line */

#endif
