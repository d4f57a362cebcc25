/* plan.h — a model on a device: the program compiled, the weights bound, memory told beforehand.
 *
 * Threading: making a plan is one thread's work; a finished plan is shared by sessions.
 * Memory:    borrows model and backend, which must outlive it; owns the compiled program.
 */
#ifndef HOST_PLAN_H
#define HOST_PLAN_H
#include <stdbool.h>
#include <stdint.h>

#include "backends/choose.h"
#include "base/error.h"
#include "model/decoder.h"
#include "model/model.h"

/* Told what memory a plan will take, before it is taken and even when it is then refused. */
struct plan;
typedef void plan_memory_fn(void *ctx, const struct plan *p);

typedef struct plan_options {
    uint32_t n_ctx;        /* positions of one session; >= 1 */
    uint32_t max_chunk;    /* tokens of one prefill step; 0 = 512, never more than n_ctx */
    uint32_t max_outputs;  /* rows of logits of one step; 0 = 1 */
    uint32_t numeric;      /* mask of QN_NUMERIC_*; 0 = any */
    const model_delta *deltas; /* [n_deltas], of adapters; borrowed as long as the plan */
    uint32_t n_deltas;
    qn_format state_format; /* of the KV cache: QN_FORMAT_F16, QN_FORMAT_BF16, QN_FORMAT_Q8_0 or QN_FORMAT_F32 (its number is 0) */
    uint32_t compile_flags; /* QN_COMPILE_* */
    team *check_with;      /* not null: check the tensors that are bound, with this team, before they are bound
                              (--integrity lazy) */
    bool check_values;     /* and look for NaN and infinity in them */
    progress_fn *progress; /* of that check; may be null */
    void *progress_ctx;
    plan_memory_fn *on_memory; /* may be null */
    void *ctx;
} plan_options;

typedef struct plan {
    const model *m;
    const backend *on;
    decoder *dec;
    qn_prog *prog;
    qn_limits limits;
    qn_memory_plan memory;  /* as predicted by the plugin */
    uint32_t n_ctx;
    uint32_t n_emulated;    /* ops that the plugin runs slowly */
} plan;

/* Builds, checks, predicts memory (QN_NO_HOST_MEM with asked and free bytes when it cannot fit), compiles and binds.
 * QN_BAD_FILE when the model lacks a tensor or has one that does not fit; QN_UNSUPPORTED, naming the op, when the backend
 * cannot run one; whatever the plugin answers otherwise. *out_plan is untouched on error. */
qn_status plan_create(const model *m, const backend *on, const plan_options *options, plan **out_plan,
                      error_context *err);
void plan_destroy(plan *p);

/* "f32acc", "f16acc", "act8". Static. */
const char *plan_numeric_name(uint32_t numeric);

/* Turns a plugin's refusal into the host's error: "backend cpu: op 12 (matmul, layer 3): NO_HOST_MEM: text". */
qn_status plan_plugin_error(const plan *p, const char *stage, qn_status code, const qn_error *plugin_error,
                            error_context *err);

#endif
