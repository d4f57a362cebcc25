/* child_process.h — a process that is spawned (never forked), answers on a private pipe, and whose printed words are kept.
 *
 *     child_process c;
 *     if (child_process_start(&c, "/proc/self/exe", argv) == 0) {
 *         while (!child_process_has_ended(&c) || child_process_read(&c, 0)) {
 *             child_process_read(&c, 50);
 *             … look at c.answer, and at the clock …
 *         }
 *         child_process_bury(&c);
 *         child_process_free(&c);
 *     }
 *
 * Its standard input is empty, standard output and standard error are one pipe, the answer goes to descriptor CHILD_ANSWER_FD. It leads a
 * process group of its own, so that what it starts is killed with it; it has no signal blocked, and every signal as it was at first.
 *
 * Threading: one thread at a time per object.
 * Memory:    the answer belongs to the object until child_process_free.
 */
#ifndef HOST_CHILD_PROCESS_H
#define HOST_CHILD_PROCESS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/text_buffer.h"

#define CHILD_ANSWER_FD 3
#define CHILD_WORDS_SIZE 4096
#define CHILD_MOST_ANSWER (256u << 10)

typedef struct child_process {
    pid_t pid;                    /* 0: gone */
    int answer_fd, words_fd;      /* -1: closed */
    text_buffer answer;           /* what came on the pipe and was not taken yet; the pipe is closed when it grows too long */
    char ring[CHILD_WORDS_SIZE];  /* end of what it printed */
    size_t n_printed;
    int exit_status;              /* as waitpid tells it, once it is gone */
} child_process;

/* argv ends with null. Returns 0, or errno; the object is then empty. */
int child_process_start(child_process *out, const char *program, char *const *argv);

/* Waits up to `milliseconds` for something on either pipe and reads it. False when nothing came. */
bool child_process_read(child_process *c, int milliseconds);

/* True once it is gone; its pipes may still hold something. */
bool child_process_has_ended(child_process *c);

/* Takes the first `size` bytes of the answer away. */
void child_process_take(child_process *c, size_t size);

/* Kills what is left of it and its group, waits, and closes the pipes; answer, ring and exit_status stay. */
void child_process_bury(child_process *c);
void child_process_free(child_process *c);

/* The end of what it printed as one line: control characters are blanks, trailing ones dropped. out: [CHILD_WORDS_SIZE]. */
void child_process_words(const child_process *c, char *out);

#endif
