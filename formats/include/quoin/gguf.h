/* gguf.h — reading GGUF model files, versions 2 and 3, little-endian; and writing them in one pass.
 *
 * The reader proves the whole structure of a file before it gives anything back: every count against the bytes that are
 * there, every string, array and tensor against the end of the file, unique keys and names, alignment, no overlap. What
 * it returns is a view: pointers into the span and into the caller's scratch. What a key *means* (is the head count
 * plausible, are all weights there) is not its business, nor are the values of the weights.
 *
 *     byte 0   magic "GGUF" | version u32 | number of tensors u64 | number of keys u64
 *          24  keys:     length u64, name | value type u32 | value                          n_kv times
 *              tensors:  length u64, name | rank u32 | dims u64[rank] | type u32 | offset   n_tensors times
 *              zeros up to the next multiple of general.alignment (32 without that key)
 *     data_at  weights; a tensor's offset counts from here
 *
 * Usage:
 *
 *     fmt_diag diag;
 *     uint64_t need;
 *     gguf_file file;
 *     if (gguf_scratch_size(span, &need, &diag) != FMT_OK) { refuse(&diag); }
 *     void *scratch = allocate(need);
 *     if (gguf_open(span, scratch, need, &file, &diag) != FMT_OK) { refuse(&diag); }
 *     uint64_t n_layers;
 *     if (gguf_get_u64(&file, "llama.block_count", &n_layers, &diag) != FMT_OK) { refuse(&diag); }
 *     const gguf_tensor *embd = gguf_find_tensor(&file, "token_embd.weight");
 *
 * Threading: functions are pure over their arguments; an opened gguf_file is immutable and may be shared by threads. A
 *            writer belongs to one thread at a time.
 * Memory:    nothing is allocated. Span and scratch are borrowed until the last use of the gguf_file.
 * Errors:    a refused file gives FMT_BAD_FILE and a diagnosis with one rule of formats/gguf/rules.def; out
 *            parameters are untouched on error.
 */
#ifndef QUOIN_GGUF_H
#define QUOIN_GGUF_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/blocks.h>
#include <quoin/fmt.h>
#include <quoin/span.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GGUF_MAX_RANK 4
#define GGUF_MAX_NAME 65535u      /* bytes of a key or tensor name */
#define GGUF_MAX_ARRAY_DEPTH 4u   /* an array of arrays of arrays of arrays is the deepest that is read */
#define GGUF_DEFAULT_ALIGNMENT 32u

/* Type of a key's value, numbers as in the file. */
typedef uint32_t gguf_type;
enum {
    GGUF_U8 = 0, GGUF_I8 = 1, GGUF_U16 = 2, GGUF_I16 = 3, GGUF_U32 = 4, GGUF_I32 = 5, GGUF_F32 = 6, GGUF_BOOL = 7,
    GGUF_STRING = 8, GGUF_ARRAY = 9, GGUF_U64 = 10, GGUF_I64 = 11, GGUF_F64 = 12
};

/* Families of types, for asking "an array of any integer type". */
typedef uint32_t gguf_class;
enum { GGUF_ANY = 0, GGUF_INTEGERS = 1, GGUF_FLOATS = 2, GGUF_BOOLS = 3, GGUF_STRINGS = 4, GGUF_ARRAYS = 5 };

/* One key. */
typedef struct gguf_kv {
    fmt_str key;          /* UTF-8, 1..GGUF_MAX_NAME bytes, no zero byte; borrowed from the span */
    uint64_t hash;        /* FNV-1a-64 of the key */
    gguf_type type;
    fmt_span value;       /* as it stands in the file: a string with its length, an array with type and count */
} gguf_kv;

/* An array value, proved: every element is inside the span. */
typedef struct gguf_array {
    gguf_type type;       /* of the elements */
    uint64_t count;       /* elements, may be 0 */
    fmt_span elements;    /* their bytes, little-endian, at any address; borrowed from the span */
} gguf_array;

/* Where a walk through an array stands; one step costs the same however long the array is. */
typedef struct gguf_iter {
    gguf_array array;
    uint64_t index;       /* number of the element that the next step gives */
    uint64_t at;          /* its byte offset in array.elements */
} gguf_iter;

/* One tensor, proved: `at` is a multiple of nothing but the file's alignment, [at, at + size) is inside the span and
 * shared with no other tensor. An alignment below the element size is legal: look at the address before a typed
 * read. */
typedef struct gguf_tensor {
    fmt_str name;         /* UTF-8, 1..GGUF_MAX_NAME bytes, no zero byte; borrowed from the span */
    uint64_t hash;        /* FNV-1a-64 of the name */
    blk_type type;        /* always one that blk_get_info knows */
    uint32_t rank;        /* 1..GGUF_MAX_RANK */
    uint64_t dims[GGUF_MAX_RANK]; /* dims[0] contiguous; 1 from `rank` on; product < 2^63 */
    uint64_t offset;      /* bytes from data_at, as the file says it */
    uint64_t at;          /* bytes from the start of the file */
    uint64_t size;        /* bytes */
    uint64_t entry_at;    /* byte offset of its entry in the tensor list */
} gguf_tensor;

