/* publication.h — may a volume or a set be given away: flags of all its files, and every block looked at.
 *
 * Threading: one thread at a time per call.
 */
#ifndef HOST_GRAPH_PUBLICATION_H
#define HOST_GRAPH_PUBLICATION_H
#include <quoin/q42_files.h>

#include "base/progress.h"
#include "graph/volume.h"

/* Flags of a whole set: Commons only if every file has it, Sanctuary if any has it. Of a single volume its own. */
qn_status publication_flags(graph_volume *volume, uint16_t *out_flags, error_context *err);

/* Prepares a tally for the quins of a volume: its flags, and its lexicon as the judge of names. The tally points at `volume`. */
qn_status publication_begin(graph_volume *volume, q42_publication *out_tally, error_context *err);

/* Reads all blocks. A block that cannot be decoded is counted, not an error. `progress` may be null. */
qn_status publication_scan(graph_volume *volume, progress_fn *progress, void *progress_ctx,
                           q42_publication *out_tally, error_context *err);

/* "block 3, slot 17: context 01ab…" for the witness of a verdict; "" when there is none. Returns `out`. */
#define PUBLICATION_WITNESS_SIZE 160u
const char *publication_describe(const q42_witness *witness, char out[PUBLICATION_WITNESS_SIZE]);

#endif
