/* cf_run.c — cases, results and the lines that tell them. */
#include "core/cf_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Lines ------------------------------------------------------------------------------------------------------------ */

/* Line breaks become \n, other control characters blanks. Returns the bytes written, without terminator. */
static size_t put_on_one_line(char *out, size_t room, const char *words) {
    size_t n = 0;
    for (const char *at = words; *at != '\0' && n + 3 < room; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c == '\n') {
            out[n++] = '\\';
            out[n++] = 'n';
        } else {
            out[n++] = c < ' ' || c == 0x7f ? ' ' : *at;
        }
    }
    out[n] = '\0';
    return n;
}

static void tell(cf_run *run, const char *head, const char *words) {
    char line[CF_LINE_SIZE];
    const int begin = snprintf(line, sizeof line / 2, "%s%s", head, words[0] != '\0' ? " " : "");
    size_t n = begin < 0 || (size_t)begin >= sizeof line / 2 ? sizeof line / 2 - 1 : (size_t)begin;
    n += put_on_one_line(line + n, sizeof line - n - 1, words);
    line[n++] = '\n';
    pthread_mutex_lock(&run->lock);
    run->tell(run->tell_arg, line, n);
    pthread_mutex_unlock(&run->lock);
}

void cf_fact(cf_context *ctx, const char *key, const char *words) {
    char head[64];
    snprintf(head, sizeof head, "fact %s", key);
    tell(ctx->run, head, words);
}

void cf_note(cf_context *ctx, const char *format, ...) {
    char words[CF_LINE_SIZE - 256];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    tell(ctx->run, "note", words);
}

void cf_cover(cf_context *ctx, uint32_t op, uint32_t format, uint32_t verdict, bool is_tested) {
    char words[64];
    snprintf(words, sizeof words, "%u %u %u %d", op, format, verdict, is_tested);
    tell(ctx->run, "cover", words);
}

void cf_measure(cf_context *ctx, const char *name, double value, const char *unit) {
    char words[256];
    snprintf(words, sizeof words, "%s %.6g %s", name, value, unit);
    tell(ctx->run, "measure", words);
}

/* --- Cases ------------------------------------------------------------------------------------------------------------ */

void cf_label(cf_context *ctx, const char *words) {
    snprintf(ctx->run->label, sizeof ctx->run->label, "%s", words);
    tell(ctx->run, "case 0", words);
}

bool cf_case(cf_context *ctx, const char *format, ...) {
    cf_run *run = ctx->run;
    char head[64];
    va_list args;
    run->n_cases++;
    if (run->only_case != 0 && run->n_cases != run->only_case) {
        return false;
    }
    run->n_run++;
    va_start(args, format);
    vsnprintf(run->label, sizeof run->label, format, args);
    va_end(args);
    snprintf(head, sizeof head, "case %llu", (unsigned long long)run->n_cases);
    tell(run, head, run->label);
    return true;
}

/* --- Results ---------------------------------------------------------------------------------------------------------- */

/* The words, behind those of the case. */
static void take_words(cf_run *run, const char *result, const char *format, va_list args) {
    int n = run->label[0] == '\0' ? 0 : snprintf(run->words, sizeof run->words, "%s: ", run->label);
    n = n < 0 || (size_t)n >= sizeof run->words ? 0 : n;
    vsnprintf(run->words + n, sizeof run->words - (size_t)n, format, args);
    run->result = result;
}

void cf_fail(cf_context *ctx, const char *format, ...) {
    cf_run *run = ctx->run;
    const bool is_own = pthread_equal(pthread_self(), run->thread);
    va_list args;
    pthread_mutex_lock(&run->lock);
    if (!run->has_failed) {
        va_start(args, format);
        take_words(run, "fail", format, args);
        va_end(args);
    }
    run->has_failed = true;
    pthread_mutex_unlock(&run->lock);
    if (!is_own) {
        pthread_exit(NULL);
    }
    longjmp(run->leave, 1); /* lint: a failed test leaves from wherever it is, as every test framework does */
}

void cf_unsupported(cf_context *ctx, const char *format, ...) {
    va_list args;
    va_start(args, format);
    take_words(ctx->run, "unsupported", format, args);
    va_end(args);
    longjmp(ctx->run->leave, 1); /* lint: as cf_fail */
}

void cf_join(cf_context *ctx) {
    pthread_mutex_lock(&ctx->run->lock);
    const bool has_failed = ctx->run->has_failed;
    pthread_mutex_unlock(&ctx->run->lock);
    if (has_failed) {
        longjmp(ctx->run->leave, 1); /* lint: as cf_fail */
    }
}

static void tell_end(cf_run *run) {
    char head[64];
    snprintf(head, sizeof head, "end %s %llu", run->result, (unsigned long long)run->n_run);
    tell(run, head, run->words);
}

bool cf_run_test(cf_context *ctx, cf_tell_fn *tell_line, void *tell_arg, uint64_t only_case) {
    static cf_run run; /* one test at a time, and longjmp leaves automatic variables undefined */
    memset(&run, 0, sizeof run);
    pthread_mutex_init(&run.lock, NULL);
    run.tell = tell_line;
    run.tell_arg = tell_arg;
    run.only_case = only_case;
    run.thread = pthread_self();
    run.result = "pass";
    ctx->run = &run;
    if (setjmp(run.leave) == 0) {
        ctx->test->run(ctx);
        cf_join(ctx);
        if (only_case != 0 && run.n_run == 0) {
            run.label[0] = '\0';
            cf_fail(ctx, "there is no case %llu; the test has %llu", (unsigned long long)only_case, (unsigned long long)run.n_cases);
        }
    }
    tell_end(&run);
    ctx->run = NULL;
    return strcmp(run.result, "pass") == 0;
}

/* --- Random numbers --------------------------------------------------------------------------------------------------- */

uint64_t cf_random_next(cf_random *random) {
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint32_t cf_random_below(cf_random *random, uint32_t n) {
    return (uint32_t)((cf_random_next(random) >> 32) * n >> 32);
}

cf_random cf_random_make(const cf_context *ctx, uint64_t salt) {
    cf_random random = {ctx->seed * UINT64_C(0xd1342543de82ef95) + salt};
    cf_random_next(&random);
    return random;
}
