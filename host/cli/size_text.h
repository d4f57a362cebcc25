/* size_text.h — sizes as people write them: 4096, 512K, 256M, 2G, with or without B or iB; powers of 1024.
 *
 * Threading: pure.
 */
#ifndef HOST_SIZE_TEXT_H
#define HOST_SIZE_TEXT_H
#include "base/error.h"

/* QN_BAD_INPUT names the option and the text. */
qn_status size_text_read(const char *option, const char *text, uint64_t *out_bytes, error_context *err);

#endif
