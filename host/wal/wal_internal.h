/* wal_internal.h — the writer's insides, shared by its files.
 *
 * Threading: as wal.h.
 */
#ifndef HOST_WAL_INTERNAL_H
#define HOST_WAL_INTERNAL_H
#include "base/text_buffer.h"
#include "wal/wal.h"

struct wal {
    char *directory;
    int lock, folder, fd; /* -1 when closed */
    char *path;           /* of the file that is written */
    uint64_t first;       /* its first sequence */
    uint64_t end;         /* where the next unit begins */
    uint64_t rotate_bytes;
    bool is_failed;
    wal_clock_fn *now;
    void *now_ctx;
    wal_state state;
    /* the open unit */
    text_buffer unit;     /* whole records, flags and numbers as they will be written but for END */
    text_buffer quins;    /* [n][48], not yet in records */
    term_marks terms;     /* of the texts in `unit` */
    uint32_t n_records;
    uint64_t transaction;
    size_t last_record;   /* where in `unit` the last record begins */
};

/* Appends a record whose payload is given to the open unit. */
qn_status wal_put_record(wal *log, qwal_type type, const void *payload, uint64_t size, error_context *err);
/* Puts the gathered quins into records. */
qn_status wal_put_quins(wal *log, error_context *err);
/* Begins a unit with this transaction. */
void wal_begin_as(wal *log, uint64_t transaction);
/* One write, fsync, and the state takes the records. After this, and after any failure, no unit is open. */
qn_status wal_write_unit(wal *log, wal_receipt *out_receipt, error_context *err);
/* Digest of the open unit. */
qn_status wal_digest_unit(const wal *log, uint8_t out[Q42_DIGEST_BYTES], error_context *err);
/* A new file goes on behind the last record; its header names the last checkpoint. */
qn_status wal_start_file(wal *log, error_context *err);
/* QN_IO when an earlier failure left the log in a state that only opening it again can settle. */
qn_status wal_check_usable(const wal *log, error_context *err);

#endif
