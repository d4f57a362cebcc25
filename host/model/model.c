/* model.c — opening a model file by its magic and checking it from front to back. */
#include "model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "common/fnv.h"
#include "model/facts_gguf.h"
#include "model/p64_alone.h"
#include "model/raw_tensors.h"
#include "model/vocabulary.h"
#include "model/weight_check.h"

const char *model_format_name(model_format format) {
    return format == MODEL_P64 ? "P64" : "GGUF";
}

const gguf_file *model_keys(const model *m) {
    if (m->format == MODEL_GGUF) {
        return &m->gguf;
    }
    return m->companion.state == COMPANION_BOUND ? &m->companion.image.file : NULL;
}

static int compare_tensors(const void *a, const void *b) {
    const model_tensor *left = a, *right = b;
    return left->hash < right->hash   ? -1
           : left->hash > right->hash ? 1
           : left->at < right->at     ? -1
                                      : left->at > right->at;
}

/* Is this the tensor that is looked for? In a GGUF the name decides, because a hash can be met on purpose; a P64 may hold
 * nothing but the hash. */
static bool is_named(const model *m, const model_tensor *tensor, const char *name) {
    return m->format != MODEL_GGUF ||
           (tensor->name.size == strlen(name) && memcmp(tensor->name.data, name, tensor->name.size) == 0);
}

const model_tensor *model_find(const model *m, const char *name) {
    const uint64_t hash = fnv_q_hash(name, strlen(name)); /* the 60 bits that every profile keeps */
    uint32_t low = 0, high = m->n_tensors;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (m->tensors[middle].hash < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < m->n_tensors && m->tensors[low].hash == hash; low++) {
        if (is_named(m, &m->tensors[low], name)) {
            return &m->tensors[low];
        }
    }
    return NULL;
}

qn_status model_check_files(const model *m, error_context *err) {
    const qn_status status = mapped_file_check(&m->file, err);
    return status < 0 || m->panels == NULL ? status : mapped_file_check(&m->panels->file, err);
}

bool model_tensor_panels(const model_tensor *tensor, blk_panels *out) {
    uint64_t n_rows = 1;
    for (uint32_t k = 1; k < tensor->rank; k++) {
        n_rows *= tensor->dims[k];
    }
    if (!tensor->is_in_panels || !blk_panels_init(out, blk_panel_find(tensor->type), n_rows, tensor->dims[0])) {
        return false;
    }
    blk_panels_attach(out, tensor->data);
    return true;
}

qn_status model_check_type(const model *m, const model_tensor *tensor, error_context *err) {
    const blk_info *info = blk_get_info(tensor->type);
    if (info != NULL && info->can_decode) {
        return QN_OK;
    }
    return FAIL(err, QN_BAD_FILE,
                "%s: tensor %.*s has type %s (%u), which this program keeps but cannot run; use a file with another "
                "quantisation",
                m->file.path, (int)(tensor->name.size < 256 ? tensor->name.size : 256), tensor->name.data,
                info == NULL ? "unknown" : info->name, tensor->type);
}

static qn_status allocate_tensors(model *m, uint64_t count, error_context *err) {
    m->tensors = calloc((size_t)count + 1, sizeof *m->tensors);
    if (m->tensors == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for %" PRIu64 " tensors", m->file.path, count);
    }
    m->n_tensors = (uint32_t)count;
    return QN_OK;
}

static qn_status allocate_scratch(model *m, uint64_t bytes, error_context *err) {
    m->scratch = malloc(bytes > 0 ? (size_t)bytes : 1);
    return m->scratch != NULL
               ? QN_OK
               : FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for an index of %" PRIu64 " bytes", m->file.path, bytes);
}

static qn_status open_gguf(model *m, error_context *err) {
    fmt_diag diag;
    uint64_t bytes = 0;
    fmt_status status = gguf_scratch_size(m->file.span, &bytes, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, m->file.path);
    }
    QN_TRY(allocate_scratch(m, bytes, err), err, "opening %s", m->file.path);
    status = gguf_open(m->file.span, m->scratch, bytes, &m->gguf, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, m->file.path);
    }
    QN_TRY(allocate_tensors(m, m->gguf.n_tensors, err), err, "opening %s", m->file.path);
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        const gguf_tensor *t = &m->gguf.tensors[i];
        m->tensors[i] = (model_tensor){.name = t->name, .hash = t->hash & FNV_Q_MASK, .type = t->type, .rank = t->rank,
                                       .dims = {t->dims[0], t->dims[1], t->dims[2], t->dims[3]},
                                       .data = m->file.span.data + t->at, .bytes = t->size, .at = t->at,
                                       .file = &m->file, .index = i};
    }
    facts_from_gguf(&m->gguf, m->file.path, &m->facts);
    return QN_OK;
}

