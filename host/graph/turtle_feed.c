/* turtle_feed.c — see turtle_feed.h. */
#include "graph/turtle_feed.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"
#include "graph/rdf_reader.h"

#define LOOK_AHEAD 64u /* bytes that are there when a token is judged, unless the text ends */
#define N_PREFIXES 64u

enum {
    OUTSIDE,      /* between tokens */
    UNDERSCORE,   /* behind a _ that begins a token */
    NAME,         /* prefixed name, keyword or label: full stops may stand inside */
    NUMBER,       /* number, language tag or directive */
    IRI,
    COMMENT,
    OPENING,      /* behind one or two opening quotation marks */
    SHORT_STRING,
    LONG_STRING
};

void turtle_feed_start(turtle_feed *feed, byte_source *source, bool has_graphs, error_context *err) {
    memset(feed, 0, offsetof(turtle_feed, places));
    turtle_places_start(&feed->places);
    feed->source = source;
    feed->has_graphs = has_graphs;
    feed->err = err;
    feed->fault = TURTLE_N_RULES;
    feed->line = 1;
    feed->inserted = "";
}

/* ---------------------------------------------------------------- the bytes */

/* How much of raw[at..end) is complete UTF-8; the bytes of a character that is not yet all there wait. */
static size_t check_utf8(const turtle_feed *feed) {
    const uint64_t bad = utf8_first_invalid(feed->raw + feed->at, feed->end - feed->at);
    return bad == UTF8_ALL_VALID ? feed->end : feed->at + (size_t)bad;
}

/* Makes sure that LOOK_AHEAD bytes are there, if the text has them. */
static bool refill(turtle_feed *feed) {
    uint64_t size = 0;
    memmove(feed->raw, feed->raw + feed->at, feed->end - feed->at);
    feed->end -= feed->at;
    feed->at = 0;
    feed->status = byte_source_read(feed->source, feed->raw + feed->end, TURTLE_FEED_SIZE - feed->end, &size, feed->err);
    feed->is_over = size < TURTLE_FEED_SIZE - feed->end;
    feed->end += size;
    feed->checked = check_utf8(feed);
    return feed->status == QN_OK;
}

static bool is_start(const turtle_feed *feed, const char *bytes, size_t size) {
    return feed->next_offset == 0 && feed->end - feed->at >= size && memcmp(feed->raw + feed->at, bytes, size) == 0;
}

static void fail(turtle_feed *feed, turtle_rule rule) {
    if (feed->fault == TURTLE_N_RULES) {
        feed->fault = rule;
    }
}

/* The byte at raw[at + ahead], or 0 behind the end. */
static uint8_t look(const turtle_feed *feed, size_t ahead) {
    return feed->end - feed->at > ahead ? feed->raw[feed->at + ahead] : 0;
}

static bool is_new_line(const turtle_feed *feed, uint8_t byte) {
    return feed->last == '\n' || (feed->last == '\r' && byte != '\n');
}

/* Of a byte that is about to be given and begins a character. */
static turtle_place next_place(const turtle_feed *feed, uint8_t byte) {
    const bool is_new = is_new_line(feed, byte);
    return (turtle_place){feed->line + is_new, is_new ? 1 : feed->column + 1, feed->next_offset};
}

/* Line and column of a byte that is about to be given. */
static void count_place(turtle_feed *feed, uint8_t byte) {
    if (is_new_line(feed, byte)) {
        feed->line++;
        feed->column = 0;
    }
    feed->column += (byte & 0xC0) != 0x80;
    feed->offset = feed->next_offset++;
    feed->last = byte;
}

/* ---------------------------------------------------------------- the tokens */

