/* conform_result.h — what became of one test: read from its lines (core/cf_run.h), or from how its process ended.
 *
 * Threading: one thread at a time per object.
 * Memory:    owned by the result until conform_result_free.
 */
#ifndef CONFORM_RESULT_H
#define CONFORM_RESULT_H
#include "base/text_buffer.h"
#include "core/cf_run.h"

typedef uint32_t conform_outcome;
enum { OUTCOME_NONE, OUTCOME_PASS, OUTCOME_FAIL, OUTCOME_CRASH, OUTCOME_TIMEOUT, OUTCOME_UNSUPPORTED, OUTCOME_WAIVED, OUTCOMES };

/* "PASS". Static. */
const char *conform_outcome_name(conform_outcome outcome);

#define CONFORM_FACT_SIZE 160
#define CONFORM_FACTS 8u

/* What the plugin and its device say of themselves. */
typedef struct conform_facts {
    char keys[CONFORM_FACTS][24], words[CONFORM_FACTS][CONFORM_FACT_SIZE];
    uint32_t n;
} conform_facts;

const char *conform_fact(const conform_facts *facts, const char *key); /* "" when unknown */

typedef struct conform_cover {
    uint32_t op, format, verdict;
    bool is_tested;
} conform_cover;

typedef struct conform_measure {
    char name[96], unit[24];
    double value;
} conform_measure;

typedef struct conform_result {
    conform_outcome outcome;
    conform_outcome waived;       /* what a waiver turned into OUTCOME_WAIVED */
    const char *waiver;           /* its reason, borrowed; null without one */
    double seconds;
    uint64_t n_cases, last_case;  /* the last that began: where a crash was */
    char label[512];              /* of that case */
    char words[CF_LINE_SIZE];
    text_buffer notes;            /* lines */
    text_buffer printed;          /* end of what the plugin printed, on one line */
    conform_cover *covers;
    uint32_t n_covers;
    conform_measure *measures;
    uint32_t n_measures;
} conform_result;

void conform_result_free(conform_result *result);

/* Takes one line without its line break. False for a line that is none of ours. Facts may be null. */
bool conform_result_take(conform_result *result, conform_facts *facts, const char *line, size_t size);

#endif
