/* adapter_read.h — what the readers of the forms share; inside this room.
 *
 * Threading: one thread.
 */
#ifndef HOST_ADAPTER_READ_H
#define HOST_ADAPTER_READ_H
#include "adapt/adapter.h"
#include "base/mapped_file.h"

/* Room for `size` bytes that lives as long as the adapter; null without memory. */
void *adapter_allocate(adapter *a, uint64_t size);

/* Reads a GGUF adapter from the mapped file into an adapter whose path is set. */
qn_status adapter_read_gguf(const mapped_file *file, adapter *a, error_context *err);

#endif
