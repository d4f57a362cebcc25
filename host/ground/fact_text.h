/* fact_text.h — facts as the text that stands before the user's words.
 *
 *     Facts. Name the number of each one that you use, like [1].
 *     [1] Berlin capital of Germany .
 *     [2] Berlin population 3755251 .
 *     <an empty line>
 *
 * Names are those of term_names.h: a fact is one line, and no term in it can look like anything else. Where the text stands and
 * that it is never read as control tokens is the caller's to see to (prompt_input.h).
 *
 * Threading: one thread at a time. Memory: owned by the fact_lines.
 */
#ifndef HOST_GROUND_FACT_TEXT_H
#define HOST_GROUND_FACT_TEXT_H
#include "base/text_buffer.h"
#include "ground/fact_set.h"
#include "ground/ground_volume.h"

typedef struct fact_lines {
    text_buffer text;  /* all lines, each with its line feed */
    size_t *ends;      /* [n] where line i ends, behind its line feed */
    uint32_t n;
} fact_lines;

/* `volumes` are those that the facts' sources count. *out is untouched on error. */
qn_status fact_lines_write(const ground_volume *volumes, uint32_t n_volumes, const fact_set *facts, fact_lines *out, error_context *err);
void fact_lines_free(fact_lines *lines);

/* Line i without its line feed. */
fmt_str fact_lines_get(const fact_lines *lines, uint32_t i);

/* Appends what stands before the user's words when the first n facts are given: nothing for none. */
qn_status fact_lines_preface(const fact_lines *lines, uint32_t n, text_buffer *out, error_context *err);

#endif
