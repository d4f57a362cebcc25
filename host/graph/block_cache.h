/* block_cache.h — the blocks that were decoded last, a fixed number of them, so that look-ups beside each other decode once.
 *
 * Threading: one thread at a time per cache.
 * Memory:    BLOCK_CACHE_SIZE decoded blocks, whatever the volume's size.
 */
#ifndef HOST_GRAPH_BLOCK_CACHE_H
#define HOST_GRAPH_BLOCK_CACHE_H
#include "graph/volume.h"

#define BLOCK_CACHE_SIZE 32u

typedef struct block_cache block_cache;

/* Null without memory. */
block_cache *block_cache_create(graph_volume *volume);
void block_cache_destroy(block_cache *cache); /* null is legal */

/* Block `block` of member `member`, its order and parity checked. Valid until the next call. *io_decoded is counted up when it had to
 * be decoded. */
qn_status block_cache_get(block_cache *cache, uint32_t member, uint64_t block, const q42_block **out_block,
                          uint64_t *io_decoded, error_context *err);

#endif
