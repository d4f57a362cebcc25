/* gbnf.h — grammars as a file: the subset of GBNF that is read here.
 *
 *     # a comment
 *     root   ::= greeting " " name+            a rule ends with its line, but not inside ( ) and not behind ::= or |
 *     greeting ::= "hello" | "good" ("bye")?
 *     name   ::= [A-Z] [a-zà-ž]{1,20} [^\x00-\x1F"]*
 *
 *     names        letters, digits, - and _
 *     "..."        text; escapes \n \r \t \\ \" \[ \] \- \^ \' \xHH \uHHHH \UHHHHHHHH
 *     [...] [^...] one character of these, or none of these; ranges with -; the same escapes
 *     .            any character
 *     ( ) |        groups and alternatives
 *     * + ? {m} {m,} {m,n} {,n}   behind a text, class, group or name
 *
 * The language is that of the rule `root`. A rule that begins with itself, ends never, is defined twice or nowhere, or is led to by
 * nothing, is refused by name.
 *
 * Threading: pure.
 * Memory:    the grammar is the caller's; the limits below bound it and the work.
 * Errors:    QN_BAD_INPUT and QN_LIMIT as "NAME: line L, column C: ..." with what was found; columns count bytes.
 */
#ifndef HOST_CONSTRAIN_GBNF_H
#define HOST_CONSTRAIN_GBNF_H
#include <quoin/span.h>

#include "constrain/grammar.h"

#define GBNF_MAX_BYTES (1u << 20)
#define GBNF_MAX_RULES 4096u
#define GBNF_MAX_DEPTH 64u         /* groups in groups */
#define GBNF_MAX_ALTERNATIVES 4096u /* of one group or rule */
#define GBNF_MAX_RANGES 1024u      /* of one class */

/* `name` is for messages. */
qn_status gbnf_parse(fmt_str text, const char *name, grammar *out, error_context *err);

qn_status gbnf_read(const char *path, grammar *out, error_context *err);

#endif
