/* ere_search.c — carrying the set of places in a pattern along a text. */
#include <string.h>

#include "common/utf8.h"
#include "rules/ere_program.h"

typedef struct place_set {
    uint16_t places[ERE_MAX_STEPS]; /* steps that take a character */
    uint32_t n_places;
} place_set;

typedef struct matcher {
    const ere_program *program;
    place_set sets[2];
    uint32_t round, seen[ERE_MAX_STEPS]; /* the round in which a step was reached last */
    uint16_t stack[2 * ERE_MAX_STEPS];
    bool is_begin, is_end, has_matched;
} matcher;

/* Adds what can be reached from a step without taking a character. Each step is passed once a round. */
static void add_place(matcher *m, place_set *set, uint32_t from) {
    uint32_t n_stack = 0;
    m->stack[n_stack++] = (uint16_t)from;
    while (n_stack > 0) {
        const uint32_t at = m->stack[--n_stack];
        const ere_step *step = &m->program->steps[at];
        if (m->seen[at] == m->round) {
            continue;
        }
        m->seen[at] = m->round;
        if (step->op == ERE_SPLIT || step->op == ERE_JUMP) {
            m->stack[n_stack++] = (uint16_t)((int)at + step->first);
            if (step->op == ERE_SPLIT) {
                m->stack[n_stack++] = (uint16_t)((int)at + step->second);
            }
        } else if (step->op == ERE_BEGIN || step->op == ERE_END) {
            if (step->op == ERE_BEGIN ? m->is_begin : m->is_end) {
                m->stack[n_stack++] = (uint16_t)(at + 1);
            }
        } else if (step->op == ERE_MATCH) {
            m->has_matched = true;
        } else {
            set->places[set->n_places++] = (uint16_t)at;
        }
    }
}

static uint32_t other_case(uint32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c ^ 0x20 : c;
}

static bool is_in_ranges(const ere_program *p, const ere_class *class, uint32_t code) {
    for (uint32_t i = 0; i < class->n_ranges; i++) {
        const ere_range *range = &p->ranges[class->first + i];
        if (code >= range->least && code <= range->most) {
            return true;
        }
    }
    return false;
}

static bool takes(const ere_program *p, const ere_step *step, uint32_t code) {
    const uint32_t other = p->ignores_case ? other_case(code) : code;
    if (code == ERE_NO_CHARACTER) {
        return step->op == ERE_ANY;
    }
    switch (step->op) {
    case ERE_CHARACTER: return step->value == code || step->value == other;
    case ERE_ANY: return code != '\n' && code != '\r';
    default: {
        const ere_class *class = &p->classes[step->value];
        return (is_in_ranges(p, class, code) || is_in_ranges(p, class, other)) != class->is_negated;
    }
    }
}

bool ere_search(const ere_program *program, fmt_str text) {
    matcher m;
    place_set *now = &m.sets[0], *next = &m.sets[1];
    m.program = program;
    m.round = 1;
    m.has_matched = false;
    now->n_places = 0;
    memset(m.seen, 0, sizeof m.seen);
    for (uint64_t at = 0;;) {
        uint32_t code = ERE_NO_CHARACTER;
        m.is_begin = at == 0;
        m.is_end = at == text.size;
        add_place(&m, now, 0); /* a match may begin here as well; same round as what went on from before */
        if (m.has_matched || m.is_end) {
            return m.has_matched;
        }
        const unsigned size = utf8_decode((const uint8_t *)text.data + at, text.size - at, &code);
        at += size > 0 ? size : 1;
        m.is_begin = false;
        m.is_end = at == text.size;
        next->n_places = 0;
        m.round++;
        for (uint32_t i = 0; i < now->n_places; i++) {
            if (takes(program, &program->steps[now->places[i]], code)) {
                add_place(&m, next, now->places[i] + 1u);
            }
        }
        place_set *const swapped = now;
        now = next;
        next = swapped;
    }
}
