/* file_kind.h — which kind of file this is, and the checks that belong to it; the one table that `verify` and `inspect`
 * go by.
 *
 * A magic is final. Files of models (GGUF, P64, Safetensors) and what nobody knows have no entry: they belong to
 * host/model, whose messages explain them.
 *
 * Threading: detection is pure; verification uses the team, one at a time.
 */
#ifndef HOST_GRAPH_FILE_KIND_H
#define HOST_GRAPH_FILE_KIND_H
#include <stdbool.h>

#include <quoin/q42_files.h>

#include "base/mapped_file.h"
#include "graph/verify_volume.h"

typedef qn_status file_verify_fn(const mapped_file *file, const verify_volume_options *options, team *workers,
                                 volume_report_list *out_list, error_context *err);

typedef struct file_kind {
    const char *name;       /* static: "Q42 volume", "Q42J journal" */
    q42_file_kind q42;      /* Q42_FILE_UNKNOWN for a vault manifest, and for a file that is only named like a volume */
    bool is_vault;
    file_verify_fn *verify; /* as verify_volume: QN_OK whatever the verdict */
} file_kind;

/* The kind of the file at `path`, or null in *out_kind for a file of host/model, a folder, or an unknown one.
 * `is_flat`: a file without any mark whose length fits is bare quins. */
qn_status file_kind_detect(const char *path, bool is_flat, const file_kind **out_kind, error_context *err);

/* Opens the file and makes the checks of its kind. */
qn_status file_kind_verify(const file_kind *kind, const char *path, const verify_volume_options *options, team *workers,
                           volume_report_list *out_list, error_context *err);

#endif
