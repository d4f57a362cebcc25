/* byte_source.h — the bytes of a file or of standard input, decompressed when their content says so.
 *
 * gzip, zstd and LZ4 frames are told by their first bytes, whatever the name. Members or frames that follow each other are
 * one stream.
 *
 * Threading: one thread at a time per source, but for byte_source_progress.
 * Memory:    256 KiB and the decoder's own; owned by the source until close.
 * Errors:    QN_NOT_FOUND, QN_DENIED, QN_IO from the system; QN_BAD_FILE for a compressed stream that is cut, damaged or
 *            followed by something else; QN_LIMIT for a zstd window of more than 128 MiB. The message names the input and
 *            the byte of the stored stream.
 */
#ifndef HOST_GRAPH_BYTE_SOURCE_H
#define HOST_GRAPH_BYTE_SOURCE_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"

typedef struct byte_source byte_source;

/* Opens `path`, "-" for standard input, and reads its first bytes. To be closed. */
qn_status byte_source_open(const char *path, byte_source **out_source, error_context *err);
/* The same of a text in memory, which is borrowed until close and `name` names. */
qn_status byte_source_open_text(fmt_str text, const char *name, byte_source **out_source, error_context *err);
void byte_source_close(byte_source *source); /* null is legal */

/* Fills buffer[room]; less only at the end, where *out_size becomes 0 at last. */
qn_status byte_source_read(byte_source *source, void *buffer, uint64_t room, uint64_t *out_size, error_context *err);

/* Back to the first byte; false when the input can be read only once (a pipe). */
bool byte_source_rewind(byte_source *source);

const char *byte_source_name(const byte_source *source);
/* Stored bytes read so far, and all of them (0: not known). [any-thread] */
void byte_source_progress(byte_source *source, uint64_t *out_read, uint64_t *out_size);

#endif
