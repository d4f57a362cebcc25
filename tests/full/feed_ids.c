/* feed_ids.c — feeds given token ids to a model, one step at a time, and prints the most likely tokens of every step.
 *
 *     feed_ids [options] MODEL <RUNS
 *
 * Each line of standard input is one run from an empty context: PROMPT-IDS|FOLLOWING-IDS, ids separated by commas, the second part
 * possibly empty. Each run gives one line: {"n_prompt":…,"steps":[[[id,logit],…],…]}, the first step after the whole prompt, one more
 * after every following id; the pairs of a step go down by logit. Another engine's ids can be fed this way, whatever this one would
 * have chosen.
 *
 *   -a ARCH   architecture of a P64 that stands alone      -b SPEC  backend          -n CLASS  auto, f32acc, act8
 *   -k TYPE   element type of the KV cache                 -c N     context          -t N      threads
 *   -K N      tokens printed per step (default 10)         -l FILE  all logits of each run's first step, float32, one run after another
 *
 * Exit status: 0 done, 1 anything failed, 2 usage.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <quoin/engine.h>

#define MAX_TOP 64u
#define MAX_IDS (1u << 20)

typedef struct ranked {
    size_t id;
    float logit;
} ranked;

typedef struct feeder {
    quoin_runtime_options runtime_options;
    quoin_model_options model_options;
    quoin_session_options session_options;
    quoin_runtime *runtime;
    quoin_model *model;
    quoin_session *session;
    quoin_error error;
    uint32_t n_top;
    FILE *logits;
    uint32_t *ids; /* [MAX_IDS] prompt and following ids of the current run */
} feeder;

/* The n_top largest of logits[n], larger first and, where equal, the smaller id first; returns how many there are. */
static uint32_t find_top(const float *logits, size_t n, uint32_t n_top, ranked *top) {
    uint32_t found = 0;
    for (size_t id = 0; id < n; id++) {
        if (found == n_top && !(logits[id] > top[found - 1].logit)) {
            continue;
        }
        uint32_t at = found < n_top ? found++ : found - 1;
        for (; at > 0 && logits[id] > top[at - 1].logit; at--) {
            top[at] = top[at - 1];
        }
        top[at] = (ranked){id, logits[id]};
    }
    return found;
}

static bool print_step(feeder *f, bool is_first) {
    ranked top[MAX_TOP];
    size_t n = 0;
    const float *logits = quoin_session_logits(f->session, &n);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(logits[i])) {
            fprintf(stderr, "feed_ids: logit %zu at position %zu is not finite\n", i, quoin_session_length(f->session));
            return false;
        }
    }
    const uint32_t found = find_top(logits, n, f->n_top, top);
    printf("%s[", is_first ? "" : ",");
    for (uint32_t i = 0; i < found; i++) {
        printf("%s[%zu,%.9g]", i > 0 ? "," : "", top[i].id, (double)top[i].logit);
    }
    printf("]");
    if (is_first && f->logits != NULL && fwrite(logits, sizeof *logits, n, f->logits) != n) {
        perror("feed_ids: writing logits");
        return false;
    }
    return true;
}

static bool append(feeder *f, const uint32_t *ids, size_t n) {
    if (quoin_session_append(f->session, ids, n, &f->error) < 0) {
        fprintf(stderr, "feed_ids: %s\n", f->error.text);
        return false;
    }
    return true;
}

static bool run_ids(feeder *f, size_t n_prompt, size_t n_ids) {
    quoin_session_truncate(f->session, 0);
    printf("{\"n_prompt\":%zu,\"steps\":[", n_prompt);
    if (!append(f, f->ids, n_prompt) || !print_step(f, true)) {
        return false;
    }
    for (size_t i = n_prompt; i < n_ids; i++) {
        if (!append(f, f->ids + i, 1) || !print_step(f, false)) {
            return false;
        }
    }
    printf("]}\n");
    return fflush(stdout) == 0;
}