/* An opened file. Read the members freely, change none. */
typedef struct gguf_file {
    fmt_span span;
    uint32_t version;     /* 2 or 3 */
    uint32_t alignment;   /* a power of two */
    uint64_t n_kv;
    uint64_t n_tensors;
    uint64_t data_at;     /* where tensor data starts; may lie past the end when there is no tensor */
    const gguf_kv *kvs;         /* [n_kv], in file order; in scratch */
    const gguf_tensor *tensors; /* [n_tensors], in file order; in scratch */
    const uint32_t *kv_order;   /* [n_kv] indices by (hash, name), for gguf_find_kv */
    const uint32_t *tensor_order;     /* [n_tensors] indices by (hash, name), for gguf_find_tensor */
    const uint32_t *tensors_by_offset; /* [n_tensors] indices by ascending `at`: the order of reading a cold file */
} gguf_file;

/* True when the first four bytes are "GGUF". Says nothing more. [any-thread] [no-alloc] */
bool gguf_has_magic(fmt_span span);

/* Walks keys and tensor list once, so that the counts are proved, and tells the scratch that gguf_open needs. It is in
 * proportion to what really stands in the file: about four bytes for each byte of keys and tensor list at the very
 * worst. FMT_BAD_FILE: the diagnosis names the first broken rule. [any-thread] [no-alloc] */
fmt_status gguf_scratch_size(fmt_span span, uint64_t *out_bytes, fmt_diag *diag);

/* Checks every rule and fills *out_file.
 *
 *   scratch   at least gguf_scratch_size bytes, aligned for uint64_t; borrowed as long as *out_file is used
 *
 * FMT_BAD_FILE: the diagnosis names the first broken rule. FMT_NO_SPACE: scratch is smaller than diag->expected bytes.
 * FMT_BAD_ARG: scratch is not aligned. [any-thread] [no-alloc] */
fmt_status gguf_open(fmt_span span, void *scratch, uint64_t scratch_bytes, gguf_file *out_file, fmt_diag *diag);

/* The key or tensor with this name, or null. Binary search over hashes: about log2(n) comparisons of integers, and one
 * of the names, whatever an attacker chose them to be. [any-thread] [no-alloc] */
const gguf_kv *gguf_find_kv(const gguf_file *file, const char *key);
const gguf_tensor *gguf_find_tensor(const gguf_file *file, const char *name);
const gguf_tensor *gguf_find_tensor_n(const gguf_file *file, fmt_str name);

/* The bytes of a tensor of this file. [any-thread] [no-alloc] */
static inline fmt_span gguf_tensor_data(const gguf_file *file, const gguf_tensor *tensor) {
    const fmt_span data = {file->span.data + tensor->at, tensor->size};
    return data;
}

/* Typed values of a key. Integers of every width and sign are widened, when the value is in range; floats likewise;
 * nothing is converted between integers, floats and booleans.
 * FMT_NOT_FOUND: no such key. FMT_BAD_FILE: another type, or out of range; the diagnosis names key, both types, offset
 * and value. `diag` may be null. *out untouched on error. [any-thread] [no-alloc] */
fmt_status gguf_get_u64(const gguf_file *file, const char *key, uint64_t *out, fmt_diag *diag);
fmt_status gguf_get_u32(const gguf_file *file, const char *key, uint32_t *out, fmt_diag *diag);
fmt_status gguf_get_i64(const gguf_file *file, const char *key, int64_t *out, fmt_diag *diag);
fmt_status gguf_get_f64(const gguf_file *file, const char *key, double *out, fmt_diag *diag);
fmt_status gguf_get_bool(const gguf_file *file, const char *key, bool *out, fmt_diag *diag);
fmt_status gguf_get_string(const gguf_file *file, const char *key, fmt_str *out, fmt_diag *diag);

/* An array whose elements are of the wanted class. Errors as above. [any-thread] [no-alloc] */
fmt_status gguf_get_array(const gguf_file *file, const char *key, gguf_class elements, gguf_array *out, fmt_diag *diag);

/* The same values from a key at hand (when walking file->kvs). False: another type or out of range.
 * [any-thread] [no-alloc] */
bool gguf_kv_u64(const gguf_kv *kv, uint64_t *out);
bool gguf_kv_i64(const gguf_kv *kv, int64_t *out);
bool gguf_kv_f64(const gguf_kv *kv, double *out);
bool gguf_kv_bool(const gguf_kv *kv, bool *out);
bool gguf_kv_string(const gguf_kv *kv, fmt_str *out);
bool gguf_kv_array(const gguf_kv *kv, gguf_array *out);

/* Element `index` (< count) of an array of fixed-size elements. False: index past the end, another class, or out of
 * range. [any-thread] [no-alloc] */
bool gguf_array_u64(const gguf_array *array, uint64_t index, uint64_t *out);
bool gguf_array_i64(const gguf_array *array, uint64_t index, int64_t *out);
bool gguf_array_f64(const gguf_array *array, uint64_t index, double *out);
bool gguf_array_bool(const gguf_array *array, uint64_t index, bool *out);

