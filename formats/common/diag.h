/* diag.h — filling in a diagnosis, and quoting text from a hostile file in it.
 *
 * Threading: pure over their arguments.
 * Memory:    the diagnosis copies everything; arguments are borrowed for the call.
 */
#ifndef FMT_DIAG_H
#define FMT_DIAG_H
#include <quoin/fmt.h>
#include <quoin/span.h>

#define DIAG_QUOTE_SIZE 120

/* Where and what, beside the words. */
typedef struct diag_place {
    uint64_t offset, index, expected, got;
} diag_place;

/* Text "<finding>: <sentence>." with the finding made from `format`; cut, still complete UTF-8, when it does not fit.
 * `diag` may be null. Returns `status`. */
__attribute__((format(printf, 5, 6)))
fmt_status diag_refuse(fmt_diag *diag, fmt_status status, const fmt_rule *rule, diag_place place,
                       const char *format, ...);

/* Text of a file made safe to print: in double quotes; quotes and backslashes behind a backslash; control characters
 * and bytes that are no UTF-8 as \xHH; cut with "..." when long. Returns `out`. */
const char *diag_quote(char out[DIAG_QUOTE_SIZE], fmt_str text);

#endif
