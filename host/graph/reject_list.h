/* reject_list.h — the list of statements that a lenient load left out, in order of the input whatever the number of workers.
 *
 *     # FILE: line 3, column 7: what is wrong
 *     the line itself
 *
 * Threading: reject_list_put waits until all chunks before have been put; the rest by one thread at a time.
 * Memory:    fixed; a list owns a file and a lock until commit or abort.
 * Errors:    QN_IO.
 */
#ifndef HOST_GRAPH_REJECT_LIST_H
#define HOST_GRAPH_REJECT_LIST_H
#include <pthread.h>

#include <quoin/fmt.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/text_buffer.h"

typedef struct reject_list {
    atomic_file file;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint64_t next_serial, end;
    bool is_ended; /* nobody waits any more */
} reject_list;

qn_status reject_list_open(reject_list *list, const char *path, bool is_forced, error_context *err);
/* A new input begins: its chunks count from 0. */
void reject_list_begin(reject_list *list);
/* Adds to a chunk's text. False without memory. */
bool reject_list_note(text_buffer *text, const char *input, const fmt_diag *diag, fmt_str line);
/* Writes the text of chunk `serial`. Every chunk is put, empty or not. */
qn_status reject_list_put(reject_list *list, uint64_t serial, const text_buffer *text, error_context *err);
/* The load has failed: lets all who wait go. */
void reject_list_end(reject_list *list);

qn_status reject_list_commit(reject_list *list, error_context *err);
void reject_list_abort(reject_list *list); /* also after a commit; frees the lock */

#endif
