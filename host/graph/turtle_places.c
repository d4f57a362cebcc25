/* turtle_places.c — a stack of open brackets. */
#include "graph/turtle_places.h"

#include <string.h>

enum { SUBJECT, PREDICATE, OBJECT, GRAPH };

static turtle_frame *top(turtle_places *places) {
    return &places->frames[places->depth];
}

void turtle_places_start(turtle_places *places) {
    memset(places, 0, offsetof(turtle_places, frames));
    places->frames[0] = (turtle_frame){.bracket = 0};
}

/* ---------------------------------------------------------------- what a byte means */

static void begin_term(turtle_places *places, uint8_t c, turtle_place place) {
    turtle_frame *frame = top(places);
    if (c == '@' && frame->next == OBJECT) {
        places->is_part = true;
    } else if (c == '@') {
        places->is_directive = true;
    }
    places->first = c;
    places->last = place;
    *(places->is_part ? &places->part : &frame->terms[frame->next]) = place;
    frame->is_empty = false;
}

static void end_term(turtle_frame *frame) {
    frame->next += frame->next < OBJECT;
}

/* Inside of [ ] the bracket is the subject; inside of ( ) it stands for the subject, and every term is an object. */
static void open_bracket(turtle_places *places, uint8_t c, turtle_place place) {
    if (c == '{') {
        places->graph = top(places)->terms[SUBJECT];
    } else {
        begin_term(places, c, place);
    }
    if (places->depth < TURTLE_MAX_DEPTH) {
        places->depth++;
        *top(places) = (turtle_frame){{place, place, place}, c, c == '{' ? SUBJECT : c == '[' ? PREDICATE : OBJECT, true};
    }
}

static void close_bracket(turtle_places *places, uint8_t c) {
    places->depth -= places->depth > 0;
    if (c == '}') {
        top(places)->next = SUBJECT;
    } else {
        end_term(top(places));
    }
}

void turtle_places_note(turtle_places *places, uint8_t c, turtle_place place) {
    places->noted = c;
    places->noted_at = place;
}

void turtle_places_settle(turtle_places *places) {
    const uint8_t c = places->noted;
    places->noted = 0;
    switch (c) {
    case 0: case ',':
        break;
    case ';':
        top(places)->next = PREDICATE;
        break;
    case '.':
        top(places)->next = SUBJECT;
        places->is_directive = false;
        break;
    case '^':
        places->is_part = true;
        break;
    case '[': case '(': case '{':
        open_bracket(places, c, places->noted_at);
        break;
    case ']': case ')': case '}':
        close_bracket(places, c);
        break;
    default:
        begin_term(places, c, places->noted_at);
        break;
    }
}

/* PREFIX and BASE end with an IRI, @prefix and @base with a full stop behind one. GRAPH leaves its name where a subject stands. */
void turtle_places_end_term(turtle_places *places, turtle_term_form form) {
    turtle_frame *frame = top(places);
    if (places->is_part) {
        places->is_part = false;
    } else if (places->is_directive) {
        places->is_directive = form != TURTLE_IRI;
    } else if (form == TURTLE_WORD && frame->next == SUBJECT) {
        places->is_directive = places->first != 'G' && places->first != 'g';
    } else {
        end_term(frame);
    }
}

/* ---------------------------------------------------------------- answers */

bool turtle_places_is_start(const turtle_places *places) {
    const turtle_frame *frame = &places->frames[places->depth];
    return frame->next == SUBJECT && frame->bracket == 0 && !places->is_directive;
}

turtle_place turtle_places_find(const turtle_places *places, uint32_t term, bool is_opened) {
    const turtle_frame *frame = &places->frames[places->depth];
    /* libserd tells an empty list when it has seen its end. */
    if (places->depth > 0 && (is_opened || (frame->bracket == '(' && frame->is_empty))) {
        frame--;
    }
    return term == GRAPH ? places->graph : frame->terms[term];
}
