/* term_names.h — terms as a reader would say them.
 *
 *     IRI      as subject or object: its label in the volume where it has one (ground_volume.h; without language or English first),
 *              otherwise its last part with "_" as a blank; as predicate: the words of its last part, "birthPlace" as birth place
 *     literal  "value" in quotation marks; with a datatype and nothing but letters, digits, + - . : bare, as in 42 or 2026-11-30
 *     blank    _:label
 *
 * Whatever a volume holds, a name is one line without a character that could be read as anything but text: control characters, line
 * and paragraph separators, characters without width or that turn the direction of writing, and < > [ ] are written \uXXXX (\u{XXXXX}
 * beyond four digits), a backslash and a quotation mark with a backslash before them. Bytes that are no UTF-8 become U+FFFD. So no name
 * can spell a control token, a line of its own or the number of another fact.
 *
 * A name is at most TERM_NAME_MAX bytes; a longer one is cut there and ends with U+2026.
 *
 * Threading: one thread at a time per namer.
 * Memory:    owned by the namer; TERM_NAMES_KEPT names are kept, and 24 bytes for each id with a label.
 */
#ifndef HOST_GROUND_TERM_NAMES_H
#define HOST_GROUND_TERM_NAMES_H
#include "base/text_buffer.h"
#include "graph/term_text.h"
#include "ground/ground_volume.h"

#define TERM_NAME_MAX 320u
#define TERM_NAMES_KEPT 256u

typedef struct kept_name {
    uint64_t id;
    uint32_t place;
    size_t at, size; /* in term_namer.texts */
} kept_name;

/* The best label of an id that was found. */
typedef struct known_label {
    uint64_t id, label;  /* the literal's id, as an object */
    uint32_t rate;       /* 0 is best; UINT32_MAX: none */
} known_label;

typedef struct term_namer {
    const ground_volume *gv;
    term_printer printer;
    term_cell cell, label;
    known_label *labels; /* [n_labels] ascending by id */
    uint32_t n_labels;
    text_buffer texts;
    kept_name kept[TERM_NAMES_KEPT];
    uint32_t n_kept;
} term_namer;

/* term_namer_deinit is right afterwards in any case. */
qn_status term_namer_init(term_namer *namer, const ground_volume *gv, error_context *err);
void term_namer_deinit(term_namer *namer);

/* Looks up the labels of ids (ascending, each once), in one pass over what the index of subjects names; without it no IRI has a label. Once
 * per namer. */
qn_status term_namer_find_labels(term_namer *namer, const uint64_t *ids, uint32_t n, error_context *err);

/* Appends the name of `id` in `place` (NTRIPLES_SUBJECT, _PREDICATE, _OBJECT). */
qn_status term_namer_append(term_namer *namer, uint64_t id, uint32_t place, text_buffer *out, error_context *err);

/* Appends text[0..size) in the form above, cut at TERM_NAME_MAX; false without memory. Nothing is quoted around it. */
bool term_name_escape(const char *text, uint64_t size, text_buffer *out);

#endif
