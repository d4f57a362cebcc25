/* adapter_gguf.c — GGUF adapters: which matrix a pair of tensors changes, told by their names.
 *
 * NAME.lora_a [n_in, rank] and NAME.lora_b [rank, n_out], dimensions as GGUF writes them; of token_embd.weight A is the table,
 * [rank, n_vocab]. alpha is one for the file; 0 or absent means that B A is added as it is. Tensors of norms may stand beside the
 * pairs: other programs pass them over, and so does this one, saying so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/gguf.h>

#include "adapt/adapter_read.h"
#include "common/checked.h"
#include "common/diag.h"

#define NAME_SIZE 128u

typedef struct reading {
    const mapped_file *file;
    gguf_file gguf;
    adapter *a;
    float alpha; /* 0: scale 1 */
    error_context *err;
} reading;

static bool is_text(fmt_str text, const char *wanted) {
    return text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}

static bool ends_with(fmt_str text, const char *ending) {
    const size_t n = strlen(ending);
    return text.size >= n && memcmp(text.data + text.size - n, ending, n) == 0;
}

/* ---------------------------------------------------------------- keys */

static qn_status require_text(reading *r, const char *key, const char *wanted) {
    fmt_str text = {"", 0};
    char quoted[DIAG_QUOTE_SIZE];
    const fmt_status status = gguf_get_string(&r->gguf, key, &text, NULL);
    if (status == FMT_OK && is_text(text, wanted)) {
        return QN_OK;
    }
    return FAIL(r->err, QN_BAD_FILE, "%s: %s is %s; a LoRA adapter has \"%s\"", r->file->path, key,
                status == FMT_OK ? diag_quote(quoted, text) : "not there", wanted);
}

static qn_status read_keys(reading *r) {
    fmt_str architecture;
    double alpha = 0.0;
    fmt_diag diag;
    QN_TRY(require_text(r, "general.type", "adapter"), r->err, "reading its keys");
    QN_TRY(require_text(r, "adapter.type", "lora"), r->err, "reading its keys");
    fmt_status status = gguf_get_string(&r->gguf, "general.architecture", &architecture, &diag);
    if (status != FMT_OK || architecture.size == 0 || architecture.size >= sizeof r->a->architecture) {
        return FAIL(r->err, QN_BAD_FILE, "%s: general.architecture must be there, with 1 to %d bytes", r->file->path,
                    ADAPTER_WORD_SIZE - 1);
    }
    memcpy(r->a->architecture, architecture.data, (size_t)architecture.size);
    status = gguf_get_f64(&r->gguf, "adapter.lora.alpha", &alpha, &diag);
    if (status != FMT_OK && status != FMT_NOT_FOUND) {
        return error_from_diag(r->err, status, &diag, r->file->path);
    }
    r->alpha = (float)alpha;
    if (r->alpha - r->alpha != 0.0f) {
        return FAIL(r->err, QN_BAD_FILE, "%s: adapter.lora.alpha is %g; it must be a finite number", r->file->path, alpha);
    }
    if (gguf_find_kv(&r->gguf, "adapter.alora.invocation_tokens") != NULL) {
        return FAIL(r->err, QN_UNSUPPORTED,
                    "%s: has adapter.alora.invocation_tokens: it is active only behind certain words, which this program "
                    "does not do",
                    r->file->path);
    }
    return QN_OK;
}

/* ---------------------------------------------------------------- names */

/* The digits at `text`, without leading zeros; false when there are none, or too many. */
static bool read_number(const char *text, size_t size, size_t *out_used, uint32_t *out) {
    uint32_t value = 0;
    size_t used = 0;
    while (used < size && text[used] >= '0' && text[used] <= '9' && value < LORA_MAX_LAYERS) {
        value = value * 10 + (uint32_t)(text[used++] - '0');
    }
    *out_used = used;
    *out = value;
    return used > 0 && value < LORA_MAX_LAYERS && (used == 1 || text[0] != '0');
}

