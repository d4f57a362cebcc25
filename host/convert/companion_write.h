/* companion_write.h — the companion volume of a container: what a source says about its model becomes a Q42 file.
 *
 * Two vocabularies stand side by side: the model-helper profile of other programs (rdf:type, q42:…), and the keys as
 * model/companion_map.h has them, with their binding to the container:
 *
 *     rdf:type            "q42:QualiaModelHelper"        q42:bosTokenId, q42:eosTokenId, q42:vocabLen   integers
 *     q42:format          "qualia.q42.model-helper.v1"   q42:addBosToken                                boolean
 *     q42:sourceGguf      file name of the source        q42:stopTokenId, q42:stopTokenString        of each stop token
 *     q42:p64Asset        file name of the container     q42:note                                       three sentences
 *     q42:layout          Verbatim, F16Expand, Q4kSoa    q42:pageLog2, q42:convertedUnixMs              integers
 *     q42:chatFamily      ChatMl, Llama3, Gemma4, Gemma, None
 *     lm:p64MetadataCrc   entry 0 of the container's checksums
 *     lm:p64Sha256        of the whole container         lm:sourceSha256   of the source
 *     lm:ropeType         "adjacent", "half"             lm:dimsOrder      "ggml", "rowmajor"
 *     lm:sourceFormat     "gguf", "safetensors"
 *
 * Threading: one thread at a time.
 * Memory:    the statements are kept in memory while they are sorted; see small_volume.h.
 * Errors:    fmt_status and a diagnosis; the sink's words come back when it fails.
 */
#ifndef HOST_COMPANION_WRITE_H
#define HOST_COMPANION_WRITE_H
#include <quoin/p64.h>
#include <quoin/q42_write.h>

#include "convert/key_image.h"

typedef struct companion_request {
    const key_image *keys;
    const char *p64_name;      /* of the container, without folder */
    uint32_t metadata_crc;
    const uint8_t *p64_sha256; /* [SHA256_BYTES] */
    p64_form form;
    uint32_t page_log2;        /* 0 means 14 */
    uint64_t timestamp_ms;
} companion_request;

/* Gives the whole volume to the sink. FMT_UNSUPPORTED, FMT_LIMIT: a key that a companion cannot hold, by name. */
fmt_status companion_write(const companion_request *request, const q42_sink *sink, q42_write_report *out_report,
                           fmt_diag *diag);

/* Can a companion hold all these keys? Asked before long work; the errors are those of companion_write. */
fmt_status companion_check_keys(const key_image *keys, fmt_diag *diag);

/* The keys of a GGUF file, borrowed; source_sha256 is left to the caller. Nothing is to be freed. */
void key_image_of_gguf(const gguf_file *file, const char *path, key_image *out_image);

#endif
