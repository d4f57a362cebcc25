/* volume_options.h — what the commands that read volumes share: names of conventions, sizes of memory, folders for temporary files. */
#ifndef HOST_VOLUME_OPTIONS_H
#define HOST_VOLUME_OPTIONS_H
#include <stddef.h>

#include "graph/volume.h"

/* "surface", "bare", "token"; anything else, and null, is found out from the volume. */
term_convention volume_options_terms(const char *name);

/* Bytes of a number with K, M or G behind it (1024 each). QN_BAD_INPUT, naming the option, for anything else and for less than `least`. */
qn_status volume_options_size(const char *name, const char *text, uint64_t least, uint64_t *out_bytes, error_context *err);

/* The same for --memory: 256M when it is null, at least 32M. */
qn_status volume_options_memory(const char *text, uint64_t *out_bytes, error_context *err);

/* Where temporary files go: beside `target`, or when that is null $TMPDIR, or /tmp. May use room[size]. */
const char *volume_options_folder(const char *target, char *room, size_t size);

#endif
