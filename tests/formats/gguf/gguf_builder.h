/* gguf_builder.h — a small right GGUF file, described so that a test can break one thing of it and still know where
 * everything stands. It shares no code with the library's writer.
 *
 *     model m = model_make();
 *     m.tensors[1].dims[0] = 33;
 *     model_build(&m, &built);
 */
#ifndef TEST_GGUF_BUILDER_H
#define TEST_GGUF_BUILDER_H
#include <stdbool.h>

#include <quoin/gguf.h>

#define MODEL_MAX 8
#define MODEL_PAYLOAD 512
#define MODEL_BYTES 8192
#define MODEL_AS_IS UINT64_MAX

typedef struct model_kv {
    const char *key;
    uint64_t key_size; /* as written; the bytes written are the key's own */
    uint32_t type;
    uint8_t payload[MODEL_PAYLOAD];
    size_t payload_size;
} model_kv;

typedef struct model_tensor {
    const char *name;
    uint64_t name_size;
    uint32_t rank; /* as written; dims written: rank, at most MODEL_MAX */
    uint64_t dims[MODEL_MAX];
    uint32_t type;
    uint64_t offset;
} model_tensor;

typedef struct model {
    char magic[4];
    uint32_t version;
    uint64_t n_kv_said, n_tensors_said; /* MODEL_AS_IS: the true ones */
    size_t n_kv, n_tensors;
    model_kv kvs[MODEL_MAX];
    model_tensor tensors[MODEL_MAX];
    uint64_t alignment; /* of the data start */
    size_t data_size;
    size_t cut; /* bytes taken from the end */
} model;

typedef struct built_model {
    uint8_t bytes[MODEL_BYTES];
    fmt_span span;
    uint64_t kv_at[MODEL_MAX], value_at[MODEL_MAX]; /* the length word of the key; the first byte after the type */
    uint64_t tensor_at[MODEL_MAX], rank_at[MODEL_MAX];
    uint64_t data_at;
} built_model;

/* Keys: general.architecture "llama", llama.block_count u32 2, general.alignment u32 32.
 * Tensors: "a" F32 [8, 4] at 0, "b" Q8_0 [64, 2] at 128. Data: 128 + 136 bytes, numbered. */
model model_make(void);

/* Adds a key; payload is written after the type. Returns it. */
model_kv *model_add_kv(model *m, const char *key, uint32_t type, const void *payload, size_t size);
model_kv *model_add_u32(model *m, const char *key, uint32_t value);
model_tensor *model_add_tensor(model *m, const char *name, uint32_t type, uint64_t dim0, uint64_t dim1,
                               uint64_t offset);

/* Appends little-endian numbers to a key's payload. */
void payload_u32(model_kv *kv, uint32_t value);
void payload_u64(model_kv *kv, uint64_t value);
void payload_text(model_kv *kv, const char *text);

void model_build(const model *m, built_model *out);

/* Both steps of opening, with scratch of the right size. On success the caller frees *out_scratch. */
fmt_status open_with_scratch(fmt_span span, gguf_file *out_file, void **out_scratch, fmt_diag *diag);

#endif