/* Reads ids up to the first character that is neither part of a number nor a comma; adds them behind *n. */
static bool read_ids(const char **text, uint32_t *ids, size_t *n) {
    while (**text >= '0' && **text <= '9') {
        char *end = NULL;
        errno = 0;
        const unsigned long id = strtoul(*text, &end, 10);
        if (errno != 0 || id > UINT32_MAX || *n == MAX_IDS) {
            return false;
        }
        ids[(*n)++] = (uint32_t)id;
        *text = *end == ',' ? end + 1 : end;
    }
    return true;
}

static bool run_line(feeder *f, const char *line) {
    const char *at = line;
    size_t n_ids = 0;
    bool is_right = read_ids(&at, f->ids, &n_ids) && *at == '|';
    const size_t n_prompt = n_ids;
    at += is_right ? 1 : 0;
    is_right = is_right && n_prompt > 0 && read_ids(&at, f->ids, &n_ids) && (*at == '\n' || *at == '\0');
    if (!is_right) {
        fprintf(stderr, "feed_ids: a line must be PROMPT-IDS|FOLLOWING-IDS; column %zu is wrong\n", (size_t)(at - line) + 1);
        return false;
    }
    return run_ids(f, n_prompt, n_ids);
}

static bool run_lines(feeder *f) {
    char *line = NULL;
    size_t capacity = 0;
    bool is_good = true;
    f->ids = calloc(MAX_IDS, sizeof *f->ids);
    while (f->ids != NULL && is_good && getline(&line, &capacity, stdin) > 0) {
        is_good = run_line(f, line);
    }
    is_good = is_good && f->ids != NULL;
    free(line);
    free(f->ids);
    return is_good;
}

static bool open_all(feeder *f, const char *path) {
    if (quoin_runtime_create(&f->runtime_options, &f->runtime, &f->error) < 0 ||
        quoin_model_open(f->runtime, path, &f->model_options, &f->model, &f->error) < 0 ||
        quoin_session_create(f->model, &f->session_options, &f->session, &f->error) < 0) {
        fprintf(stderr, "feed_ids: %s\n", f->error.text);
        return false;
    }
    fprintf(stderr, "%s\n", quoin_runtime_describe(f->runtime));
    return true;
}

static bool read_number(const char *text, uint32_t most, uint32_t *out) {
    char *end = NULL;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    *out = (uint32_t)value;
    return errno == 0 && end != text && *end == '\0' && value > 0 && value <= most;
}

static bool read_option(feeder *f, int letter, const char *value) {
    switch (letter) {
    case 'a': f->model_options.assume = value; return true;
    case 'b': f->runtime_options.backend = value; return true;
    case 'n': f->session_options.numeric = value; return true;
    case 'k': f->session_options.kv = value; return true;
    case 'c': return read_number(value, MAX_IDS, &f->session_options.n_ctx);
    case 't': return read_number(value, 4096, &f->runtime_options.n_threads);
    case 'K': return read_number(value, MAX_TOP, &f->n_top);
    case 'l': f->logits = fopen(value, "wb"); return f->logits != NULL;
    default: return false;
    }
}

int main(int argc, char **argv) {
    feeder f = {.runtime_options = {.size = sizeof f.runtime_options}, .model_options = {.size = sizeof f.model_options},
                .session_options = {.size = sizeof f.session_options}, .error = {.size = sizeof f.error}, .n_top = 10};
    bool is_good = true;
    for (int letter = 0; is_good && (letter = getopt(argc, argv, "a:b:n:k:c:t:K:l:")) != -1;) {
        is_good = read_option(&f, letter, optarg);
    }
    if (!is_good || optind + 1 != argc) {
        fprintf(stderr, "usage: feed_ids [-a ARCH] [-b SPEC] [-n CLASS] [-k TYPE] [-c N] [-t N] [-K N] [-l FILE] MODEL <RUNS\n");
        return 2;
    }
    is_good = open_all(&f, argv[optind]) && run_lines(&f);
    quoin_session_destroy(f.session);
    quoin_model_close(f.model);
    quoin_runtime_destroy(f.runtime);
    if (f.logits != NULL && fclose(f.logits) != 0) {
        perror("feed_ids: writing logits");
        is_good = false;
    }
    return is_good ? 0 : 1;
}
