/* journal_text.h — the frames of a journal, and what it makes of its volume, as lines or JSON.
 *
 * A statement is shown in N-Quads; its terms are looked up in the journal, then in the volume, when that is given. What is known nowhere
 * is <urn:quoin:hash:HEX16>.
 *
 * Threading: one thread at a time.
 */
#ifndef HOST_JOURNAL_TEXT_H
#define HOST_JOURNAL_TEXT_H
#include <jansson.h>

#include "base/text_buffer.h"
#include "graph/journal_file.h"
#include "graph/journal_state.h"
#include "graph/term_text.h"

typedef struct journal_text {
    const journal_state *state;
    graph_volume *volume;  /* null: only the journal's own terms */
    term_printer printer;  /* when volume is not null */
    term_cell cell;
    char *room;            /* [NTRIPLES_TERM_ROOM] */
    text_buffer line;      /* of the statement that was made last, terminated by a line feed */
} journal_text;

qn_status journal_text_init(journal_text *text, const journal_state *state, graph_volume *volume, error_context *err);
void journal_text_deinit(journal_text *text);

/* text->line becomes WORD and the statement. */
qn_status journal_text_make(journal_text *text, const char *word, const q42_quin *quin, error_context *err);

/* Prints to standard output, or with a list fills that. QN_IO without words when standard output is closed.
 *
 *   frames    every frame of a committed transaction
 *   changes   what the journal does in the end, as lines of an RDF patch: D what goes, then A what comes
 */
typedef qn_status journal_show_fn(const q42_journal *journal, const journal_state *state, graph_volume *volume, json_t *list,
                                  error_context *err);
journal_show_fn journal_show_frames, journal_show_changes;

/* "begin", "add", ... */
const char *journal_type_name(q42_journal_type type);
json_t *journal_describe_header(const q42_journal *journal);

#endif
