/* sieve_spec.h — the file that says which three terms a sieve may make.
 *
 *     # a line like this is a comment, and one that begins with ; is too
 *     [sieve]
 *     volume = people.q42            where patterns are asked and terms must be known; beside the file unless the path is absolute
 *     prefix = ex=http://e.example/  for prefixed names below; may be repeated
 *     separator = " "                between the slots; quotes are taken off; \n \t \\ \" are known; default one space
 *     graph = <http://e.example/g>   context of the quin; default: the graph without a name
 *     beam = 4                       candidates of each slot that are followed, 1 to 16; default: the walk of the generation itself
 *     review = 0.5                   a margin below this asks for review; default: no margin does
 *     memory = 64                    MiB for candidates, 1 to 4096
 *
 *     [subject]                      likewise [predicate] and [object]
 *     term = ex:alice                a candidate; may be repeated
 *     label = Alice                  what is printed for the term before it, instead of the term itself; quotes as above
 *     pattern = ?s a ex:Person       each value of this slot's place, in the volume; lines after the first narrow it
 *
 * A line is one of these or nothing; unlike other INI files a line may be of any length and a ; inside it means itself.
 *
 * Threading: pure. Memory: owned by the spec until sieve_spec_free.
 * Errors:    QN_BAD_INPUT and QN_LIMIT with file, line and column.
 */
#ifndef HOST_CONSTRAIN_SIEVE_SPEC_H
#define HOST_CONSTRAIN_SIEVE_SPEC_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"

#define SIEVE_SPEC_MAX_BYTES (16u << 20)
#define SIEVE_MAX_BEAM 16u
#define SIEVE_MAX_PATTERNS 16u /* of one slot */
#define SIEVE_MAX_PREFIXES 64u
#define SIEVE_SLOTS 3u

typedef uint32_t sieve_slot;
enum { SIEVE_SUBJECT = 0, SIEVE_PREDICATE = 1, SIEVE_OBJECT = 2 };

typedef struct spec_term {
    const char *text;        /* as it stands in the file */
    const char *label;       /* or null */
    uint32_t line;
} spec_term;

typedef struct spec_slot {
    spec_term *terms;        /* [n_terms] in the order of the file */
    uint32_t n_terms, capacity;
    const char *patterns[SIEVE_MAX_PATTERNS];
    uint32_t n_patterns;
} spec_slot;

typedef struct sieve_spec {
    char *text;              /* everything below points into it */
    char *path;
    const char *volume, *graph, *separator;
    const char *prefixes[SIEVE_MAX_PREFIXES];
    uint32_t n_prefixes, graph_line;
    uint32_t beam;           /* 0: none */
    uint32_t memory_mib;
    double review_below;     /* -INFINITY: never */
    spec_slot slots[SIEVE_SLOTS];
} sieve_spec;

/* "subject", "predicate", "object". Static. */
const char *sieve_slot_name(sieve_slot slot);

qn_status sieve_spec_parse(fmt_str text, const char *path, sieve_spec *out, error_context *err);
qn_status sieve_spec_read(const char *path, sieve_spec *out, error_context *err);
void sieve_spec_free(sieve_spec *spec);

#endif
