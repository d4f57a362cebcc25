/* key_image.h — everything that a source of weights says about its model beside the weights, as GGUF keys.
 *
 * A GGUF file has the keys itself. A folder of Safetensors (config.json, tokenizer.json and their neighbours) is
 * translated: the keys that a converter to GGUF would write for it are written as a GGUF file in memory that has no
 * tensors, and opened like any other. Whoever writes a companion volume, reads hyper-parameters or builds a tokenizer
 * thus knows one form only.
 *
 *     source        keys come from       tokens and merges stand in    Q and K rows      dimensions
 *     GGUF          the file             the container (Q42T)          as its rope_type  ggml
 *     Safetensors   the image in memory  the companion volume          half              rowmajor
 *
 * Threading: one thread at a time while it is made; immutable afterwards.
 * Memory:    an image made of a folder owns its bytes; one made of a GGUF borrows the file. key_image_free for both.
 *
 *     key_image image;
 *     QN_TRY(key_image_from_folder(&folder, &image, err), err, "translating %s", path);
 *     for (uint64_t i = 0; i < image.file.n_kv; i++) { keep(&image.file.kvs[i]); }
 *     key_image_free(&image);
 */
#ifndef HOST_KEY_IMAGE_H
#define HOST_KEY_IMAGE_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/gguf.h>

#include "base/error.h"
#include "common/sha.h"
#include "convert/hf_folder.h"

typedef struct key_image {
    gguf_file file;            /* walk file.kvs; an image of a folder has no tensors */
    const char *rope_type;     /* "adjacent" or "half": which elements of a head RoPE turns together. Static */
    const char *dims_order;    /* "ggml" or "rowmajor": how the container stores dimensions. Static */
    const char *source_format; /* "gguf" or "safetensors". Static */
    const char *source_name;   /* file name without folder; of several shards, the index's. Borrowed from the source */
    uint8_t source_sha256[SHA256_BYTES]; /* of the weight file; of several, of all their bytes in the order of their names */
    bool holds_tokenizer;      /* the container has no tokenizer section: tokens and merges are kept with the other keys */
    void *bytes, *scratch;     /* owned; null when the GGUF file is the caller's */
} key_image;

/* Translates the folder's JSON files. QN_UNSUPPORTED: an architecture, RoPE scaling or tokenizer that this program does
 * not run, by name. QN_BAD_FILE: a missing or impossible value, with file and key. [may block: it hashes the weights] */
qn_status key_image_from_folder(const hf_folder *folder, key_image *out_image, error_context *err);

/* Gives the owned memory back; a zeroed image is legal. */
void key_image_free(key_image *image);

#endif
