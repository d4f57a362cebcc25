/* inspect_graph.h — what `inspect` shows of Q42 volumes and the files around them.
 *
 * Threading: one thread at a time.
 */
#ifndef HOST_CLI_INSPECT_GRAPH_H
#define HOST_CLI_INSPECT_GRAPH_H
#include "cli/command.h"
#include "graph/file_kind.h"

typedef struct inspect_options_set {
    fmt_mode mode;
    bool explain;   /* name the quin that closes a volume, with its terms */
    bool shows_all; /* lists are not cut */
} inspect_options_set;

/* An object with everything but "file", "format" and "bytes"; null with c->err set when the file is bad. */
json_t *inspect_volume(command_context *c, const mapped_file *file, const inspect_options_set *options);
/* The same for every kind around volumes. */
json_t *inspect_other(command_context *c, const file_kind *kind, const mapped_file *file,
                      const inspect_options_set *options);

/* The whole object of a file of this kind, "file" first. */
json_t *inspect_graph(command_context *c, const file_kind *kind, const char *path, const inspect_options_set *options);

#endif
