/* lora_internal.h — what the source files of the LoRA library share; not for users.
 *
 * Threading: pure functions.
 */
#ifndef LORA_INTERNAL_H
#define LORA_INTERNAL_H
#include <quoin/lora.h>

#include "common/diag.h"

/* Offsets in a header of version 1. */
#define LORA_V1_ID_AT 8u
#define LORA_V1_RANK_AT 12u
#define LORA_V1_ALPHA_AT 16u
#define LORA_V1_IN_AT 20u
#define LORA_V1_OUT_AT 24u
#define LORA_V1_DIGEST_AT 32u

/* Offsets in a header of version 2. */
#define LORA_COUNT_AT 8u
#define LORA_ZERO_AT 12u
#define LORA_FILE_BYTES_AT 16u
#define LORA_DATA_AT_AT 24u
#define LORA_BASE_AT 32u
#define LORA_DIGEST_AT 64u
#define LORA_TABLE_CRC_AT 96u
#define LORA_REST_AT 100u
#define LORA_HEADER_CRC_AT 124u

/* Offsets in an entry. */
#define LORA_ENTRY_ROLE_AT 0u
#define LORA_ENTRY_LAYER_AT 4u
#define LORA_ENTRY_RANK_AT 8u
#define LORA_ENTRY_ALPHA_AT 12u
#define LORA_ENTRY_IN_AT 16u
#define LORA_ENTRY_OUT_AT 20u
#define LORA_ENTRY_DTYPE_AT 24u
#define LORA_ENTRY_ZERO_AT 28u
#define LORA_ENTRY_A_AT 32u
#define LORA_ENTRY_B_AT 40u

typedef uint32_t lora_rule_no;
enum {
#define LORA_RULE(name, id, section, sentence) LORA_R_##name,
#include "rules.def"
#undef LORA_RULE
    LORA_N_RULES
};

#define lora_refuse(diag, status, rule, place, ...) diag_refuse(diag, status, lora_get_rule(rule), place, __VA_ARGS__)
const fmt_rule *lora_get_rule(lora_rule_no rule);

/* Where the members of an entry stand in the file, for diagnoses: version 1 has them in its header. */
typedef struct lora_places {
    uint64_t rank_at, alpha_at, in_at, out_at;
    uint64_t index;
} lora_places;

/* Rank, alpha and dimensions, and the bytes of both matrices, which are set. `refused` is the status of a refusal. */
fmt_status lora_check_shape(lora_entry *entry, const lora_places *places, fmt_status refused, fmt_diag *diag);

/* Role, layer and element type. `at`: where the entry stands. */
fmt_status lora_check_place(const lora_entry *entry, uint64_t at, uint64_t index, fmt_status refused, fmt_diag *diag);

/* Puts A and B of the entry behind `*end` and moves it. False when they do not fit in 64 bits. */
bool lora_place_matrices(lora_entry *entry, uint64_t *end);

fmt_status lora_open_v1(fmt_span span, lora_file *out_file, fmt_diag *diag);
fmt_status lora_open_v2(fmt_span span, lora_file *out_file, fmt_diag *diag);
lora_entry lora_read_entry_v1(fmt_span span);
lora_entry lora_read_entry_v2(fmt_span span, uint32_t index);

#endif
