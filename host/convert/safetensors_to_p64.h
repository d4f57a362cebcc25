/* safetensors_to_p64.h — the weights of a model folder become a raw P64 container: bytes, names and dimensions as they are.
 *
 * Threading: one thread at a time per object.
 * Memory:    borrows the folder; what is read of its files is given back to the system as writing goes on.
 */
#ifndef HOST_SAFETENSORS_TO_P64_H
#define HOST_SAFETENSORS_TO_P64_H
#include "convert/convert.h"
#include "convert/hf_folder.h"

typedef struct safetensors_source {
    const hf_folder *folder;
    p64_source source; /* for p64_plan_make with is_raw; its ctx is this object, which must not move */
    const mapped_file *read_from; /* the last read */
    uint64_t read_at, read_size;
} safetensors_source;

void safetensors_source_init(safetensors_source *out, const hf_folder *folder);

/* As convert_gguf, of a folder; request->gguf and mapping are not looked at. Only P64_FORM_KEEP. [may block] */
fmt_status convert_safetensors(const convert_request *request, const hf_folder *folder, convert_report *out_report,
                               fmt_diag *diag);

/* As convert_parity: every tensor of `p64` must be that of the folder, in every byte, and there must be as many. */
fmt_status convert_safetensors_parity(const p64_file *p64, const hf_folder *folder, convert_parity_report *out_report,
                                      fmt_diag *diag);

#endif
