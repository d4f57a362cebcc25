/* model.h — an opened model file: its tensors by name, its facts, its tokenizer; checked, not yet placed on any device.
 *
 * The kind of file is told by its magic, never by its name; a P64 that fails is never tried as anything else.
 *
 * Threading: immutable once opened; thread-safe.
 * Memory:    owned by the model: the mapping, the format's scratch, the tensor index, the tokenizer.
 */
#ifndef HOST_MODEL_H
#define HOST_MODEL_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/blocks.h>
#include <quoin/gguf.h>
#include <quoin/p64.h>
#include <quoin/panels.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "base/team.h"
#include "model/arch/arch.h"
#include "model/companion.h"
#include "model/facts_gguf.h"
#include "model/hparams.h"
#include "model/vocabulary.h"
#include "text/tokenizer.h"

typedef uint32_t model_format;
enum { MODEL_GGUF = 1, MODEL_P64 = 2 };

#define MODEL_NO_INDEX UINT32_MAX
#define MODEL_MAX_FACTORS 3u

typedef struct model_tensor {
    fmt_str name;       /* as the file spells it */
    uint64_t hash;      /* low 60 bits of FNV-1a-64 of the source name */
    blk_type type;      /* of the elements, whatever the arrangement */
    bool is_in_panels;  /* `data` are panels of that type (panels.h), not standard blocks */
    uint32_t rank;
    uint64_t dims[4];   /* dims[0] contiguous; 1 from rank on */
    const uint8_t *data;
    uint64_t bytes;
    uint64_t at;        /* byte offset in the file */
    const mapped_file *file; /* that `data` lies in; null: in memory */
    uint32_t index;     /* number in the file's own table; MODEL_NO_INDEX: made from facts, no part of the file */
} model_tensor;

typedef struct model_options {
    fmt_mode mode;            /* strictness of the format reader */
    bool skip_integrity;      /* do not read the blobs at open: the caller checks each before use, or only inspects */
    bool skip_weight_check;   /* --no-weight-check */
    progress_fn *progress;    /* of checking the weights; false ends the opening with QN_CANCELLED; may be null */
    void *progress_ctx;
    const char *companion;    /* --companion: the companion volume of a P64; null = beside it, by its name */
    const char *assume;       /* --assume: architecture of a P64 without companion; null = refuse */
    bool vocabulary_only;     /* tokenizer only: weights may be missing */
    bool container_only;      /* format and tensors only: facts, tokenizer and architecture are not looked at */
    fmt_note_fn *note;        /* findings that do not refuse; may be null */
    void *note_ctx;
} model_options;

typedef struct model {
    mapped_file file;
    model_format format;
    void *scratch;            /* of the format reader */
    gguf_file gguf;           /* when format is MODEL_GGUF */
    p64_file p64;             /* when format is MODEL_P64 */
    companion companion;      /* of a P64; read unless container_only */
    facts facts;              /* keys of the GGUF, or of the companion, or what a P64 alone can tell */
    bool is_raw;              /* a container made of Safetensors: names, Q/K rows and norms as Hugging Face has them */
    float *factors[MODEL_MAX_FACTORS]; /* owned: tensors that are made from facts */
    p64_facts alone;          /* behind `facts` when a P64 stands alone */
    uint32_t n_tensors;
    model_tensor *tensors;    /* [n_tensors], sorted by hash */
    const arch_traits *arch;  /* null when vocabulary_only */
    hparams hparams;
    vocabulary *words;        /* storage behind the tokenizer; null when the file has none */
    tokenizer *tok;           /* null when the file has none */
    fmt_str chat_template;    /* size 0 when the file has none */
    struct model *panels;     /* owned: a container that the tensors' bytes are taken from, or null (model_panels.h) */
    uint64_t weight_bytes;    /* sum of all tensors */
    double check_seconds;     /* spent on checksums and weight checks */
} model;

/* Opens, checks everything that can be checked without a device, and answers the first fault. `workers` share the
 * checking of the weights; may be null (this thread alone). */
qn_status model_open(const char *path, const model_options *options, team *workers, model **out_model,
                     error_context *err);
void model_close(model *m);

/* Reads all weights with the team as model_open does, for a model that was opened with skip_integrity. */
qn_status model_check_weights(model *m, const model_options *options, team *workers, error_context *err);

/* QN_OK, or QN_IO when a page of a file of the model could not be read (mapped_file_check). */
qn_status model_check_files(const model *m, error_context *err);

/* The tensor with this GGUF name, or null. */
const model_tensor *model_find(const model *m, const char *name);

/* Lays the tensor out as panels; false when it is not in panels. */
bool model_tensor_panels(const model_tensor *tensor, blk_panels *out);

/* QN_OK when the tensor's type can be computed with; QN_BAD_FILE, naming tensor and type, when it can only be kept. */
qn_status model_check_type(const model *m, const model_tensor *tensor, error_context *err);

/* Ids that end an answer: those of stop_set_from_vocabulary, then those that a P64 or its companion stores; with a
 * companion only control tokens, so that the set is that of the source. No id twice; returns how many. */
uint32_t model_stop_ids(const model *m, uint32_t *out_ids, uint32_t room);

/* The keys of the model as a GGUF file: its own, or those of a P64's companion; null for a P64 alone. */
const gguf_file *model_keys(const model *m);

/* "P64" or "GGUF". */
const char *model_format_name(model_format format);

#endif
