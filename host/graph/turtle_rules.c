/* turtle_rules.c — the rule table. */
#include "graph/turtle_rules.h"

const fmt_rule turtle_rules[TURTLE_N_RULES] = {
    {"turtle-syntax", "Turtle 6.5", "the text must follow the grammar of its format"},
    {"utf-8", "Turtle 6", "all text must be UTF-8"},
    {"byte-order-mark", "Turtle 6", "a file must not begin with a byte order mark; take its first three bytes away"},
    {"nul", "", "outside a string no NUL byte may stand; the file may be binary"},
    {"nesting", "", "brackets may be nested 1024 deep"},
    {"term-too-long", "", "a term has at most 65535 bytes, brackets, quotes and datatype counted"},
    {"rdf12-triple-term", "RDF 1.2", "quoted and reified triples of RDF 1.2 are not supported yet"},
    {"label-clash", "", "a label looks like those that were given to unlabelled nodes; read the input from a file, not a pipe"},
    {"prefix", "Turtle 2.4", "every prefix must be declared before it is used"},
    {"iri-relative", "Turtle 2.4", "a relative IRI needs a base: an @base line, or a base given with the input"},
    {"graph", "TriG 2.2", "graphs belong to TriG; read the file as TriG"},
    {"rdf12-version", "RDF 1.2", "version directives of RDF 1.2 are not supported yet; without it the file may be read"},
};
