/* facts_gguf.h — the keys of an opened GGUF file as facts; and the few that a P64 alone can give when an architecture
 * is assumed.
 *
 * Threading: thread-safe.
 * Memory:    the facts borrow the file (and `path`), which must outlive them.
 */
#ifndef HOST_FACTS_GGUF_H
#define HOST_FACTS_GGUF_H
#include <quoin/gguf.h>
#include <quoin/p64.h>

#include "model/facts.h"

void facts_from_gguf(const gguf_file *file, const char *path, facts *out);

/* Hyper-parameters of a P64 under the key names of `arch`; epsilon 1e-5 and every other thing as decisions for a
 * container without companion say. Feed-forward width comes from the tensors. */
typedef struct p64_facts {
    const p64_file *file;
    const char *arch; /* static */
    uint64_t n_ff;
} p64_facts;
void facts_from_p64(const p64_facts *source, const char *path, facts *out);

#endif
