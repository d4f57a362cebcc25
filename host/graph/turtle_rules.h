/* turtle_rules.h — the rules that an input in Turtle or TriG can break, beside those of its terms (formats/ntriples). */
#ifndef HOST_GRAPH_TURTLE_RULES_H
#define HOST_GRAPH_TURTLE_RULES_H
#include <quoin/fmt.h>

typedef uint32_t turtle_rule;
enum {
    TURTLE_SYNTAX = 0, TURTLE_UTF_8 = 1, TURTLE_BYTE_ORDER_MARK = 2, TURTLE_NUL = 3, TURTLE_NESTING = 4,
    TURTLE_TOKEN = 5, TURTLE_TRIPLE_TERM = 6, TURTLE_LABEL_CLASH = 7, TURTLE_PREFIX = 8, TURTLE_BASE = 9, TURTLE_GRAPH = 10,
    TURTLE_VERSION = 11, TURTLE_N_RULES = 12
};

extern const fmt_rule turtle_rules[TURTLE_N_RULES];

#endif
