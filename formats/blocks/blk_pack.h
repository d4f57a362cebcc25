/* blk_pack.h — the paths by which whole panels are packed: portable C and, where a CPU has them, vectors.
 *
 * Threading: pure.
 */
#ifndef BLK_PACK_H
#define BLK_PACK_H
#include <quoin/panels.h>

/* Packs one panel whose sixteen rows are all there: `rows` is the first of them, the others follow each row_bytes behind. Padding
 * between sections is not touched. False: not a type that this path knows; nothing was written. */
typedef bool blk_pack_fn(const blk_panels *p, uint8_t *panel, const uint8_t *rows, uint64_t row_bytes);

/* The paths that this build has, the slowest first; index 0 is portable. A null name after the last. */
typedef struct blk_pack_path {
    const char *name;       /* "c", "avx2", "avx512" */
    int (*is_usable)(void); /* can this CPU, under this operating system, run it */
    blk_pack_fn *pack;      /* null for "c" */
} blk_pack_path;
extern const blk_pack_path blk_pack_paths[];

/* The path that blk_panels_pack takes on this machine. */
const blk_pack_path *blk_pack_chosen_path(void);

/* blk_panels_pack by a given path, for tests. */
void blk_pack_by(const blk_pack_path *path, const blk_panels *p, uint8_t *panels, uint32_t first, uint32_t last,
                 const uint8_t *tensor, uint64_t first_element);

blk_pack_fn blk_pack_avx2, blk_pack_avx512;

#endif
