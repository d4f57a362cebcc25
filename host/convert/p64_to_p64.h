/* p64_to_p64.h — a container becomes another one: the same tensors, arranged or converted otherwise.
 *
 * This is how panels are made of a container that exists, and how they are turned back. Names, shapes, hyper-parameters and
 * tokenizer stay; the companion is written anew, because it names the container that it belongs to.
 *
 * Threading: one thread at a time.
 * Memory:    beside the writer's, the largest tensor that the source keeps as panels.
 */
#ifndef HOST_P64_TO_P64_H
#define HOST_P64_TO_P64_H
#include "convert/convert.h"

/* request->keys: what the companion of the source says; null: no companion. FMT_UNSUPPORTED: a container of the extended
 * profile does not hold the names of its tensors; otherwise as convert_gguf. */
fmt_status convert_p64(const convert_request *request, const p64_file *from, const mapped_file *mapping,
                       convert_report *out_report, fmt_diag *diag);

#endif
