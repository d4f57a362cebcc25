/* adapter.h — a LoRA adapter read from a file, whatever its form, and what it changes in a model.
 *
 *     LoRA version 1   changes the embedding; names no model
 *     LoRA version 2   changes projections; names its model by the SHA-256 of the file
 *     GGUF adapter     changes projections; names an architecture
 *
 * All become a list of pairs in memory: matrices as F32 or F16, copied, so that the file is needed no more. Whether they fit a
 * model is another question, asked by adapter_fit.
 *
 * Threading: one thread makes and closes; an adapter that was made is immutable.
 * Memory:    owned by the adapter: all its matrices. They are borrowed by deltas made of it.
 * Errors:    QN_BAD_FILE with the rule that is broken; QN_UNSUPPORTED, naming it, for what this program does not apply.
 */
#ifndef HOST_ADAPTER_H
#define HOST_ADAPTER_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/lora.h>

#include "base/error.h"
#include "model/deltas.h"

typedef uint32_t adapter_form;
enum { ADAPTER_LORA_V1 = 1, ADAPTER_LORA_V2 = 2, ADAPTER_GGUF = 3 };

#define ADAPTER_WORD_SIZE 64

/* Memory of an adapter's matrices. */
typedef struct adapter_block {
    void *data;
    uint64_t size;
} adapter_block;

typedef struct adapter {
    char *path;               /* owned copy */
    adapter_form form;
    uint64_t file_bytes;
    uint8_t digest[LORA_DIGEST_BYTES]; /* SHA-256 of the file */
    uint8_t base[LORA_DIGEST_BYTES];   /* version 2: SHA-256 of its model */
    char architecture[ADAPTER_WORD_SIZE]; /* GGUF: general.architecture; "" otherwise */
    uint32_t n_ignored;       /* GGUF: tensors of norms, which are no pairs and are left out */
    char first_ignored[ADAPTER_WORD_SIZE]; /* the name of one, cut when long */
    uint32_t n_pairs;
    lora_pair *pairs;         /* [n_pairs], ascending as lora_compare has it */
    uint64_t bytes;           /* of all matrices in memory */
    adapter_block *blocks;    /* private: [n_blocks], what the matrices lie in */
    uint32_t n_blocks;
} adapter;

/* True for a file that begins as an adapter does: LORA, or a GGUF file whose general.type is "adapter". False also when the
 * file cannot be read: whoever opens it next says why. */
bool adapter_is_file(const char *path);

/* True for a file that begins with LORA. */
bool adapter_is_lora(const char *path);

/* Reads and checks the whole file: every rule, digest, that all elements are finite. */
qn_status adapter_open(const char *path, adapter *out_adapter, error_context *err);
void adapter_close(adapter *a);

/* Every matrix is zeros afterwards: for who must leave nothing in memory. Only once no program uses them; close comes after. */
void adapter_scrub(adapter *a);

/* "LoRA version 2", … */
const char *adapter_form_name(adapter_form form);

/* ---------------------------------------------------------------- in a model */

/* The changes that an adapter makes in one model. */
typedef struct adapter_fitting {
    model_delta *deltas;      /* [n_deltas], owned; their matrices are the adapter's */
    uint32_t n_deltas;
} adapter_fitting;

/* Makes the changes, `strength` times as strong as the file says. All or nothing: QN_BAD_FILE, saying which pair and both
 * shapes, when one of them has no place, or when architecture or model are not those that the adapter names.
 *
 *   base   SHA-256 of the model's file; may be null for forms that name no model
 *
 * A matrix of several roles is taken apart. Rows of Q and K of a GGUF adapter are brought into the order of a container that was
 * made of Safetensors; they are changed in place, so an adapter is fitted to one model only. */
qn_status adapter_fit(adapter *a, const model *m, const uint8_t *base, float strength, adapter_fitting *out_fitting,
                      error_context *err);
void adapter_fitting_free(adapter_fitting *f);

/* SHA-256 of the model's file, read once from end to end: about a second for each GB where the processor has no instructions
 * for it, half of it and less where it does. */
qn_status adapter_digest_model(const model *m, uint8_t out[LORA_DIGEST_BYTES], error_context *err);

/* Writes the adapter as version 2, bound to `m`, after fitting it. Pairs keep their form: what was one matrix stays one. The file
 * appears whole or not at all; an existing one is replaced only when `is_forced`. */
qn_status adapter_bind(adapter *a, const model *m, const char *path, bool is_forced, error_context *err);

#endif
