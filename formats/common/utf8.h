/* utf8.h — strict UTF-8 as RFC 3629 defines it: no overlong form, no surrogate, nothing above U+10FFFF.
 *
 * Threading: pure.
 */
#ifndef FMT_UTF8_H
#define FMT_UTF8_H
#include <stdint.h>

#define UTF8_ALL_VALID UINT64_MAX

/* Length in bytes (1..4) of the well-formed character at data[0..size), or 0 when there is none.
 * out_code may be null; it receives the code point. */
unsigned utf8_decode(const uint8_t *data, uint64_t size, uint32_t *out_code);

/* Offset of the first byte that starts no well-formed character, or UTF8_ALL_VALID. */
uint64_t utf8_first_invalid(const void *data, uint64_t size);

/* Writes `code` (a scalar value) as 1..4 bytes into out[4]; returns how many, 0 when it is no scalar value. */
unsigned utf8_encode(uint32_t code, uint8_t out[4]);

#endif
