/* adapter_output.h — `inspect`, `verify` and `convert` of adapter files.
 *
 * Threading: one thread at a time.
 */
#ifndef HOST_ADAPTER_OUTPUT_H
#define HOST_ADAPTER_OUTPUT_H
#include "cli/command.h"

/* A LoRA file (not a GGUF adapter, whose keys and tensors `inspect` shows as those of any GGUF): everything that stands in it;
 * null with the error in c->err. */
json_t *adapter_inspect(command_context *c, const char *path, bool is_listing);

/* Every check of an adapter of any form, and its verdict; the exit status. */
int adapter_verify(command_context *c, const char *path);

/* ADAPTER becomes a LoRA file of version 2 at `output` (null: ADAPTER with .lora for its ending), bound to the model at
 * `base`; the exit status. */
int adapter_convert(command_context *c, const char *path, const char *base, const char *output, bool is_forced);

#endif
