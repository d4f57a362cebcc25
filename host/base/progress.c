/* progress.c — drawing the bar. */
#include "base/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define WIDTH 32
#define SECONDS_BEFORE_FIRST 1.0
#define SECONDS_BETWEEN 0.1

void progress_begin(progress_bar *bar, const char *label, bool is_silent) {
    const double now = clock_seconds();
    *bar = (progress_bar){.label = label, .is_silent = is_silent || !isatty(STDERR_FILENO), .begin = now, .last = now};
}

void progress_show(progress_bar *bar, uint64_t done, uint64_t total) {
    const double now = bar->is_silent ? 0.0 : clock_seconds();
    if (bar->is_silent || now - bar->begin < SECONDS_BEFORE_FIRST || now - bar->last < SECONDS_BETWEEN) {
        return;
    }
    const double share = total > 0 && done < total ? (double)done / (double)total : 1.0;
    char cells[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++) {
        cells[i] = i < share * WIDTH ? '#' : '.';
    }
    cells[WIDTH] = '\0';
    fprintf(stderr, "\r%s [%s] %3.0f%%", bar->label, cells, share * 100.0);
    fflush(stderr);
    bar->is_drawn = true;
    bar->last = now;
}

void progress_end(progress_bar *bar) {
    if (bar->is_drawn) {
        fprintf(stderr, "\r%*s\r", WIDTH + 40, "");
        fflush(stderr);
        bar->is_drawn = false;
    }
}
