/* companion_map.h — how a companion volume says the keys of a model: the one place that writer and reader share.
 *
 * A companion is a Q42 volume whose statements have one subject, the hash of the container's file name, and one
 * context. Terms are plain strings. Each key becomes these statements:
 *
 *     of KEY                                      predicate       object                               metadata
 *     its type; of an array, that of an element   gguf-type:KEY   integer, GGUF's number               place of the key
 *     elements of an array                        gguf-len:KEY    integer                              0
 *     integer of 0 to 2^60 - 1                    gguf:KEY        integer, the 60 bits unsigned        element
 *     boolean                                     gguf:KEY        boolean                              element
 *     string                                      gguf:KEY        the text                             element
 *     32-bit float                                gguf-f32:KEY    integer, the 32 bits                 element
 *     64-bit float                                gguf-txt:KEY    text as C99's %a, NaN with its bits  element
 *     other integer; all elements of an array
 *     that has one                                gguf-txt:KEY    text in decimal                      element
 *     string of more than 32,768 bytes            gguf-part:KEY   a piece that ends where a character  part
 *                                                                 ends
 *     string that is no UTF-8                     gguf-hex:KEY    hexadecimal of up to 16,384 bytes    part
 *
 * The element is 0 for a single value, otherwise the index in the array. The part is the number of the piece; in an
 * array, the index of the element plus that number times 2^32. Arrays of arrays are refused by key.
 *
 * Left out of an array: token types of 1 (normal) and 32-bit scores of 0.0. A key with a type and no value is one of
 * the two that the container holds itself: tokenizer.ggml.tokens and tokenizer.ggml.merges.
 *
 * The type's metadata is the place among the source's keys, so that the keys come back in their order: the keys of a
 * GGUF file are rebuilt byte for byte.
 *
 * Threading: pure over their arguments.
 * Memory:    statements borrow their texts for the call.
 * Errors:    fmt_status and a diagnosis that names the key; it has no byte offset.
 */
#ifndef HOST_COMPANION_MAP_H
#define HOST_COMPANION_MAP_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/gguf.h>
#include <quoin/q42.h>

#include "base/text_buffer.h"

/* ------------------------------------------------------------------------------------------------------------ words */

#define COMPANION_CONTEXT "https://webizen.org/ns/qualia/model-helper/v1"
#define COMPANION_TYPE_WORD "q42:QualiaModelHelper"
#define COMPANION_FORMAT_WORD "qualia.q42.model-helper.v1"
#define COMPANION_TOKENS_KEY "tokenizer.ggml.tokens"
#define COMPANION_MERGES_KEY "tokenizer.ggml.merges"

typedef uint32_t companion_family;
enum {
    COMPANION_VALUE = 0, COMPANION_F32, COMPANION_TXT, COMPANION_HEX, COMPANION_PART, /* values */
    COMPANION_LEN, COMPANION_TYPE,
    COMPANION_N_FAMILIES,
    COMPANION_N_VALUE_FAMILIES = COMPANION_LEN
};

/* "gguf:", "gguf-f32:", … Static. */
const char *companion_prefix(companion_family family);

/* Splits a predicate's text; false when it is none of a key. *out_key borrows from it. */
bool companion_split_predicate(fmt_str predicate, companion_family *out_family, fmt_str *out_key);

/* Inline objects: integers are below 2^60. */
uint64_t companion_integer(uint64_t value);
uint64_t companion_boolean(bool value);
bool companion_get_integer(uint64_t object, uint64_t *out_value); /* false: the object is something else */
bool companion_get_boolean(uint64_t object, bool *out_value);

/* True for the two keys that a container with a tokenizer section holds itself. */
bool companion_is_held_key(fmt_str key);

/* The value that is left out of arrays of this key, with elements of `type`; false when nothing is. */
bool companion_get_omitted(fmt_str key, gguf_type type, uint64_t *out_value);

/* ---------------------------------------------------------------------------------------------------------- numbers */

#define COMPANION_NUMBER_SIZE 40

typedef struct companion_whole {
    uint64_t magnitude;
    bool is_negative;
} companion_whole;

/* Texts of gguf-txt:. Parsing takes only what printing gives. Returns `out`. */
const char *companion_print_whole(companion_whole value, char out[COMPANION_NUMBER_SIZE]);
bool companion_parse_whole(fmt_str text, companion_whole *out_value);
const char *companion_print_f64(uint64_t bits, char out[COMPANION_NUMBER_SIZE]);
bool companion_parse_f64(fmt_str text, uint64_t *out_bits);

/* ---------------------------------------------------------------------------------------------------------- writing */

#define COMPANION_PART_BYTES 32768u
#define COMPANION_HEX_BYTES 16384u /* of the string: twice as many digits */

/* One statement, without subject and context. */
typedef struct companion_statement {
    companion_family family;
    fmt_str key;
    uint64_t metadata;
    bool is_text;    /* the object is the hash of `text`, which goes into the lexicon */
    uint64_t object; /* otherwise: inline */
    fmt_str text;
} companion_statement;

typedef fmt_status companion_put_fn(void *ctx, const companion_statement *statement, fmt_diag *diag);

/* Says one key, whose number in the source is `place`.
 *
 *   is_held   the container holds the value: only the type is said
 *
 * FMT_UNSUPPORTED: an array of arrays. FMT_LIMIT: a name of more than 65,525 bytes, or 2^32 elements. Otherwise what
 * `put` answers. */
fmt_status companion_say_key(const gguf_kv *kv, uint32_t place, bool is_held, companion_put_fn *put, void *ctx,
                             fmt_diag *diag);

/* ---------------------------------------------------------------------------------------------------------- reading */

typedef struct companion_value {
    uint64_t metadata, object;
} companion_value;

/* What is said about one key, by family: ascending by metadata, none twice. */
typedef struct companion_key {
    fmt_str key;
    struct {
        const companion_value *values;
        uint64_t count;
    } said[COMPANION_N_FAMILIES];
} companion_key;

/* Text of a hash; valid until the next call. */
typedef struct companion_texts {
    void *ctx;
    fmt_status (*find)(void *ctx, uint64_t hash, fmt_str *out_text, fmt_diag *diag);
} companion_texts;

#define COMPANION_MAX_IMAGE (UINT64_C(1) << 30) /* bytes of all keys together */
#define COMPANION_MAX_OMITTED (UINT64_C(1) << 24) /* elements of an array that may be left out */

/* Appends the key as it stands in a GGUF file: name, type, value.
 *
 * FMT_BAD_FILE: the statements do not make one value of one type. FMT_LIMIT: over COMPANION_MAX_IMAGE. FMT_NO_SPACE:
 * no memory. *out may have grown. */
fmt_status companion_read_key(const companion_key *key, const companion_texts *texts, text_buffer *out,
                              fmt_diag *diag);

/* Pieces of a GGUF file, for keys that come from elsewhere. */
fmt_status companion_append(text_buffer *out, const void *bytes, uint64_t size, fmt_diag *diag);
fmt_status companion_append_number(text_buffer *out, uint64_t value, uint32_t bytes, fmt_diag *diag);
fmt_status companion_append_string(text_buffer *out, fmt_str text, fmt_diag *diag);

#endif
