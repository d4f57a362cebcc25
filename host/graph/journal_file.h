/* journal_file.h — a journal on disk: read, made, appended to.
 *
 *     open      maps a journal and checks it
 *     append    one transaction: frames gather in memory, commit writes and syncs them in one piece
 *     reset     a journal without transactions, about another base
 *
 * A writer holds a lock on the file: a second one is refused. What a crash left behind the last committed transaction is cut off
 * before the first new frame is written, and the numbers go on from there.
 *
 * Threading: one thread at a time per object.
 * Memory:    a writer keeps its open transaction.
 * Errors:    qn_status; after an error of commit the journal is as it was before.
 */
#ifndef HOST_GRAPH_JOURNAL_FILE_H
#define HOST_GRAPH_JOURNAL_FILE_H
#include <quoin/q42_files.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/text_buffer.h"

typedef struct journal_file {
    mapped_file file;
    q42_journal journal; /* its views live as long as the mapping */
} journal_file;

/* `note` may be null. To be closed. */
qn_status journal_file_open(const char *path, fmt_mode mode, fmt_note_fn *note, void *note_ctx,
                            journal_file *out_journal, error_context *err);
void journal_file_close(journal_file *journal); /* a zeroed one is legal */

/* QN_BAD_FILE when it is about another volume than the one with this digest. */
qn_status journal_file_check_base(const journal_file *journal, const uint8_t digest[Q42_DIGEST_BYTES],
                                  error_context *err);

/* Makes a journal without transactions; refuses to replace a file. */
qn_status journal_file_create(const char *path, const q42_journal_header *header, error_context *err);
/* The same in place of an old one. */
qn_status journal_file_reset(const char *path, const q42_journal_header *header, error_context *err);

typedef struct journal_writer {
    int fd; /* -1 when closed */
    const char *path; /* borrowed */
    uint64_t end; /* where the next transaction begins */
    uint64_t sequence, tick;
    uint32_t transaction;
    text_buffer frames;
} journal_writer;

/* Opens an existing journal that `journal` was read from. QN_BUSY when another process writes it or it has changed since. */
qn_status journal_writer_open(const journal_file *journal, journal_writer *out_writer, error_context *err);
/* Begins a transaction. */
qn_status journal_writer_begin(journal_writer *writer, uint64_t command, uint64_t actor, error_context *err);
/* One more frame; its numbers are filled in. */
qn_status journal_writer_put(journal_writer *writer, q42_journal_entry entry, error_context *err);
/* The transaction is on disk, or the journal is as it was. */
qn_status journal_writer_commit(journal_writer *writer, error_context *err);
void journal_writer_close(journal_writer *writer);

#endif
