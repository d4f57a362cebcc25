/* companion_image.h — the statements of a companion become a GGUF file in memory that has keys and no tensors.
 *
 * Whatever reads the keys of a GGUF file (facts, hyper-parameters, vocabulary, chat template) thus reads those of a
 * companion in the same way: a model runs from its container exactly as from its GGUF.
 *
 * Threading: one thread at a time.
 * Memory:    an image owns its bytes and its index; companion_image_free.
 * Errors:    fmt_status and a diagnosis without a byte offset; *out_image is untouched then.
 */
#ifndef HOST_COMPANION_IMAGE_H
#define HOST_COMPANION_IMAGE_H
#include <stdint.h>

#include <quoin/gguf.h>
#include <quoin/p64.h>

#include "base/text_buffer.h"
#include "model/companion_map.h"

/* A statement about the companion's subject. */
typedef struct companion_item {
    uint64_t predicate, metadata, object;
} companion_item;

typedef struct companion_image {
    gguf_file file;    /* opened; 0 tensors */
    text_buffer bytes; /* what its span shows */
    void *scratch;
} companion_image;

/* Sorts `items` by predicate, metadata and object and takes exact repetitions out. */
void companion_sort_items(companion_item *items, uint64_t *count);

/* Items of a predicate, among sorted ones; null and *out_count 0 when there are none. */
const companion_item *companion_find_items(const companion_item *items, uint64_t n_items, uint64_t predicate,
                                           uint64_t *out_count);

/* Builds the image of sorted items.
 *
 *   texts      finds every predicate's text and every text that is an object
 *   container  for keys whose value it holds (tokens and merges)
 *
 * FMT_BAD_FILE: the first key that is not sound, by name. */
fmt_status companion_image_build(const companion_item *items, uint64_t n_items, const companion_texts *texts,
                                 const p64_file *container, companion_image *out_image, fmt_diag *diag);

/* A zeroed image is legal. */
void companion_image_free(companion_image *image);

#endif
