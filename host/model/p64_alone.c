/* p64_alone.c — what must hold for a container to run without its companion. */
#include "model/p64_alone.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* Per-layer tensors that change the result and that a plain llama graph does not use. */
static const char *const foreign_suffixes[] = {"attn_q.bias",
                                               "attn_k.bias",
                                               "attn_v.bias",
                                               "attn_output.bias",
                                               "attn_q_norm.weight",
                                               "attn_k_norm.weight",
                                               "post_attention_norm.weight",
                                               "post_ffw_norm.weight",
                                               "attn_qkv.weight",
                                               "attn_qkv.bias",
                                               "attn_norm.bias",
                                               "ffn_norm.bias",
                                               "ffn_gate.bias",
                                               "ffn_up.bias",
                                               "ffn_down.bias",
                                               "ffn_gate_inp.weight",
                                               "ffn_gate_exps.weight",
                                               "ffn_up_exps.weight",
                                               "ffn_down_exps.weight",
                                               "attn_sub_norm.weight",
                                               "ffn_sub_norm.weight",
                                               "ssm_in.weight"};

static qn_status refuse_foreign_tensors(const model *m, error_context *err) {
    for (uint32_t layer = 0; layer < m->p64.hparams.n_layer; layer++) {
        for (size_t i = 0; i < sizeof foreign_suffixes / sizeof foreign_suffixes[0]; i++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%u.%s", layer, foreign_suffixes[i]);
            if (model_find(m, name) != NULL) {
                return FAIL(err, QN_BAD_FILE,
                            "%s: holds tensor %s, which a llama model does not have; it needs its companion volume, or "
                            "run the GGUF it was made from",
                            m->file.path, name);
            }
        }
    }
    return QN_OK;
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
    if (assume == NULL && !says_llama) {
        return FAIL(err, QN_BAD_FILE,
                    "%s: a P64 alone does not say its architecture, and there is no companion volume beside it; add "
                    "--assume llama when it is one, or run the GGUF it was made from",
                    m->file.path);
    }
    if (h->architecture != P64_ARCH_UNKNOWN && !says_llama) {
        return FAIL(err, QN_UNSUPPORTED,
                    "%s: byte %u: says architecture id %u, not llama (1); it needs its companion volume", m->file.path,
                    (unsigned)m->p64.header.hparams_at + 48, h->architecture);
    }
    if (m->p64.tokenizer.n_merges == 0) {
        return FAIL(err, QN_BAD_FILE,
                    "%s: its tokenizer has no merges: a P64 alone holds no scores, so this vocabulary cannot be used "
                    "without its companion volume",
                    m->file.path);
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
