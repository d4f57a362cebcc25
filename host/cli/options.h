/* options.h — command-line options as tables: parsing, ranges, help and "did you mean".
 *
 * A command describes its options once; parsing, `--help`, completion and the configuration file all read that table.
 * Accepted forms: --name value, --name=value, -x value, -x2 for numbers, flags without value, `--` ends options. Numbers are read in the
 * C locale whatever the user's locale is; a comma as decimal point is refused with those words.
 *
 * Threading: one thread at a time.
 * Memory:    values point into argv.
 */
#ifndef HOST_OPTIONS_H
#define HOST_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef uint32_t option_kind;
enum { OPTION_FLAG, OPTION_UINT, OPTION_UINT64, OPTION_FLOAT, OPTION_STRING, OPTION_LIST, OPTION_END };

#define OPTION_LIST_MAX 64
#define ARGUMENTS_MAX 4096 /* as many files as a shell gives for *.nt */

typedef struct option_list {
    const char *items[OPTION_LIST_MAX];
    uint32_t n_items;
} option_list;

typedef struct option {
    option_kind kind;
    const char *name;       /* without dashes */
    char letter;            /* 0 = none */
    const char *metavar;    /* "N", "FILE"; null for flags */
    const char *help;       /* one line */
    void *target;           /* bool, uint32_t, uint64_t, double, const char *, option_list */
    double least, most;     /* range of numbers */
    const char *choices;    /* strings: "a|b|c", or null for any */
    bool *was_given;        /* may be null */
} option;

/* What is left when options are taken away. */
typedef struct arguments {
    const char *items[ARGUMENTS_MAX];
    uint32_t n_items;
} arguments;

/* Parses argv[0..argc) against `tables` ([n_tables] arrays that end with OPTION_END). QN_BAD_INPUT names the option and
 * the value. */
qn_status options_parse(const option *const *tables, uint32_t n_tables, int argc, char *const *argv,
                        arguments *out_arguments, error_context *err);

/* Sets one option from text, as the configuration file does. `where` is put before the message. */
qn_status option_set(const option *o, const char *value, const char *where, error_context *err);

/* The option with this long name, or null. */
const option *options_find(const option *const *tables, uint32_t n_tables, const char *name, size_t length);

/* The long name that is nearest to what was typed, or null when none is near. */
const char *options_find_nearest(const option *const *tables, uint32_t n_tables, const char *name);

/* Prints the table as help lines to standard output. */
void options_print_help(const option *table);

#endif
