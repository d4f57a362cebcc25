/* container_facts.h — the fields of a P64 container that come from GGUF keys: found for whoever writes one, and
 * compared by whoever finds both.
 *
 * Threading: pure over their arguments.
 * Memory:    strings borrow from the keys.
 * Errors:    fmt_status and a diagnosis that names the key or the field.
 */
#ifndef HOST_CONTAINER_FACTS_H
#define HOST_CONTAINER_FACTS_H
#include <quoin/gguf.h>
#include <quoin/p64.h>

/* Section 5 of the P64 document. FMT_BAD_FILE: a key that no field can hold. */
fmt_status container_hparams(const gguf_file *keys, p64_hparams *out, fmt_diag *diag);

/* Section 10: BOS, EOS, add_bos and the pre-tokenizer, with their defaults. Counts are left alone. */
fmt_status container_specials(const gguf_file *keys, p64_source_tokenizer *out, fmt_diag *diag);

/* Section 19: shapes stand in the container, and a field that container and companion both hold must be the same.
 * FMT_BAD_FILE: *diag names the field and both values. */
fmt_status container_agrees(const p64_file *container, const gguf_file *keys, fmt_diag *diag);

#endif
