/* oracle_formats.h — every format of formats.def once more, element by element in 64 bits, straight from its layout
 * line.
 *
 * It shares no line with formats/blocks or any plugin, and computes the exact value of an element: a double holds every
 * product of a scale, a sub-scale and a quantum. oracle_store is the other way round, for what a state may hold.
 *
 * Threading: pure functions. Memory: the caller's.
 */
#ifndef CONFORM_ORACLE_FORMATS_H
#define CONFORM_ORACLE_FORMATS_H
#include <quoin/program.h>

/* Element `index` of the tensor at `bytes`, memory order. NaN for a format without a value here. */
double oracle_element(qn_format format, const uint8_t *bytes, uint64_t index);

/* n elements from `first` on, each rounded once to f32. */
void oracle_decode(qn_format format, const void *bytes, uint64_t first, uint64_t n, float *values);

/* The value of the half with these bits, and the bits of a half, or of a bfloat16, nearest to a value (ties to even).
 */
double oracle_half(uint16_t bits);
uint16_t oracle_to_half(float value);
uint16_t oracle_to_bf16(float value);

/* A row of a state: n values in F32, F16, BF16, or Q8_0 (n a multiple of 32), as STATE_WRITE leaves them. */
void oracle_store(qn_format format, const float *values, uint64_t n, uint8_t *out);

#endif
