/* gate_codes.h — numbers and words of reasons.
 *
 * Threading: pure.
 */
#ifndef HOST_GATE_CODES_H
#define HOST_GATE_CODES_H
#include <stdint.h>

typedef uint64_t gate_code;
#define CODE(name, number, word, meaning) static const gate_code CODE_##name = number;
#include "govern/gate_codes.def"
#undef CODE

/* "sanctuary"; "unknown" for other numbers. Static. */
const char *gate_code_word(gate_code code);
const char *gate_code_meaning(gate_code code);

#endif
