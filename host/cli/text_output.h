/* text_output.h — text that goes to standard output or into a file, compressed when the file's name ends in .gz or .zst.
 *
 * A file appears whole, or not at all.
 *
 * Threading: one thread at a time. Memory: owned until text_output_end or text_output_abort.
 */
#ifndef HOST_TEXT_OUTPUT_H
#define HOST_TEXT_OUTPUT_H
#include <stdbool.h>
#include <stddef.h>

#include "base/atomic_file.h"
#include "base/error.h"

typedef struct text_output {
    const char *path;       /* null: standard output */
    atomic_file file;
    uint64_t at;            /* bytes written to the file */
    struct z_stream_s *gzip; /* null unless the name says so */
    struct ZSTD_CCtx_s *zstd;
    bool is_open;
    bool is_broken;         /* standard output takes no more; command_write has told it */
} text_output;

/* `path` null or "-": standard output. */
qn_status text_output_begin(text_output *output, const char *path, bool is_forced, error_context *err);
/* False when it cannot be written; *err says why. */
bool text_output_write(void *output, const char *text, size_t size, error_context *err);
/* The file is there, or nothing has changed. */
qn_status text_output_end(text_output *output, error_context *err);
/* Nothing is left; does nothing when it has ended. */
void text_output_abort(text_output *output);

#endif
