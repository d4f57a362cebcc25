/* turtle_feed.h — Turtle and TriG on their way to libserd: one byte at a time, checked and counted.
 *
 * The feed knows just enough of the grammar to tell strings, IRIs, comments and names apart. It
 *   - checks that the text is UTF-8 without byte order mark, without NUL outside strings, and that brackets are not nested too deeply for
 *     libserd, which recurses,
 *   - puts an x before each label: _:b1 becomes _:xb1. libserd makes labels b1, b2, … itself and would rename, or silently
 *     merge, labels that look like its own,
 *   - puts a space before a full stop that ends a number, a name or a label, which libserd would otherwise take into the
 *     label, or lose the number's datatype over,
 *   - writes a NUL in a string as the escape \u0000, since libserd takes a NUL for the end,
 *   - knows line, column and byte of what was read last, and where the terms of the statement began (turtle_places.h).
 *
 * Threading: one thread at a time.
 * Memory:    160 KiB inside the struct; borrows the source.
 */
#ifndef HOST_GRAPH_TURTLE_FEED_H
#define HOST_GRAPH_TURTLE_FEED_H
#include <stdbool.h>
#include <stdint.h>

#include "graph/byte_source.h"
#include "graph/turtle_places.h"
#include "graph/turtle_rules.h"

#define TURTLE_FEED_END (-1)
#define TURTLE_FEED_SIZE ((size_t)64 << 10)
#define TURTLE_LABEL_START 20u

typedef struct turtle_feed {
    byte_source *source;
    error_context *err;
    qn_status status;          /* of reading the source */
    turtle_rule fault;         /* TURTLE_N_RULES: none; its place is line, column, offset */
    uint64_t line, column;     /* of the byte given last, from 1 */
    uint64_t offset;           /* of the byte given last */
    uint64_t taken;            /* bit k: a label begins like generated ones of prefix k (turtle_generated_prefix) */
    /* private */
    uint64_t next_offset, depth, token;
    size_t at, checked, end;   /* raw: given, known to be UTF-8, read */
    bool has_graphs, is_over, is_escaped, is_label, has_colon;
    uint8_t state, quote, n_quotes, last;
    const char *inserted;      /* what is given out before the next byte; "" nothing */
    size_t label_size;
    char label[TURTLE_LABEL_START];
    turtle_places places;      /* from here on not zeroed */
    uint8_t raw[TURTLE_FEED_SIZE];
} turtle_feed;

/* `has_graphs`: the text is TriG. */
void turtle_feed_start(turtle_feed *feed, byte_source *source, bool has_graphs, error_context *err);

/* The next byte, or TURTLE_FEED_END at the end, after a fault and after an error of the source. */
int turtle_feed_next(turtle_feed *feed);

/* Generated labels begin with one of 64 prefixes: genid, genid1_, genid2_, … The lowest whose bit in `taken` is clear, or
 * 64 when all are taken. */
uint32_t turtle_free_prefix(uint64_t taken);
/* Writes it, terminated. */
void turtle_generated_prefix(uint32_t number, char out[TURTLE_LABEL_START]);

#endif
