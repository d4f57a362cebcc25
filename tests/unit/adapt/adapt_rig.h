/* adapt_rig.h — a tiny model, adapters made for it in a folder, and its logits on a backend.
 *
 * Elements of adapters are made from a seed and small, so that a model keeps its senses.
 */
#ifndef TEST_ADAPT_RIG_H
#define TEST_ADAPT_RIG_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adapt/adapter_set.h"
#include "corpus.h"
#include "tiny_model.h"

#define RIG_PATH_SIZE (CORPUS_PATH_SIZE + 64)
#define RIG_RANK 3u
#define RIG_MAX_PAIRS 32u

extern char rig_folder[CORPUS_PATH_SIZE];
int rig_make_folder(void **state);
int rig_remove_folder(void **state);
/* folder/name, in one of four rooms that are used in turn. */
const char *rig_path(const char *name);

model *rig_open_model(const char *path);

/* Pairs with owned F32 matrices. */
typedef struct rig_pairs {
    lora_pair pairs[RIG_MAX_PAIRS];
    float *matrices[2 * RIG_MAX_PAIRS];
    uint32_t n;
} rig_pairs;

/* Adds a pair for this place of `m`, rank RIG_RANK, alpha 2. */
lora_pair *rig_add(rig_pairs *list, const model *m, lora_role role, uint32_t layer);
/* Every projection of every layer. */
void rig_add_all(rig_pairs *list, const model *m);
void rig_free(rig_pairs *list);

/* Writes version 2, bound to `m`; version 1 of the first pair; or a GGUF adapter with the first pairs' names as GGUF has them. */
void rig_write_v2(const char *path, const rig_pairs *list, const model *m);
void rig_write_v1(const char *path, const lora_pair *pair);

typedef struct rig_gguf {
    const char *type, *adapter_type, *arch; /* null: as they must be, "llama" */
    blk_type element_type;                  /* of all matrices */
    double alpha;
    const char *extra;                      /* one more tensor of this name, 16 elements; null: none */
    const char *rename_from, *rename_to;    /* this tensor has another name */
    bool is_alora;
} rig_gguf;
void rig_write_gguf(const char *path, const rig_pairs *list, const rig_gguf *how);

/* The same tiny model with the pairs added into its matrices. */
void rig_write_merged(const char *path, const char *arch, const rig_pairs *list, float strength);

#define RIG_TOKENS 9u
typedef struct rig_logits {
    float last[TINY_VOCABULARY];
} rig_logits;

/* Logits behind the rig's own prompt, read in steps of `chunk` tokens. False: there is no such backend. */
bool rig_run(const char *backend, const model *m, const adapter_set *set, uint32_t chunk, rig_logits *out);

/* Fails unless both are as close as f32 sums in another order are. */
void rig_assert_close(const rig_logits *a, const rig_logits *b, const char *what);
/* The greatest difference over the greatest value. */
double rig_distance(const rig_logits *a, const rig_logits *b);

#endif
