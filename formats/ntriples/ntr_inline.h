/* ntr_inline.h — printing an xsd:float; not for users.
 *
 * Threading: pure.
 */
#ifndef NTR_INLINE_H
#define NTR_INLINE_H
#include <quoin/ntriples.h>

#define NTR_FLOAT_ROOM 24u

/* The shortest text that reads back as this binary32, in the canonical form of XML Schema (1.5E0, -0.0E0, INF, NaN),
 * terminated, in any locale. */
void ntr_print_float(uint32_t bits, char out[NTR_FLOAT_ROOM]);

#endif
