/* tiny_model.h — a complete random model of any architecture as a GGUF file, a few KB large, for tests that break one
 * thing.
 *
 * Two layers, width 16, 4 heads over 2, feed-forward 32, 64 positions; a SentencePiece-style vocabulary whose ids 3 to
 * 258 are the bytes 0 to 255 and whose ids 0, 1 and 2 are <unk>, <s> and </s>. The same arguments give the same bytes.
 *
 *     tiny_model_write(path, "qwen2", &(tiny_change){.drop = "blk.1.attn_q.bias"});
 */
#ifndef TEST_TINY_MODEL_H
#define TEST_TINY_MODEL_H
#include <stddef.h>
#include <stdint.h>

enum {
    TINY_LAYERS = 2,
    TINY_WIDTH = 16,
    TINY_HEADS = 4,
    TINY_KV_HEADS = 2,
    TINY_FF = 32,
    TINY_CONTEXT = 64,
    TINY_BYTE_0 = 3,
    TINY_VOCABULARY = 259,
    TINY_EOS = 2
};

/* What is different from a sound model; all null or zero: nothing. */
typedef struct tiny_change {
    const char *drop;            /* this tensor is left out */
    const char *add;             /* a vector of TINY_WIDTH elements with this name is added */
    const char *reshape;         /* this tensor gets one row more (a vector: one element more) */
    const char *spoil, *spoil_too; /* the last element of these tensors is NaN */
    uint32_t window;             /* ARCH.attention.sliding_window */
    int without_tokenizer;
    /* Called with each tensor's values, [height][width], before they are written; may be null. */
    void (*edit)(void *ctx, const char *name, uint64_t width, uint64_t height, float *values);
    void *edit_ctx;
} tiny_change;

/* Writes the file; fails the test when it cannot. `change` may be null. */
void tiny_model_write(const char *path, const char *arch, const tiny_change *change);

#endif
