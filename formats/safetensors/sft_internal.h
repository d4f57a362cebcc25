/* sft_internal.h — what the source files of the Safetensors library share; not for users.
 *
 * Threading: pure functions.
 */
#ifndef SFT_INTERNAL_H
#define SFT_INTERNAL_H
#include <jansson.h>

#include <quoin/safetensors.h>

#include "common/diag.h"

#define SFT_LENGTH_SIZE 8u

typedef uint32_t sft_rule_no;
enum {
#define SFT_RULE(name, id, section, sentence) SFT_R_##name,
#include "rules.def"
#undef SFT_RULE
    SFT_N_RULES
};

#define sft_refuse(diag, status, rule, place, ...) diag_refuse(diag, status, sft_get_rule(rule), place, __VA_ARGS__)
const fmt_rule *sft_get_rule(sft_rule_no rule);

/* Number of the dtype with this name, or SFT_N_DTYPES. */
sft_dtype sft_find_dtype(const char *name);

/* Parses `text`, which stands at byte `at` of the file, as one JSON object without duplicate keys. Null when refused;
 * the caller releases the tree. */
json_t *sft_parse(fmt_span text, uint64_t at, fmt_status *out_status, fmt_diag *diag);

/* Zeroed memory from jansson's allocator, for `count` (may be 0) things of `size` bytes; null when there is none. */
void *sft_allocate(uint64_t count, uint64_t size);
void sft_free(void *memory);

/* Where members stand: a walk over the text of an object that jansson has found right, for the byte offsets that
 * jansson does not keep. Members come in the order in which jansson iterates. */
typedef struct sft_scan {
    fmt_span text;
    uint64_t at;
} sft_scan;

/* A scan of the object whose { is the first character that is no white space from `at` on. */
sft_scan sft_scan_object(fmt_span text, uint64_t at);

/* Next member: where its key (at the quote) and its value begin. False after the last. */
bool sft_scan_member(sft_scan *scan, uint64_t *out_key_at, uint64_t *out_value_at);

/* Everything that an sft_file points to. */
typedef struct sft_memory {
    json_t *root;
    sft_tensor *tensors;
    sft_meta *metadata;
    uint32_t *name_order;
    uint64_t *dims; /* shapes of all tensors, one after another */
} sft_memory;

/* How far reading the header has come. */
typedef struct sft_reading {
    sft_file *file;
    sft_memory *memory;
    fmt_diag *diag;
    uint64_t dims_used;
    fmt_str name;      /* of the entry that is being read */
    uint64_t entry_at;
    uint64_t index;    /* its number in the header, __metadata__ counted */
} sft_reading;

/* Reads one member of the header; r->name, entry_at and index say which. */
fmt_status sft_read_metadata(sft_reading *r, json_t *metadata);
fmt_status sft_read_tensor(sft_reading *r, json_t *entry);

/* The member that is being read, as the place of a diagnosis. */
diag_place sft_place(const sft_reading *r, uint64_t expected, uint64_t got);

#endif
