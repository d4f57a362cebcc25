/* p64_alone.c — what must hold for a container to run without its companion. */
#include "model/p64_alone.h"

#include <string.h>

#include "base/log.h"

/* A tensor of a plain llama graph: by its name, or, in a file that keeps hashes instead of names, by its role. */
static bool is_llama_tensor(const model *m, const model_tensor *tensor) {
    if (p64_is_llama_name(tensor->name.data, tensor->name.size, m->p64.hparams.n_layer)) {
        return true;
    }
    const bool is_nameless = tensor->name.size > 7 && memcmp(tensor->name.data, "tensor.", 7) == 0;
    return is_nameless && (p64_get_tensor(&m->p64, tensor->index).role <= P64_ROLE_OUTPUT_NORM ||
                           tensor == model_find(m, "rope_freqs.weight"));
}

/* What a llama graph would pass over changes the result: biases, head norms, fused or expert matrices. */
static qn_status refuse_foreign_tensors(const model *m, error_context *err) {
    const model_tensor *first = NULL; /* in the file: m->tensors are in another order */
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        const model_tensor *tensor = &m->tensors[i];
        if ((first == NULL || tensor->index < first->index) && !is_llama_tensor(m, tensor)) {
            first = tensor;
        }
    }
    if (first == NULL) {
        return QN_OK;
    }
    return FAIL(err, QN_BAD_FILE,
                "%s: holds tensor %.*s, which a llama model does not have; it needs its companion volume, or run the GGUF "
                "it was made from",
                m->file.path, (int)(first->name.size < 256 ? first->name.size : 256), first->name.data);
}

static qn_status refuse_unknown_facts(const model *m, const char *assume, error_context *err) {
    const p64_hparams *h = &m->p64.hparams;
    const bool says_llama = h->architecture == P64_ARCH_LLAMA;
    if ((m->p64.header.flags & P64_FLAG_RAW) != 0) {
        return FAIL(
            err, QN_UNSUPPORTED,
            "%s: is a raw transcode of Safetensors: it holds no hyper-parameters; it needs its companion volume",
            m->file.path);
    }
    if (assume != NULL && strcmp(assume, arch_llama.name) != 0) {
        return FAIL(err, QN_BAD_INPUT, "--assume %s: a P64 without companion can only be assumed to be llama", assume);
    }
    /* Before the advice to assume something: advice that cannot help is none. */
    if (m->p64.tokenizer.n_merges == 0) {
        return FAIL(err, QN_BAD_FILE,
                    "%s: its tokenizer has no merges: a P64 alone holds no scores, so this vocabulary cannot be used "
                    "without its companion volume",
                    m->file.path);
    }
    if (assume == NULL && !says_llama) {
        return FAIL(err, QN_BAD_FILE,
                    "%s: a P64 alone does not say its architecture, and there is no companion volume beside it: name it with "
                    "--companion, or convert the source again; add --assume llama when it is a llama",
                    m->file.path);
    }
    if (h->architecture != P64_ARCH_UNKNOWN && !says_llama) {
        return FAIL(err, QN_UNSUPPORTED,
                    "%s: byte %u: says architecture id %u, not llama (1); it needs its companion volume", m->file.path,
                    (unsigned)m->p64.header.hparams_at + 48, h->architecture);
    }
    return refuse_foreign_tensors(m, err);
}

qn_status p64_alone_assume(model *m, const char *assume, error_context *err) {
    const model_tensor *up = model_find(m, "blk.0.ffn_up.weight");
    m->alone = (p64_facts){.file = &m->p64, .arch = arch_llama.name, .n_ff = up != NULL ? up->dims[1] : 0};
    facts_from_p64(&m->alone, m->file.path, &m->facts);
    const qn_status status = refuse_unknown_facts(m, assume, err);
    if (status == QN_OK) {
        log_line(QN_LOG_INFO, "%s: no companion volume; run as llama with epsilon 1e-5", m->file.path);
    }
    return status;
}
