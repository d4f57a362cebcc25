/* scrub.h — overwriting what a user said, in a way that no compiler leaves out, and counting it by class.
 *
 * Threading: one thread at a time per report.
 * Memory:    none is taken; scrub_free gives some back.
 */
#ifndef HOST_SCRUB_H
#define HOST_SCRUB_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t scrub_class;
enum {
    SCRUB_STATE = 0, /* K and V, wherever they lie */
    SCRUB_SCRATCH,   /* what steps left besides: activations, copies of inputs and outputs, on host and device */
    SCRUB_LOGITS,    /* rows of logits, candidates of the sampler */
    SCRUB_TOKENS,    /* ids: prompt, history, positions */
    SCRUB_TEXT,      /* prompt and answer */
    SCRUB_RULES,     /* what constraints and the sentinel know of the answer */
    SCRUB_ADAPTER,   /* working copies of an adapter */
    SCRUB_CLASSES
};
const char *scrub_class_name(scrub_class which); /* "state", ... Static. */

typedef struct scrub_report {
    uint64_t bytes[SCRUB_CLASSES];
    bool is_partial;         /* something could not be overwritten; it was given back all the same */
    char missing[160];       /* what, and why; "" when all was */
} scrub_report;

/* Overwrites with zeros; counts when report is not null. memory may be null when bytes is 0. */
void scrub_memory(scrub_report *report, scrub_class which, void *memory, size_t bytes);
/* The same, and frees. Null is legal. */
void scrub_free(void *memory, size_t bytes);
/* Takes a larger block in place of memory[used], which is overwritten and freed; null without memory: the old one stands as it stood.
 * What realloc would leave behind unwritten is why this is here. */
void *scrub_grow(void *memory, size_t used, size_t bytes);
/* Notes what could not be overwritten; the first one is kept. */
void scrub_miss(scrub_report *report, const char *what, const char *why);

/* Bytes of all classes. */
uint64_t scrub_total(const scrub_report *report);

#endif
