/* volume_files.h — the inside of a graph_volume, shared by the files that make it. */
#ifndef HOST_GRAPH_VOLUME_FILES_H
#define HOST_GRAPH_VOLUME_FILES_H
#include <pthread.h>
#include <stdatomic.h>

#include "graph/volume.h"

typedef struct graph_file {
    char *path;
    mapped_file file;
    q42_volume volume;
    atomic_uchar *checked; /* [n_pages / 8 + 1] bits: pages of its lexicon that have passed */
    atomic_bool is_open;
} graph_file;

struct graph_volume {
    fmt_mode mode;
    term_convention terms;
    bool has_mark;
    graph_file root;
    uint32_t n_segments, n_shards; /* of a set */
    q42_segment *records;          /* [n_segments + n_shards] */
    graph_file *files;             /* [n_segments + n_shards], opened when needed */
    pthread_mutex_t lock;          /* for opening them */
};

/* Segment or shard `index`, opened and held against its record. */
qn_status graph_file_get(graph_volume *volume, uint32_t index, graph_file **out_file, error_context *err);
/* Checks a lexicon page unless it has passed before. */
qn_status graph_file_check_page(graph_file *file, uint64_t page, error_context *err);

#endif
