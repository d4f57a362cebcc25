/* spool.h — bytes that are appended now and read later: in memory while they are few, behind that in a spill file.
 *
 * Threading: one thread at a time per spool.
 * Memory:    at most `capacity` bytes a spool, owned by it until spool_close.
 * Errors:    FMT_IO; the words stand in the diagnosis (rule "file").
 */
#ifndef HOST_GRAPH_SPOOL_H
#define HOST_GRAPH_SPOOL_H
#include <stdint.h>

#include <quoin/q42_write.h>

#include "graph/spill_file.h"

typedef struct spool {
    uint8_t *memory;    /* [capacity]: the bytes from file.end on; null until the first append */
    uint64_t capacity, used;
    spill_file file;
} spool;

void spool_init(spool *s, const char *target, uint64_t capacity);
/* What the writer of volumes calls. */
q42_spool spool_as_q42(spool *s);
void spool_close(spool *s);

#endif
