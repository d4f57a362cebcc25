/* wal_review.c — out of records of gates: those with a statement that waits for somebody's eyes. */
#include "cli/wal_review.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/graph_command.h"
#include "cli/wal_text.h"
#include "govern/gate.h"

#define LINE_SIZE 8192

static bool is_named(const qwal_audit_entry *entry, const char *gate) {
    return entry->gate.size == strlen(gate) && memcmp(entry->gate.data, gate, entry->gate.size) == 0;
}

/* A statement of such a run is an entry of its own. */
static bool wants_review(const qwal_audit *audit) {
    qwal_audit_entry entry;
    uint64_t at = 0;
    while (qwal_next_entry(audit, &at, &entry)) {
        if (is_named(&entry, "claim") && entry.verdict == VERDICT_REVIEW) {
            return true;
        }
    }
    return false;
}

static json_t *describe_reason(const qwal_audit_entry *entry) {
    return json_pack("{s:o, s:s, s:o}", "gate", command_json_text(entry->gate.data, entry->gate.size), "reason",
                     gate_code_word(entry->code), "detail", command_json_text(entry->detail.data, entry->detail.size));
}

static json_t *describe_run(const qwal_record *record, const qwal_audit *audit) {
    char hex[2 * Q42_DIGEST_BYTES + 1];
    json_t *reasons = json_array(), *statements = json_array(), *token = json_null();
    qwal_audit_entry entry;
    uint64_t at = 0;
    while (qwal_next_entry(audit, &at, &entry)) {
        if (is_named(&entry, "claim")) {
            json_array_append_new(statements, command_json_text(entry.detail.data, entry.detail.size));
        } else if (is_named(&entry, "request")) {
            json_decref(token);
            token = graph_json_id(entry.code);
        } else if (entry.verdict == VERDICT_REVIEW) {
            json_array_append_new(reasons, describe_reason(&entry));
        }
    }
    return json_pack("{s:I, s:I, s:s, s:I, s:o, s:o, s:o}", "sequence", (json_int_t)record->sequence, "time_ms",
                     (json_int_t)audit->time_ms, "policy", graph_hex(audit->policy, Q42_DIGEST_BYTES, hex), "policy_version",
                     (json_int_t)audit->policy_version, "token", token, "reasons", reasons, "statements", statements);
}

/* What would move the cursor becomes a question mark; the line feed at the end stays. */
static bool print_line(char *line, int size, size_t room) {
    const size_t n = (size_t)size < room ? (size_t)size : room - 1;
    for (size_t i = 0; i + 1 < n; i++) {
        line[i] = (unsigned char)line[i] < 0x20 || line[i] == 0x7F ? '?' : line[i];
    }
    return command_write(line, n);
}

static qn_status print_run(const qwal_record *record, const qwal_audit *audit) {
    char line[LINE_SIZE], when[WAL_TIME_SIZE];
    qwal_audit_entry entry;
    uint64_t at = 0;
    int size = snprintf(line, sizeof line, "%8" PRIu64 "  %s  policy version %u\n", record->sequence, wal_text_time(audit->time_ms, when),
                        audit->policy_version);
    bool is_taken = print_line(line, size, sizeof line);
    while (is_taken && qwal_next_entry(audit, &at, &entry)) {
        const bool is_statement = is_named(&entry, "claim");
        if (!is_statement && entry.verdict != VERDICT_REVIEW) {
            continue;
        }
        size = is_statement ? snprintf(line, sizeof line, "          %.*s\n", (int)entry.detail.size, entry.detail.data)
                            : snprintf(line, sizeof line, "          %.*s (%s): %.*s\n", (int)entry.gate.size, entry.gate.data,
                                       gate_code_word(entry.code), (int)entry.detail.size, entry.detail.data);
        is_taken = print_line(line, size, sizeof line);
    }
    return is_taken ? QN_OK : QN_IO;
}

qn_status wal_review(const wal_set *set, json_t *list, error_context *err) {
    wal_set_walk walk = {0};
    qwal_record record;
    qwal_audit audit;
    qn_status status = QN_OK;
    while (status >= 0 && wal_set_next(set, &walk, &record)) {
        if (record.type != QWAL_AUDIT || !qwal_read_audit(record.payload, &audit) || !wants_review(&audit)) {
            continue;
        }
        if (list == NULL) {
            status = print_run(&record, &audit);
        } else if (json_array_append_new(list, describe_run(&record, &audit)) != 0) {
            status = FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
    }
    return status;
}
