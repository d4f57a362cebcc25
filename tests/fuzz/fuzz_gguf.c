/* fuzz_gguf.c — the GGUF reader on any bytes: both steps of opening agree, every accessor stays inside the file, and
 * what opened comes back the same after it went through the writer. */
#include <stdlib.h>
#include <string.h>

#include <quoin/gguf.h>

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t checksum; /* so that no read is optimised away */

static void touch(const void *bytes, uint64_t size) {
    const uint8_t *at = bytes;
    if (size > 0) {
        checksum += (uint64_t)at[0] + at[size - 1];
    }
}

static void visit_array(const gguf_array *array, unsigned depth) {
    gguf_iter iter = gguf_iterate(array);
    gguf_array inner;
    fmt_str text;
    uint64_t n = 0, u64;
    int64_t i64;
    double f64;
    bool flag;
    touch(array->elements.data, array->elements.size);
    for (; gguf_next_string(&iter, &text); n++) {
        touch(text.data, text.size);
    }
    for (; gguf_next_array(&iter, &inner); n++) {
        REQUIRE(depth < GGUF_MAX_ARRAY_DEPTH);
        visit_array(&inner, depth + 1);
    }
    for (uint64_t i = 0; gguf_type_size(array->type) > 0 && i < array->count; i++, n++) {
        gguf_array_u64(array, i, &u64);
        gguf_array_i64(array, i, &i64);
        gguf_array_f64(array, i, &f64);
        gguf_array_bool(array, i, &flag);
    }
    REQUIRE(n == array->count);
}

static void visit_kv(const gguf_file *file, const gguf_kv *kv) {
    gguf_array array;
    fmt_str text;
    touch(kv->key.data, kv->key.size);
    touch(kv->value.data, kv->value.size);
    if (gguf_kv_string(kv, &text)) {
        touch(text.data, text.size);
    }
    if (gguf_kv_array(kv, &array)) {
        visit_array(&array, 1);
    }
    char key[256];
    if (kv->key.size < sizeof key) {
        uint64_t u64;
        fmt_diag diag;
        memcpy(key, kv->key.data, (size_t)kv->key.size);
        key[kv->key.size] = '\0';
        REQUIRE(gguf_find_kv(file, key) == kv);
        gguf_get_u64(file, key, &u64, &diag);
        gguf_get_array(file, key, GGUF_FLOATS, &array, &diag);
    }
}

typedef struct memory_sink {
    uint8_t *bytes;
    uint64_t size, capacity;
} memory_sink;

static bool take_bytes(void *ctx, const void *bytes, uint64_t size) {
    memory_sink *sink = ctx;
    if (size > sink->capacity - sink->size) {
        sink->capacity = 2 * (sink->size + size);
        sink->bytes = realloc(sink->bytes, (size_t)sink->capacity);
        REQUIRE(sink->bytes != NULL);
    }
    memcpy(sink->bytes + sink->size, bytes, (size_t)size);
    sink->size += size;
    return true;
}

/* Keys only: tensor names would need terminated copies. */
static void write_again(const gguf_file *file) {
    memory_sink sink = {NULL, 0, 0};
    gguf_writer writer;
    gguf_file again;
    fmt_diag diag;
    uint64_t need = 0;
    const bool has_alignment = gguf_find_kv(file, "general.alignment") != NULL;
    gguf_write_begin(&writer, take_bytes, &sink, GGUF_DEFAULT_ALIGNMENT, file->n_kv - has_alignment, NULL, 0);
    for (uint64_t i = 0; i < file->n_kv; i++) {
        gguf_write_kv(&writer, &file->kvs[i]);
    }
    REQUIRE(gguf_write_end(&writer) == FMT_OK);
    const fmt_span span = {sink.bytes, sink.size};
    REQUIRE(gguf_scratch_size(span, &need, &diag) == FMT_OK);
    void *scratch = malloc((size_t)need + 1);
    REQUIRE(scratch != NULL && gguf_open(span, scratch, need, &again, &diag) == FMT_OK);
    REQUIRE(again.n_kv == file->n_kv - has_alignment);
    free(scratch);
    free(sink.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fmt_span span = {data, size};
    fmt_diag diag;
    gguf_file file;
    uint64_t need = 0;
    if (gguf_scratch_size(span, &need, &diag) != FMT_OK) {
        REQUIRE(diag.offset <= size && strlen(diag.text) > 10);
        return 0;
    }
    REQUIRE(need <= 5 * (uint64_t)size + 1024);
    void *scratch = malloc((size_t)need + 1);
    REQUIRE(scratch != NULL);
    const fmt_status status = gguf_open(span, scratch, need, &file, &diag);
    REQUIRE(status == FMT_OK || (status == FMT_BAD_FILE && diag.offset <= size));
    for (uint64_t i = 0; status == FMT_OK && i < file.n_kv; i++) {
        visit_kv(&file, &file.kvs[i]);
    }
    for (uint64_t i = 0; status == FMT_OK && i < file.n_tensors; i++) {
        const gguf_tensor *tensor = &file.tensors[i];
        const fmt_span bytes = gguf_tensor_data(&file, tensor);
        touch(tensor->name.data, tensor->name.size);
        touch(bytes.data, bytes.size);
        REQUIRE(gguf_find_tensor_n(&file, tensor->name) == tensor);
    }
    if (status == FMT_OK) {
        write_again(&file);
    }
    free(scratch);
    return 0;
}
