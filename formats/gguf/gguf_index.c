/* gguf_index.c — sorting and finding by name. Sorted order instead of a hash table: FNV-1a has no secret, so whoever
 * makes a file can make every name fall into one slot, or give many names one hash; merge sort and binary search do not
 * care. */
#include <string.h>

#include "common/fnv.h"
#include "gguf_internal.h"

int gguf_compare_names(uint64_t hash_a, fmt_str a, uint64_t hash_b, fmt_str b) {
    if (hash_a != hash_b) {
        return hash_a < hash_b ? -1 : 1;
    }
    if (a.size != b.size) {
        return a.size < b.size ? -1 : 1;
    }
    return memcmp(a.data, b.data, (size_t)a.size);
}

/* Merges the sorted runs [left, middle) and [middle, right) of `from` into `to`. */
static void merge_runs(const uint32_t *from, uint32_t *to, uint64_t left, uint64_t middle, uint64_t right,
                       gguf_before_fn *is_before, const void *ctx) {
    uint64_t a = left, b = middle;
    for (uint64_t i = left; i < right; i++) {
        const bool take_b = b < right && (a == middle || is_before(ctx, from[b], from[a]));
        to[i] = take_b ? from[b++] : from[a++];
    }
}

void gguf_sort(uint32_t *order, uint32_t *aux, uint32_t n, gguf_before_fn *is_before, const void *ctx) {
    uint32_t *from = order, *to = aux;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (uint64_t run = 1; run < n; run *= 2) {
        for (uint64_t left = 0; left < n; left += 2 * run) {
            const uint64_t middle = left + run < n ? left + run : n;
            const uint64_t right = left + 2 * run < n ? left + 2 * run : n;
            merge_runs(from, to, left, middle, right, is_before, ctx);
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) {
        memcpy(order, from, n * sizeof *order);
    }
}

const gguf_kv *gguf_find_kv(const gguf_file *file, const char *key) {
    const fmt_str wanted = {key, strlen(key)};
    const uint64_t hash = fnv1a64(wanted.data, wanted.size);
    uint64_t low = 0, high = file->n_kv;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const gguf_kv *kv = &file->kvs[file->kv_order[middle]];
        const int order = gguf_compare_names(kv->hash, kv->key, hash, wanted);
        if (order == 0) {
            return kv;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

const gguf_tensor *gguf_find_tensor_n(const gguf_file *file, fmt_str name) {
    const uint64_t hash = fnv1a64(name.data, name.size);
    uint64_t low = 0, high = file->n_tensors;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const gguf_tensor *tensor = &file->tensors[file->tensor_order[middle]];
        const int order = gguf_compare_names(tensor->hash, tensor->name, hash, name);
        if (order == 0) {
            return tensor;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

const gguf_tensor *gguf_find_tensor(const gguf_file *file, const char *name) {
    const fmt_str wanted = {name, strlen(name)};
    return gguf_find_tensor_n(file, wanted);
}