/* Role and layer of the matrix `name`, without .lora_a. */
static bool find_place(fmt_str name, lora_role *out_role, uint32_t *out_layer) {
    static const struct {
        const char *suffix;
        lora_role role;
    } rows[] = {{".attn_q.weight", LORA_ATTN_Q},     {".attn_k.weight", LORA_ATTN_K},
                {".attn_v.weight", LORA_ATTN_V},     {".attn_output.weight", LORA_ATTN_OUTPUT},
                {".ffn_gate.weight", LORA_FFN_GATE}, {".ffn_up.weight", LORA_FFN_UP},
                {".ffn_down.weight", LORA_FFN_DOWN}, {".attn_qkv.weight", LORA_ATTN_QKV}};
    size_t used = 0;
    *out_layer = LORA_NO_LAYER;
    if (is_text(name, "token_embd.weight") || is_text(name, "output.weight")) {
        *out_role = name.data[0] == 't' ? LORA_TOKEN_EMBD : LORA_OUTPUT;
        return true;
    }
    if (name.size < 4 || memcmp(name.data, "blk.", 4) != 0 ||
        !read_number(name.data + 4, (size_t)name.size - 4, &used, out_layer)) {
        return false;
    }
    const fmt_str rest = {name.data + 4 + used, name.size - 4 - used};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_text(rest, rows[i].suffix)) {
            *out_role = rows[i].role;
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------- matrices */

/* The elements as `type`, which is F32 or the tensor's own. */
static const void *copy_tensor(reading *r, const gguf_tensor *tensor, blk_type type) {
    const uint64_t n = tensor->dims[0] * tensor->dims[1];
    const fmt_span data = gguf_tensor_data(&r->gguf, tensor);
    void *copy = adapter_allocate(r->a, n * (type == BLK_F16 ? 2 : 4));
    if (copy == NULL) {
        FAIL(r->err, QN_NO_HOST_MEM, "%s: out of memory for its matrices", r->file->path);
    } else if (type == tensor->type) {
        memcpy(copy, data.data, (size_t)data.size);
    } else {
        (void)blk_decode(tensor->type, data.data, 0, n, copy); /* its type was asked for */
    }
    return copy;
}

static qn_status check_matrix(reading *r, const gguf_tensor *tensor) {
    const blk_info *info = blk_get_info(tensor->type);
    const fmt_span data = gguf_tensor_data(&r->gguf, tensor);
    const int length = (int)(tensor->name.size < NAME_SIZE ? tensor->name.size : NAME_SIZE);
    uint64_t n, bytes, element;
    if (tensor->dims[0] == 0 || tensor->dims[1] == 0 || tensor->dims[2] != 1 || tensor->dims[3] != 1 || tensor->dims[0] > UINT32_MAX || tensor->dims[1] > UINT32_MAX ||
        !checked_mul(tensor->dims[0], tensor->dims[1], &n) || !checked_mul(n, 4, &bytes)) {
        return FAIL(r->err, QN_BAD_FILE, "%s: tensor %.*s must be a matrix", r->file->path, length, tensor->name.data);
    }
    if (info == NULL || !info->can_decode) {
        return FAIL(r->err, QN_UNSUPPORTED, "%s: tensor %.*s has type %s, which this program cannot compute with",
                    r->file->path, length, tensor->name.data, info != NULL ? info->name : "unknown");
    }
    if (blk_find_nonfinite(tensor->type, data.data, 0, n, &element)) {
        return FAIL(r->err, QN_BAD_FILE, "%s: tensor %.*s: element %" PRIu64 " is NaN or infinite", r->file->path, length,
                    tensor->name.data, element);
    }
    return QN_OK;
}

static qn_status add_pair(reading *r, fmt_str name, const gguf_tensor *a, const gguf_tensor *b) {
    lora_pair *pair = &r->a->pairs[r->a->n_pairs];
    const int length = (int)(name.size < NAME_SIZE ? name.size : NAME_SIZE);
    if (!find_place(name, &pair->role, &pair->layer)) {
        return FAIL(r->err, QN_UNSUPPORTED, "%s: changes %.*s, which this program does not apply a change to", r->file->path,
                    length, name.data);
    }
    QN_TRY(check_matrix(r, a), r->err, "looking at its tensors");
    QN_TRY(check_matrix(r, b), r->err, "looking at its tensors");
    const bool is_table = pair->role == LORA_TOKEN_EMBD;
    const uint64_t rank = is_table ? a->dims[0] : a->dims[1];
    if (rank != b->dims[0]) {
        return FAIL(r->err, QN_BAD_FILE,
                    "%s: %.*s: A is [%" PRIu64 ", %" PRIu64 "] and B [%" PRIu64 ", %" PRIu64 "]; they have no rank in common",
                    r->file->path, length, name.data, a->dims[0], a->dims[1], b->dims[0], b->dims[1]);
    }
    pair->rank = (uint32_t)rank;
    pair->alpha = r->alpha != 0.0f ? r->alpha : (float)rank;
    pair->n_in = (uint32_t)(is_table ? a->dims[1] : a->dims[0]);
    pair->n_out = (uint32_t)b->dims[1];
    pair->type = a->type == BLK_F16 && b->type == BLK_F16 ? BLK_F16 : BLK_F32;
    pair->a = copy_tensor(r, a, pair->type);
    pair->b = pair->a != NULL ? copy_tensor(r, b, pair->type) : NULL;
    r->a->n_pairs += pair->b != NULL;
    return pair->b != NULL ? QN_OK : QN_NO_HOST_MEM;
}

/* The tensor named as `tensor` with its last letter changed. */
static const gguf_tensor *find_partner(const reading *r, const gguf_tensor *tensor, char last) {
    char name[NAME_SIZE];
    if (tensor->name.size >= sizeof name) {
        return NULL;
    }
    memcpy(name, tensor->name.data, (size_t)tensor->name.size);
    name[tensor->name.size - 1] = last;
    return gguf_find_tensor_n(&r->gguf, (fmt_str){name, tensor->name.size});
}

static qn_status read_tensor(reading *r, const gguf_tensor *tensor) {
    const bool is_a = ends_with(tensor->name, ".lora_a"), is_b = ends_with(tensor->name, ".lora_b");
    char quoted[DIAG_QUOTE_SIZE];
    if (is_a || is_b) {
        const gguf_tensor *partner = find_partner(r, tensor, is_a ? 'b' : 'a');
        if (partner == NULL) {
            return FAIL(r->err, QN_BAD_FILE, "%s: tensor %s stands alone; there must be its .lora_%c", r->file->path,
                        diag_quote(quoted, tensor->name), is_a ? 'b' : 'a');
        }
        const fmt_str name = {tensor->name.data, tensor->name.size - strlen(".lora_a")};
        return is_a ? add_pair(r, name, tensor, partner) : QN_OK;
    }
    if (!ends_with(tensor->name, "_norm.weight")) {
        return FAIL(r->err, QN_UNSUPPORTED, "%s: tensor %s is no half of a pair; this program would not know what to do with it",
                    r->file->path, diag_quote(quoted, tensor->name));
    }
    if (r->a->n_ignored++ == 0) {
        snprintf(r->a->first_ignored, sizeof r->a->first_ignored, "%.*s",
                 (int)(tensor->name.size < NAME_SIZE ? tensor->name.size : NAME_SIZE), tensor->name.data);
    }
    return QN_OK;
}

static int compare_pairs(const void *a, const void *b) {
    return lora_compare(a, b);
}

static qn_status read_pairs(reading *r) {
    QN_TRY(read_keys(r), r->err, "reading its keys");
    r->a->pairs = calloc((size_t)r->gguf.n_tensors + 1, sizeof *r->a->pairs);
    if (r->a->pairs == NULL) {
        return FAIL(r->err, QN_NO_HOST_MEM, "%s: out of memory for its list", r->file->path);
    }
    for (uint64_t i = 0; i < r->gguf.n_tensors; i++) {
        QN_TRY(read_tensor(r, &r->gguf.tensors[i]), r->err, "reading its tensors");
    }
    if (r->a->n_pairs == 0 || r->a->n_pairs > LORA_MAX_ENTRIES) {
        return FAIL(r->err, QN_BAD_FILE, "%s: has %u pairs of .lora_a and .lora_b; there must be 1 to %u", r->file->path,
                    r->a->n_pairs, LORA_MAX_ENTRIES);
    }
    qsort(r->a->pairs, r->a->n_pairs, sizeof *r->a->pairs, compare_pairs);
    return QN_OK;
}

qn_status adapter_read_gguf(const mapped_file *file, adapter *a, error_context *err) {
    reading r = {.file = file, .a = a, .err = err};
    uint64_t need = 0;
    fmt_diag diag;
    fmt_status status = gguf_scratch_size(file->span, &need, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, file->path);
    }
    void *scratch = malloc((size_t)need + 1);
    if (scratch == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for its index", file->path);
    }
    a->form = ADAPTER_GGUF;
    status = gguf_open(file->span, scratch, need, &r.gguf, &diag);
    const qn_status result = status == FMT_OK ? read_pairs(&r) : error_from_diag(err, status, &diag, file->path);
    free(scratch);
    return result;
}