static bool is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(uint8_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* May stand in a name, apart from the full stop. */
static bool is_name(const turtle_feed *feed, uint8_t c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c >= 0x80 ||
           (!feed->is_label && (c == ':' || c == '%' || c == '\\'));
}

/* Does the full stop that is about to be given belong to the name or the number before it? */
static bool stop_is_inside(const turtle_feed *feed) {
    size_t n = 1;
    if (feed->state == NUMBER) {
        const uint8_t next = look(feed, 1);
        const size_t exponent = look(feed, 2) == '+' || look(feed, 2) == '-' ? 3 : 2;
        return is_digit(next) || ((next == 'e' || next == 'E') && is_digit(look(feed, exponent)));
    }
    while (n < LOOK_AHEAD && look(feed, n) == '.') {
        n++;
    }
    const uint8_t next = look(feed, n);
    return is_name(feed, next) && (next != ':' || feed->has_colon);
}

static void begin_token(turtle_feed *feed, uint8_t state) {
    feed->state = state;
    feed->token = 0;
    feed->is_label = feed->has_colon = feed->is_escaped = false;
}

static void begin_label(turtle_feed *feed) {
    begin_token(feed, NAME);
    feed->is_label = true;
    feed->label_size = 0;
    feed->inserted = "x";
}

/* Could the label that has just ended be taken for a generated one? */
static void end_label(turtle_feed *feed) {
    const char *at = feed->label + 5, *end = feed->label + feed->label_size;
    uint32_t number = 0;
    if (feed->label_size < 5 || memcmp(feed->label, "genid", 5) != 0) {
        return;
    }
    feed->taken |= 1;
    while (at < end && is_digit((uint8_t)*at) && number < N_PREFIXES) {
        number = number * 10 + (uint32_t)(*at++ - '0');
    }
    if (at < end && *at == '_' && number < N_PREFIXES) {
        feed->taken |= UINT64_C(1) << number;
    }
}

static void end_token(turtle_feed *feed) {
    const bool is_word = feed->state == NAME && !feed->is_label && !feed->has_colon;
    turtle_places_end_term(&feed->places, is_word ? TURTLE_WORD : feed->state == IRI ? TURTLE_IRI : TURTLE_TERM);
    if (feed->state == NAME && feed->is_label) {
        end_label(feed);
    }
    feed->state = OUTSIDE;
}

/* libserd takes graphs in Turtle, too. */
static void change_depth(turtle_feed *feed, uint8_t c) {
    if (c == '~' || (c == '{' && look(feed, 1) == '|')) {
        fail(feed, TURTLE_TRIPLE_TERM);
    } else if (c == '{' && !feed->has_graphs) {
        fail(feed, TURTLE_GRAPH);
    }
    if (c == '[' || c == '(' || c == '{') {
        feed->depth++;
        if (feed->depth > TURTLE_MAX_DEPTH) {
            fail(feed, TURTLE_NESTING);
        }
    } else if ((c == ']' || c == ')' || c == '}') && feed->depth > 0) {
        feed->depth--;
    }
}

/* VERSION or @version, and then no part of a name. */
static bool is_version(const turtle_feed *feed, uint8_t c) {
    static const char word[] = "version";
    const size_t begin = c == '@';
    for (size_t i = 0; i < sizeof word - 1; i++) {
        const uint8_t letter = look(feed, begin + i);
        if ((begin == 1 ? letter : letter | 0x20) != (uint8_t)word[i]) {
            return false;
        }
    }
    const uint8_t next = look(feed, begin + sizeof word - 1);
    return !is_letter(next) && !is_digit(next) && next < 0x80 && (next == 0 || strchr(":_-.%\\", next) == NULL);
}

static void step_outside(turtle_feed *feed, uint8_t c) {
    if (c > ' ' && c != '#') {
        turtle_places_note(&feed->places, c, next_place(feed, c));
    }
    if ((c == 'v' || c == 'V' || c == '@') && turtle_places_is_start(&feed->places) && is_version(feed, c)) {
        fail(feed, TURTLE_VERSION);
    }
    if (c == '<') {
        if (look(feed, 1) == '<') {
            fail(feed, TURTLE_TRIPLE_TERM);
        }
        begin_token(feed, IRI);
    } else if (c == '#') {
        begin_token(feed, COMMENT);
    } else if (c == '"' || c == '\'') {
        begin_token(feed, OPENING);
        feed->quote = c;
        feed->n_quotes = 1;
    } else if (c == '_') {
        begin_token(feed, UNDERSCORE);
    } else if (is_digit(c) || c == '+' || c == '-' || c == '@') {
        begin_token(feed, NUMBER);
    } else {
        feed->is_label = false;
        if (is_name(feed, c)) {
            begin_token(feed, NAME);
            feed->has_colon = c == ':';
            feed->is_escaped = c == '\\';
        } else {
            change_depth(feed, c);
        }
    }
}

static void step_name(turtle_feed *feed, uint8_t c) {
    if (feed->is_escaped) {
        feed->is_escaped = false;
    } else if (c == '.' || is_name(feed, c)) {
        feed->is_escaped = c == '\\';
        feed->has_colon |= c == ':';
    } else {
        end_token(feed);
        step_outside(feed, c);
        return;
    }
    if (feed->is_label && feed->label_size < TURTLE_LABEL_START) {
        feed->label[feed->label_size++] = (char)c;
    }
}

static void step_string(turtle_feed *feed, uint8_t c) {
    if (feed->is_escaped) {
        feed->is_escaped = false;
    } else if (c == '\\') {
        feed->is_escaped = true;
    } else if (c == feed->quote) {
        feed->n_quotes++;
        if (feed->state == SHORT_STRING || feed->n_quotes == 3) {
            end_token(feed);
        }
        return;
    }
    feed->n_quotes = 0;
}

static void step_opening(turtle_feed *feed, uint8_t c) {
    if (c == feed->quote) {
        feed->n_quotes++;
        if (feed->n_quotes == 3) {
            feed->state = LONG_STRING;
            feed->n_quotes = 0;
        }
    } else if (feed->n_quotes == 2) {
        end_token(feed);
        step_outside(feed, c);
    } else {
        feed->state = SHORT_STRING;
        step_string(feed, c);
    }
}

/* What the byte that is about to be given means. */
static void step(turtle_feed *feed, uint8_t c) {
    feed->token++;
    switch (feed->state) {
    case UNDERSCORE:
        if (c == ':') {
            begin_label(feed);
        } else {
            begin_token(feed, NAME);
            step_name(feed, c);
        }
        break;
    case NAME:
        step_name(feed, c);
        break;
    case NUMBER:
        if (!is_letter(c) && !is_digit(c) && c != '+' && c != '-' && c != '.') {
            end_token(feed);
            step_outside(feed, c);
        }
        break;
    case IRI:
        if (c == '>') {
            end_token(feed);
        }
        break;
    case COMMENT:
        feed->state = c == '\n' || c == '\r' ? OUTSIDE : COMMENT;
        break;
    case OPENING:
        step_opening(feed, c);
        break;
    case SHORT_STRING: case LONG_STRING:
        step_string(feed, c);
        break;
    default:
        step_outside(feed, c);
        break;
    }
    if (feed->token > RDF_LONGEST_TOKEN && feed->state != OUTSIDE && feed->state != COMMENT) {
        fail(feed, TURTLE_TOKEN);
    }
}

/* A space goes before a full stop that ends a token. */
static bool ends_at_stop(turtle_feed *feed, uint8_t c) {
    if (c != '.' || feed->is_escaped || (feed->state != NAME && feed->state != NUMBER) || stop_is_inside(feed)) {
        return false;
    }
    end_token(feed);
    return true;
}

/* A NUL behind a backslash is no escape, and stays a fault. */
static bool is_in_string(const turtle_feed *feed) {
    return (feed->state == SHORT_STRING || feed->state == LONG_STRING || (feed->state == OPENING && feed->n_quotes == 1)) &&
           !feed->is_escaped;
}

/* Is this byte just one more of a string, an IRI or a comment? Most are. */
static bool is_plain(const turtle_feed *feed, uint8_t c) {
    switch (feed->state) {
    case IRI:
        return c > ' ' && c != '>';
    case COMMENT:
        return c >= ' ';
    case SHORT_STRING: case LONG_STRING:
        return c >= ' ' && c != feed->quote && c != '\\' && !feed->is_escaped && feed->n_quotes == 0;
    default:
        return false;
    }
}

int turtle_feed_next(turtle_feed *feed) {
    if (*feed->inserted != '\0') {
        return *feed->inserted++;
    }
    if (feed->places.noted != 0) {
        turtle_places_settle(&feed->places);
    }
    if (feed->at < feed->checked && is_plain(feed, feed->raw[feed->at]) && feed->token < RDF_LONGEST_TOKEN &&
        feed->end - feed->at >= LOOK_AHEAD && feed->fault == TURTLE_N_RULES) {
        const uint8_t c = feed->raw[feed->at++];
        feed->token += feed->state != COMMENT;
        count_place(feed, c);
        return c;
    }
    if (feed->end - feed->at < LOOK_AHEAD && !feed->is_over && feed->status == QN_OK && !refill(feed)) {
        return TURTLE_FEED_END;
    }
    if (feed->status != QN_OK || feed->fault != TURTLE_N_RULES || feed->at == feed->end) {
        return TURTLE_FEED_END;
    }
    uint8_t c = feed->raw[feed->at];
    if (is_start(feed, "\xEF\xBB\xBF", 3)) {
        fail(feed, TURTLE_BYTE_ORDER_MARK);
    } else if (feed->at >= feed->checked) {
        fail(feed, TURTLE_UTF_8);
    } else if (c == '\0' && !is_in_string(feed)) {
        fail(feed, TURTLE_NUL);
    } else if (ends_at_stop(feed, c)) {
        return ' ';
    } else {
        step(feed, c);
    }
    count_place(feed, c);
    feed->at++;
    if (c == '\0') {
        feed->inserted = "u0000";
        c = '\\';
    }
    return feed->fault == TURTLE_N_RULES ? c : TURTLE_FEED_END;
}

/* ---------------------------------------------------------------- generated labels */

uint32_t turtle_free_prefix(uint64_t taken) {
    uint32_t number = 0;
    while (number < N_PREFIXES && (taken >> number & 1) != 0) {
        number++;
    }
    return number;
}

void turtle_generated_prefix(uint32_t number, char out[TURTLE_LABEL_START]) {
    if (number == 0) {
        snprintf(out, TURTLE_LABEL_START, "genid");
    } else {
        snprintf(out, TURTLE_LABEL_START, "genid%u_", (unsigned)number);
    }
}
