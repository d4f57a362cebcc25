/* cf_run.h — running one test and telling what came of it, line by line.
 *
 *     case 3 n 17, k 33          the case that begins now
 *     note WORDS
 *     fact KEY WORDS             device, driver, version, …: told once by cf_open
 *     cover OP FORMAT VERDICT IS_TESTED
 *     measure NAME VALUE UNIT
 *     end RESULT N_CASES WORDS   RESULT: pass, fail, unsupported
 *
 * Words are one line: a line break or control character in them is written as \n or as a blank. The same lines go through a pipe
 * from a child, or straight to the caller for --in-process.
 *
 * Threading: cf_run_test on one thread; lines may come from any thread of the test, one at a time.
 */
#ifndef CF_RUN_H
#define CF_RUN_H
#include <pthread.h>
#include <setjmp.h>

#include "conform.h"

#define CF_LINE_SIZE 4096

/* Takes one line, with its line break. */
typedef void cf_tell_fn(void *arg, const char *line, size_t size);

typedef struct cf_run {
    cf_tell_fn *tell;
    void *tell_arg;
    uint64_t only_case;     /* number of the one case that is wanted; 0: all */
    uint64_t n_cases;       /* begun so far */
    uint64_t n_run;         /* of these, not passed over */
    char label[512];        /* of the present case; "" before the first */
    pthread_t thread;       /* the test's own */
    pthread_mutex_t lock;
    jmp_buf leave;
    bool has_ended;
    bool has_failed;        /* on another thread of the test */
    bool has_told_facts;
    char words[CF_LINE_SIZE - 256]; /* of the result */
    const char *result;
} cf_run;

/* Runs ctx->test; tells its lines, the last of which is `end`. ctx->run need not be set. True when it passed. */
bool cf_run_test(cf_context *ctx, cf_tell_fn *tell, void *tell_arg, uint64_t only_case);

/* Words that stand before a failure from now on, outside any case; "" for none. */
void cf_label(cf_context *ctx, const char *words);

/* Tells "fact KEY WORDS". */
void cf_fact(cf_context *ctx, const char *key, const char *words);

#endif