static qn_status open_p64(model *m, const model_options *options, error_context *err) {
    fmt_diag diag;
    uint64_t bytes = 0;
    fmt_status status = p64_scratch_size(m->file.span, options->mode, &bytes, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, m->file.path);
    }
    QN_TRY(allocate_scratch(m, bytes, err), err, "opening %s", m->file.path);
    status = p64_open(m->file.span, options->mode, m->scratch, bytes, &m->p64, options->note, options->note_ctx, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, m->file.path);
    }
    m->is_raw = (m->p64.header.flags & P64_FLAG_RAW) != 0;
    QN_TRY(allocate_tensors(m, m->p64.header.tensor_count, err), err, "opening %s", m->file.path);
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        const p64_tensor t = p64_get_tensor(&m->p64, i);
        const bool is_in_panels = blk_panel_of_dtype(t.dtype) != BLK_NO_PANELS;
        m->tensors[i] = (model_tensor){.name = t.name,
                                       .hash = t.source_name_hash & FNV_Q_MASK,
                                       .type = is_in_panels ? t.dtype - BLK_PANEL_DTYPE : t.dtype,
                                       .is_in_panels = is_in_panels,
                                       .rank = t.rank,
                                       .dims = {t.dims[0], t.dims[1], t.dims[2], t.dims[3]},
                                       .data = t.blob.data,
                                       .bytes = t.blob.size,
                                       .at = t.blob_offset,
                                       .file = &m->file,
                                       .index = i};
    }
    return QN_OK;
}

/* Neither magic: says what the file looks like, because the name promised something else. */
static qn_status refuse_unknown(const model *m, error_context *err) {
    static const char lfs[] = "version https://git-lfs";
    const fmt_span span = m->file.span;
    const uint8_t *b = span.data;
    fmt_diag diag = {.rule = "magic", .section = "", .index = FMT_NO_INDEX};
    if (span.size < 4) {
        snprintf(diag.text, sizeof diag.text, "has %" PRIu64 " bytes; no model is that short", span.size);
    } else if (span.size >= sizeof lfs - 1 && memcmp(b, lfs, sizeof lfs - 1) == 0) {
        snprintf(diag.text, sizeof diag.text,
                 "is a Git LFS pointer, a text of %" PRIu64
                 " bytes: the model itself was not downloaded; fetch it with git lfs pull",
                 span.size);
    } else {
        char text[5] = "";
        for (unsigned i = 0; i < 4; i++) {
            text[i] = b[i] >= 0x20 && b[i] < 0x7F ? (char)b[i] : '.';
        }
        snprintf(diag.text, sizeof diag.text,
                 "begins with %02x %02x %02x %02x (\"%s\"); a P64 begins with 70 36 34 00 (\"p64.\"), a GGUF with 47 "
                 "47 55 46 (\"GGUF\")",
                 b[0], b[1], b[2], b[3], text);
    }
    return error_from_diag(err, FMT_BAD_FILE, &diag, m->file.path);
}

static qn_status open_format(model *m, const model_options *options, error_context *err) {
    static const uint8_t p64_magic[4] = {'p', '6', '4', 0};
    const fmt_span span = m->file.span;
    if (span.size >= 4 && memcmp(span.data, p64_magic, 4) == 0) {
        m->format = MODEL_P64;
        QN_TRY(open_p64(m, options, err), err, "reading %s as P64", m->file.path);
    } else if (span.size >= 4 && memcmp(span.data, "GGUF", 4) == 0) {
        m->format = MODEL_GGUF;
        QN_TRY(open_gguf(m, err), err, "reading %s as GGUF", m->file.path);
    } else {
        return refuse_unknown(m, err);
    }
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        m->weight_bytes += m->tensors[i].bytes;
    }
    qsort(m->tensors, m->n_tensors, sizeof *m->tensors, compare_tensors);
    return QN_OK;
}

qn_status model_check_weights(model *m, const model_options *options, team *workers, error_context *err) {
    const double begin = clock_seconds();
    mapped_file_will_need(&m->file, 0, m->file.span.size);
    const weight_check check = {.check_values = !options->skip_weight_check, .progress = options->progress,
                                .ctx = options->progress_ctx};
    const qn_status status = weight_check_run(m, &check, workers, err);
    m->check_seconds = clock_seconds() - begin;
    return status;
}

static qn_status find_arch(model *m, error_context *err) {
    fmt_str name;
    char text[HPARAMS_ARCH_SIZE];
    const fact_result result = m->facts.get_string(&m->facts, "general.architecture", &name, err);
    if (result != FACT_FOUND) {
        return result == FACT_WRONG ? QN_BAD_FILE
                                    : FAIL(err, QN_BAD_FILE, "%s: key general.architecture is missing", m->file.path);
    }
    snprintf(text, sizeof text, "%.*s", (int)(name.size < sizeof text ? name.size : sizeof text - 1), name.data);
    m->arch = name.size < sizeof text ? arch_find(text) : NULL;
    if (m->arch == NULL) {
        return FAIL(err, QN_UNSUPPORTED, "%s: architecture \"%s\" is not supported; supported are %s", m->file.path,
                    text, arch_names());
    }
    return QN_OK;
}

