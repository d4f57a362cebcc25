/* verify_sft_index.h — a Safetensors model in several files: the index, and every shard that it names.
 *
 * Threading: one thread at a time.
 * Memory:    nothing is kept.
 */
#ifndef HOST_VERIFY_SFT_INDEX_H
#define HOST_VERIFY_SFT_INDEX_H
#include "model/verify.h"

#define SFT_INDEX_NAME "model.safetensors.index.json"

/* `path` is an index file; shards are looked for beside it. Fills format, n_tensors and bytes of *report (the shards'
 * bytes included). QN_BAD_FILE with the shard and the tensor when one is missing, and whatever a shard breaks. */
qn_status verify_sft_index(const char *path, verify_report *report, error_context *err);

#endif
