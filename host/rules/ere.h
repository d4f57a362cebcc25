/* ere.h — regular expressions whose matching takes a time bounded by text times pattern, whatever both are.
 *
 *     ab|cd  (ab)  a* a+ a?  a{2} a{2,} a{2,5}  .  [a-z_] [^0-9] [[:alpha:]]  ^ $  \d \D \w \W \s \S \n \r \t  \. and the like
 *
 * The extended expressions of POSIX with the short classes that patterns of SHACL use. The text is searched: without ^ and $ a match may
 * lie anywhere. A character is a code point; `.` is any but line feed and carriage return; \d \w \s and the named classes know ASCII
 * only, and so does the flag i. Refused, and not read as something else: references back, look-around and other (?, lazy and possessive
 * signs, \p, \b, collating elements.
 *
 * No automaton is built ahead and nothing is tried twice: the set of places in the pattern is carried along the text. So there is no
 * pattern that takes long, and none that takes memory.
 *
 * Threading: a program is immutable.
 * Memory:    owned by the program until ere_free.
 * Errors:    QN_BAD_INPUT "column N of the pattern: …", QN_LIMIT beyond the limits below.
 */
#ifndef HOST_RULES_ERE_H
#define HOST_RULES_ERE_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"

#define ERE_MAX_PATTERN 512u /* bytes */
#define ERE_MAX_STEPS 1024u  /* places in the pattern, repetitions written out */
#define ERE_MAX_DEPTH 16u    /* open parentheses */
#define ERE_MAX_COUNT 255u   /* in { } */

typedef struct ere_program ere_program;

qn_status ere_compile(fmt_str pattern, bool ignores_case, ere_program **out_program, error_context *err);
void ere_free(ere_program *program); /* null is legal */

/* Does the pattern fit anywhere in `text`? A byte that is no UTF-8 counts as one character that no pattern names. [any-thread] [no-alloc] */
bool ere_search(const ere_program *program, fmt_str text);

#endif
