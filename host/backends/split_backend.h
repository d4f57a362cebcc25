/* split_backend.h — two opened backends as one: the first runs the first layers, the second the rest.
 *
 * The result is a backend like any other, with a table of verbs that hands each part to whom it belongs; nobody above it knows. Hidden
 * rows go through host memory once a step. Extensions and taps of the border are not offered.
 *
 * Threading: as the verbs of both.
 * Memory:    owns both backends from split_backend_open on.
 */
#ifndef HOST_SPLIT_BACKEND_H
#define HOST_SPLIT_BACKEND_H
#include "backends/backend.h"

/* Moves both into *out, which backend_close closes. n_layers >= 1. On error (no memory) both are closed. */
qn_status split_backend_open(backend *first, backend *second, uint32_t n_layers, backend *out, error_context *err);

#endif