/* Walks an array of strings, or of arrays, from its first element. False: at the end, or the array holds something
 * else. [any-thread] [no-alloc] */
gguf_iter gguf_iterate(const gguf_array *array);
bool gguf_next_string(gguf_iter *iter, fmt_str *out);
bool gguf_next_array(gguf_iter *iter, gguf_array *out);

/* "uint32", "array", …; "unknown" for a number that is no type. Static. [any-thread] [no-alloc] */
const char *gguf_type_name(gguf_type type);

/* Bytes of a value of a fixed-size type; 0 for string, array and unknown. [any-thread] [no-alloc] */
uint32_t gguf_type_size(gguf_type type);

/* The class of a type. [any-thread] [no-alloc] */
gguf_class gguf_type_class(gguf_type type);

/* All rules, in the order of checking; *out_count of them. Static. [any-thread] [no-alloc] */
const fmt_rule *gguf_rules(uint64_t *out_count);

/* ---------------------------------------------------------------- writing
 *
 * One pass, no allocation, the same input gives the same bytes: begin with the complete tensor list, then exactly n_kv
 * keys, then the tensors' bytes in the order of the list (in pieces of any size), then end. The first failure sticks.
 *
 *     gguf_writer writer;
 *     gguf_write_begin(&writer, gguf_write_to_file, stream, 32, 2, tensors, 1);
 *     gguf_write_string(&writer, "general.architecture", "llama");
 *     gguf_write_uint(&writer, "llama.block_count", GGUF_U32, 1);
 *     gguf_write_data(&writer, weights, size);
 *     status = gguf_write_end(&writer);
 */

/* Takes the next `size` bytes of the file; false: could not, and the writer fails with FMT_IO. Called by the writing
 * functions on the caller's thread. */
typedef bool gguf_sink_fn(void *ctx, const void *bytes, uint64_t size);

typedef struct gguf_tensor_spec {
    const char *name;     /* borrowed until gguf_write_end */
    blk_type type;
    uint32_t rank;        /* 1..GGUF_MAX_RANK */
    uint64_t dims[GGUF_MAX_RANK];
} gguf_tensor_spec;

/* The writer's state; caller's storage, members private. */
typedef struct gguf_writer {
    gguf_sink_fn *sink;
    void *ctx;
    const gguf_tensor_spec *specs;
    uint64_t n_specs, n_kv_left, spec, spec_left, at;
    uint64_t elements_left; /* of the array that is being written */
    gguf_type element_type;
    uint32_t alignment;
    fmt_status status;
} gguf_writer;

/* Writes the fixed header (version 3) and, when `alignment` is not 32, the key general.alignment.
 *
 *   n_kv      keys that the caller will write (general.alignment not counted: it may not be written by hand)
 *   specs     [n_specs], borrowed until gguf_write_end
 *
 * FMT_BAD_ARG: alignment is no power of two, or a spec that gguf_open would refuse. Every function below gives the
 * writer's status, so that a caller may look only at the end. [owner-thread] [no-alloc] [may block] */
fmt_status gguf_write_begin(gguf_writer *writer, gguf_sink_fn *sink, void *ctx, uint32_t alignment, uint64_t n_kv,
                            const gguf_tensor_spec *specs, uint64_t n_specs);

/* One key with one value. FMT_BAD_ARG: the value does not fit the type, or all n_kv keys are written. */
fmt_status gguf_write_uint(gguf_writer *writer, const char *key, gguf_type type, uint64_t value);
fmt_status gguf_write_int(gguf_writer *writer, const char *key, gguf_type type, int64_t value);
fmt_status gguf_write_float(gguf_writer *writer, const char *key, gguf_type type, double value);
fmt_status gguf_write_bool(gguf_writer *writer, const char *key, bool value);
fmt_status gguf_write_string(gguf_writer *writer, const char *key, const char *value);
fmt_status gguf_write_string_n(gguf_writer *writer, const char *key, fmt_str value);

/* A key of an opened file, byte for byte. A key general.alignment is passed over without counting. */
fmt_status gguf_write_kv(gguf_writer *writer, const gguf_kv *kv);

/* An array: begin, then `count` elements. Fixed-size elements are given as little-endian bytes, in pieces of whole
 * elements; strings one by one. */
fmt_status gguf_write_array_begin(gguf_writer *writer, const char *key, gguf_type element_type, uint64_t count);
fmt_status gguf_write_elements(gguf_writer *writer, const void *little_endian, uint64_t count);
fmt_status gguf_write_element_string(gguf_writer *writer, fmt_str value);

/* The next `size` bytes of tensor data; the first call writes the tensor list. One call never goes past the end of a
 * tensor: give each tensor's last piece by itself. */
fmt_status gguf_write_data(gguf_writer *writer, const void *bytes, uint64_t size);

/* Checks that everything promised was written, and pads the last tensor. FMT_BAD_ARG when something is missing. */
fmt_status gguf_write_end(gguf_writer *writer);

/* A sink for a FILE *: gguf_write_begin(&writer, gguf_write_to_file, stream, …). */
bool gguf_write_to_file(void *stream, const void *bytes, uint64_t size);

#ifdef __cplusplus
}
#endif
#endif
