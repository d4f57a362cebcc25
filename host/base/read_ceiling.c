/* read_ceiling.c — summing words as fast as they come. */
#include "base/read_ceiling.h"

#include <stdint.h>

#include "base/clock.h"

#define LINE_WORDS 8u
/* Streams per worker: several lines in flight from different pages is what a core reads fastest. */
#define N_STREAMS 4u

typedef struct read_job {
    const uint64_t *words;
    uint64_t n_lines;
    volatile uint64_t sink; /* keeps the sums alive */
} read_job;

static uint64_t sum_line(const uint64_t *line) {
    return (line[0] + line[1] + line[2] + line[3]) + (line[4] + line[5] + line[6] + line[7]);
}

static void read_part(void *arg, uint32_t worker, uint32_t n_workers) {
    read_job *job = arg;
    const uint64_t begin = job->n_lines * worker / n_workers, end = job->n_lines * (worker + 1) / n_workers;
    const uint64_t per_stream = (end - begin) / N_STREAMS;
    const uint64_t *at = job->words + begin * LINE_WORDS;
    uint64_t sums[N_STREAMS] = {0};
    for (uint64_t i = 0; i < per_stream; i++) {
        for (uint32_t s = 0; s < N_STREAMS; s++) {
            sums[s] += sum_line(at + (s * per_stream + i) * LINE_WORDS);
        }
    }
    if (sums[0] + sums[1] + sums[2] + sums[3] == 1) {
        job->sink = 1;
    }
}

double read_ceiling_measure(fmt_span span, uint32_t repeats, team *workers) {
    read_job job = {.words = (const uint64_t *)(const void *)span.data, .n_lines = span.size / (LINE_WORDS * 8)};
    double best = 0.0;
    if (job.n_lines == 0) {
        return 0.0;
    }
    for (uint32_t i = 0; i <= repeats; i++) {
        const double begin = clock_seconds();
        team_run(workers, read_part, &job);
        const double seconds = clock_seconds() - begin;
        if (i > 0 && seconds > 0.0 && (double)span.size / seconds > best) {
            best = (double)span.size / seconds;
        }
    }
    return best;
}
