/* journal_file.c — journals on disk. */
#define _DEFAULT_SOURCE /* flock */
#include "graph/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/whole_io.h"
#include "graph/volume_writer.h"

/* ---------------------------------------------------------------- reading */

qn_status journal_file_open(const char *path, fmt_mode mode, fmt_note_fn *note, void *note_ctx,
                            journal_file *out_journal, error_context *err) {
    journal_file journal = {.file = {.fd = -1}};
    fmt_diag diag;
    qn_status status = mapped_file_open(path, &journal.file, err);
    if (status < 0) {
        return status;
    }
    const fmt_status found = q42_journal_open(journal.file.span, mode, &journal.journal, note, note_ctx, &diag);
    status = found == FMT_OK ? mapped_file_check(&journal.file, err) : error_from_diag(err, found, &diag, path);
    if (status < 0) {
        mapped_file_close(&journal.file);
        return status;
    }
    *out_journal = journal;
    return QN_OK;
}

void journal_file_close(journal_file *journal) {
    mapped_file_close(&journal->file);
    memset(journal, 0, sizeof *journal);
    journal->file.fd = -1;
}

qn_status journal_file_check_base(const journal_file *journal, const uint8_t digest[Q42_DIGEST_BYTES],
                                  error_context *err) {
    fmt_diag diag;
    const fmt_status status = q42_journal_check_base(&journal->journal, digest, &diag);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, journal->file.path);
}

/* ---------------------------------------------------------------- making */

static qn_status write_header(const char *path, const q42_journal_header *header, bool is_forced, error_context *err) {
    uint8_t bytes[Q42_JOURNAL_HEADER_BYTES];
    atomic_file file = {.fd = -1};
    fmt_diag diag;
    q42_journal_encode_header(header, bytes);
    fmt_status status = atomic_file_create(&file, path, is_forced, sizeof bytes, &diag);
    status = status == FMT_OK ? atomic_file_write(&file, 0, bytes, sizeof bytes, &diag) : status;
    status = status == FMT_OK ? atomic_file_commit(&file, &diag) : status;
    if (status != FMT_OK) {
        atomic_file_abort(&file);
        return error_from_diag(err, status, &diag, path);
    }
    return QN_OK;
}

qn_status journal_file_create(const char *path, const q42_journal_header *header, error_context *err) {
    return write_header(path, header, false, err);
}

qn_status journal_file_reset(const char *path, const q42_journal_header *header, error_context *err) {
    return write_header(path, header, true, err);
}

/* ---------------------------------------------------------------- appending */

static qn_status check_same(const journal_file *journal, int fd, error_context *err) {
    struct stat info;
    const mapped_file *file = &journal->file;
    if (fstat(fd, &info) != 0) {
        return error_from_errno(err, errno, file->path, "cannot read its size");
    }
    const int64_t modified = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    if ((uint64_t)info.st_dev != file->device || (uint64_t)info.st_ino != file->inode ||
        (uint64_t)info.st_size != file->span.size || modified != file->modified_ns) {
        return FAIL(err, QN_BUSY, "%s: was changed by another process; run the command again", file->path);
    }
    return QN_OK;
}

qn_status journal_writer_open(const journal_file *journal, journal_writer *out_writer, error_context *err) {
    const char *path = journal->file.path;
    journal_writer writer = {.path = path, .end = journal->journal.end, .sequence = journal->journal.last_sequence,
                             .transaction = journal->journal.last_transaction};
    qn_status status = volume_timestamp(&writer.tick, err);
    if (status < 0) {
        return status;
    }
    writer.fd = open(path, O_RDWR | O_CLOEXEC);
    if (writer.fd < 0) {
        return error_from_errno(err, errno, path, "cannot write it");
    }
    if (flock(writer.fd, LOCK_EX | LOCK_NB) != 0) {
        status = errno == EWOULDBLOCK ? FAIL(err, QN_BUSY, "%s: another process is writing it", path)
                                      : error_from_errno(err, errno, path, "cannot lock it");
    } else {
        status = check_same(journal, writer.fd, err);
    }
    if (status < 0) {
        close(writer.fd);
        return status;
    }
    *out_writer = writer;
    return QN_OK;
}

static qn_status append_frame(journal_writer *writer, const q42_journal_entry *entry, error_context *err) {
    uint8_t frame[Q42_JOURNAL_FRAME_BYTES + Q42_JOURNAL_MAX_PAYLOAD];
    const uint64_t size = q42_journal_encode(entry, frame, sizeof frame);
    if (size == 0) {
        return FAIL(err, QN_LIMIT, "%s: a term of %llu bytes is too long", writer->path,
                    (unsigned long long)entry->text.size);
    }
    if (!text_buffer_append(&writer->frames, (const char *)frame, (size_t)size)) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for the transaction", writer->path);
    }
    return QN_OK;
}

qn_status journal_writer_put(journal_writer *writer, q42_journal_entry entry, error_context *err) {
    entry.sequence = writer->sequence + 1;
    entry.tick = writer->tick;
    entry.transaction = writer->transaction;
    const qn_status status = append_frame(writer, &entry, err);
    writer->sequence += status >= 0;
    return status;
}

qn_status journal_writer_begin(journal_writer *writer, uint64_t command, uint64_t actor, error_context *err) {
    writer->transaction++;
    return journal_writer_put(writer, (q42_journal_entry){.type = Q42_JOURNAL_BEGIN, .command = command, .actor = actor},
                              err);
}

qn_status journal_writer_commit(journal_writer *writer, error_context *err) {
    const qn_status status = journal_writer_put(writer, (q42_journal_entry){.type = Q42_JOURNAL_COMMIT}, err);
    if (status < 0) {
        return status;
    }
    const bool is_written = ftruncate(writer->fd, (off_t)writer->end) == 0 &&
                            io_write_all_at(writer->fd, writer->frames.text, writer->frames.size, writer->end) &&
                            fsync(writer->fd) == 0;
    if (!is_written) {
        const int number = errno;
        /* What stays if this fails too is a transaction without its end, which nobody reads. */
        const bool is_cut = ftruncate(writer->fd, (off_t)writer->end) == 0;
        return error_from_errno(err, number, writer->path,
                                is_cut ? "cannot write it; nothing was added" : "cannot write it");
    }
    writer->end += writer->frames.size;
    writer->frames.size = 0;
    return QN_OK;
}

void journal_writer_close(journal_writer *writer) {
    if (writer->fd >= 0) {
        close(writer->fd); /* and with it the lock */
    }
    text_buffer_free(&writer->frames);
    writer->fd = -1;
}
