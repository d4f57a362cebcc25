/* gguf_builder.c — writes a described GGUF file byte by byte. */
#include "gguf_builder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void add_bytes(built_model *out, const void *bytes, size_t size) {
    assert(out->span.size + size <= sizeof out->bytes);
    memcpy(out->bytes + out->span.size, bytes, size);
    out->span.size += size;
}

static void add_number(built_model *out, uint64_t value, size_t size) {
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
    add_bytes(out, bytes, size);
}

static void add_zeros_to(built_model *out, uint64_t alignment) {
    while (out->span.size % alignment != 0) {
        add_number(out, 0, 1);
    }
}

static void payload_number(model_kv *kv, uint64_t value, size_t size) {
    assert(kv->payload_size + size <= sizeof kv->payload);
    for (size_t i = 0; i < size; i++) {
        kv->payload[kv->payload_size++] = (uint8_t)(value >> (8 * i));
    }
}

void payload_u32(model_kv *kv, uint32_t value) {
    payload_number(kv, value, 4);
}

void payload_u64(model_kv *kv, uint64_t value) {
    payload_number(kv, value, 8);
}

void payload_text(model_kv *kv, const char *text) {
    payload_u64(kv, strlen(text));
    assert(kv->payload_size + strlen(text) <= sizeof kv->payload);
    memcpy(kv->payload + kv->payload_size, text, strlen(text));
    kv->payload_size += strlen(text);
}

model_kv *model_add_kv(model *m, const char *key, uint32_t type, const void *payload, size_t size) {
    assert(m->n_kv < MODEL_MAX && size <= MODEL_PAYLOAD);
    model_kv *kv = &m->kvs[m->n_kv++];
    memset(kv, 0, sizeof *kv);
    kv->key = key;
    kv->key_size = strlen(key);
    kv->type = type;
    kv->payload_size = size;
    if (size > 0) {
        memcpy(kv->payload, payload, size);
    }
    return kv;
}

model_kv *model_add_u32(model *m, const char *key, uint32_t value) {
    model_kv *kv = model_add_kv(m, key, GGUF_U32, NULL, 0);
    payload_u32(kv, value);
    return kv;
}

model_tensor *model_add_tensor(model *m, const char *name, uint32_t type, uint64_t dim0, uint64_t dim1,
                               uint64_t offset) {
    assert(m->n_tensors < MODEL_MAX);
    const model_tensor tensor = {name, strlen(name), 2, {dim0, dim1, 1, 1, 1, 1, 1, 1}, type, offset};
    m->tensors[m->n_tensors] = tensor;
    return &m->tensors[m->n_tensors++];
}

model model_make(void) {
    model m = {{'G', 'G', 'U', 'F'}, 3, MODEL_AS_IS, MODEL_AS_IS, 0, 0, {{0}}, {{0}}, 32, 128 + 136, 0};
    payload_text(model_add_kv(&m, "general.architecture", GGUF_STRING, NULL, 0), "llama");
    model_add_u32(&m, "llama.block_count", 2);
    model_add_u32(&m, "general.alignment", 32);
    model_add_tensor(&m, "a", BLK_F32, 8, 4, 0);
    model_add_tensor(&m, "b", BLK_Q8_0, 64, 2, 128);
    return m;
}

static void add_kv(const model_kv *kv, built_model *out, size_t i) {
    out->kv_at[i] = out->span.size;
    add_number(out, kv->key_size, 8);
    add_bytes(out, kv->key, strlen(kv->key));
    add_number(out, kv->type, 4);
    out->value_at[i] = out->span.size;
    add_bytes(out, kv->payload, kv->payload_size);
}

static void add_tensor(const model_tensor *tensor, built_model *out, size_t i) {
    out->tensor_at[i] = out->span.size;
    add_number(out, tensor->name_size, 8);
    add_bytes(out, tensor->name, strlen(tensor->name));
    out->rank_at[i] = out->span.size;
    add_number(out, tensor->rank, 4);
    for (uint32_t d = 0; d < tensor->rank && d < MODEL_MAX; d++) {
        add_number(out, tensor->dims[d], 8);
    }
    add_number(out, tensor->type, 4);
    add_number(out, tensor->offset, 8);
}

void model_build(const model *m, built_model *out) {
    memset(out, 0, sizeof *out);
    add_bytes(out, m->magic, sizeof m->magic);
    add_number(out, m->version, 4);
    add_number(out, m->n_tensors_said == MODEL_AS_IS ? m->n_tensors : m->n_tensors_said, 8);
    add_number(out, m->n_kv_said == MODEL_AS_IS ? m->n_kv : m->n_kv_said, 8);
    for (size_t i = 0; i < m->n_kv; i++) {
        add_kv(&m->kvs[i], out, i);
    }
    for (size_t i = 0; i < m->n_tensors; i++) {
        add_tensor(&m->tensors[i], out, i);
    }
    add_zeros_to(out, m->alignment);
    out->data_at = out->span.size;
    for (size_t i = 0; i < m->data_size; i++) {
        add_number(out, i, 1);
    }
    out->span.size -= m->cut;
    out->span.data = out->bytes;
}

fmt_status open_with_scratch(fmt_span span, gguf_file *out_file, void **out_scratch, fmt_diag *diag) {
    uint64_t need = 0;
    fmt_status status = gguf_scratch_size(span, &need, diag);
    if (status != FMT_OK) {
        return status;
    }
    void *scratch = malloc((size_t)need + 1);
    assert(scratch != NULL);
    status = gguf_open(span, scratch, need, out_file, diag);
    if (status != FMT_OK) {
        free(scratch);
        return status;
    }
    *out_scratch = scratch;
    return FMT_OK;
}
