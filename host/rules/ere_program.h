/* ere_program.h — the form of a compiled expression, shared by its compiler and its matcher; not for others. */
#ifndef HOST_RULES_ERE_PROGRAM_H
#define HOST_RULES_ERE_PROGRAM_H
#include "rules/ere.h"

#define ERE_MAX_RANGES 512u
#define ERE_MAX_CLASSES 128u
#define ERE_NO_CHARACTER UINT32_MAX

typedef uint8_t ere_op;
enum { ERE_CHARACTER, ERE_ANY, ERE_CLASS, ERE_SPLIT, ERE_JUMP, ERE_BEGIN, ERE_END, ERE_MATCH };

/* Where to go is told from here, so that a part can be moved and copied. */
typedef struct ere_step {
    ere_op op;
    int16_t first, second; /* SPLIT: both; JUMP: first */
    uint32_t value;        /* CHARACTER: code point; CLASS: number */
} ere_step;

typedef struct ere_range {
    uint32_t least, most;
} ere_range;

typedef struct ere_class {
    uint16_t first, n_ranges;
    bool is_negated;
} ere_class;

struct ere_program {
    ere_step steps[ERE_MAX_STEPS];
    ere_range ranges[ERE_MAX_RANGES];
    ere_class classes[ERE_MAX_CLASSES];
    uint32_t n_steps, n_ranges, n_classes;
    bool ignores_case;
};

#endif