static qn_status read_hparams(model *m, error_context *err) {
    QN_TRY(find_arch(m, err), err, "reading the architecture");
    if (m->is_raw) {
        QN_TRY(raw_tensors_prepare(m, err), err, "naming the tensors");
    }
    const model_tensor *table = model_find(m, "token_embd.weight");
    if (m->n_tensors == 0) {
        return FAIL(
            err, QN_BAD_FILE,
            "%s: holds no tensors: the weights are missing; it can be inspected and used to tokenize, not to run",
            m->file.path);
    }
    if (table == NULL) {
        return FAIL(err, QN_BAD_FILE, "%s: tensor token_embd.weight is missing", m->file.path);
    }
    QN_TRY(model_check_type(m, table, err), err, "reading the vocabulary's size");
    QN_TRY(hparams_read(&m->facts, m->arch->name, (uint32_t)table->dims[1], &m->hparams, err), err,
           "reading the hyper-parameters");
    if (m->arch->adjust != NULL) {
        m->arch->adjust(&m->hparams);
    }
    return QN_OK;
}

/* A file without a tokenizer is no error here: whoever needs one says so. */
static qn_status load_vocabulary(model *m, error_context *err) {
    const gguf_file *keys = model_keys(m);
    const qn_status status = keys != NULL ? vocabulary_from_gguf(keys, m->facts.path, &m->words, err)
                                          : vocabulary_from_p64(&m->p64, m->file.path, &m->words, err);
    if (status == QN_NOT_FOUND) {
        error_clear(err);
        return QN_OK;
    }
    QN_TRY(status, err, "reading the vocabulary of %s", m->file.path);
    const qn_status created = tokenizer_create(&m->words->facts, &m->tok, err);
    if (created < 0) {
        return error_put_path(err, created, m->file.path);
    }
    m->chat_template = m->words->chat_template;
    vocabulary_end_build(m->words);
    return QN_OK;
}

static qn_status check_vocabulary(const model *m, error_context *err) {
    if (m->tok == NULL) {
        return FAIL(err, QN_BAD_FILE, "%s: holds no tokenizer; text generation needs one", m->file.path);
    }
    if (tokenizer_size(m->tok) > m->hparams.n_vocab) {
        return FAIL(err, QN_BAD_FILE, "%s: the tokenizer has %u tokens, but tensor token_embd.weight has only %u rows",
                    m->file.path, tokenizer_size(m->tok), m->hparams.n_vocab);
    }
    return QN_OK;
}

/* What the container does not hold: its companion says it, or the user assumes it. */
static qn_status find_facts(model *m, const model_options *options, error_context *err) {
    const companion_options how = {
        .path = options->companion, .mode = options->mode, .note = options->note, .note_ctx = options->note_ctx};
    QN_TRY(companion_open(m->file.path, &m->p64, &how, &m->companion, err), err, "looking for the companion volume");
    if (m->companion.state != COMPANION_BOUND) {
        return p64_alone_assume(m, options->assume, err);
    }
    facts_from_gguf(&m->companion.image.file, m->companion.keys_name, &m->facts);
    return QN_OK;
}

static qn_status load_everything(model *m, const model_options *options, team *workers, error_context *err) {
    QN_TRY(open_format(m, options, err), err, "opening %s", m->file.path);
    if (options->container_only) {
        return QN_OK;
    }
    if (m->format == MODEL_P64) {
        QN_TRY(find_facts(m, options, err), err, "looking for what the container does not hold");
    }
    QN_TRY(load_vocabulary(m, err), err, "loading %s", m->file.path);
    if (options->vocabulary_only) {
        return QN_OK;
    }
    QN_TRY(read_hparams(m, err), err, "loading %s", m->file.path);
    QN_TRY(check_vocabulary(m, err), err, "loading %s", m->file.path);
    return options->skip_integrity ? QN_OK : model_check_weights(m, options, workers, err);
}

qn_status model_open(const char *path, const model_options *options, team *workers, model **out_model,
                     error_context *err) {
    static const model_options defaults = {0};
    model *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", path);
    }
    m->file.fd = -1;
    m->companion.file.fd = -1;
    qn_status status = mapped_file_open(path, &m->file, err);
    if (status == QN_OK) {
        status = load_everything(m, options != NULL ? options : &defaults, workers, err);
    }
    if (status == QN_OK) {
        *out_model = m;
    } else {
        model_close(m);
    }
    return status;
}

void model_close(model *m) {
    if (m != NULL) {
        model_close(m->panels);
        tokenizer_destroy(m->tok);
        vocabulary_free(m->words);
        free(m->tensors);
        for (uint32_t i = 0; i < MODEL_MAX_FACTORS; i++) {
            free(m->factors[i]);
        }
        free(m->scratch);
        companion_close(&m->companion);
        mapped_file_close(&m->file);
        free(m);
    }
}
