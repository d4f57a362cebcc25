/* wal_story.c — a writer that is killed by tests: it does its work and says on standard output, unbuffered, what was acknowledged.
 *
 *     wal_story DIRECTORY commit N      N transactions of two quins each, in files of 4096 bytes; subjects 2i and 2i + 1
 *     wal_story DIRECTORY suspend NAME… one transaction (subjects 100 and 101) that waits for all of these names, for a day
 *     wal_story DIRECTORY keep-going N  the same as commit, but after a failed commit it says so and goes on
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wal/wal.h"

static void say(const char *word, unsigned long long number) {
    char line[64];
    const int size = snprintf(line, sizeof line, "%s %llu\n", word, number);
    if (write(STDOUT_FILENO, line, (size_t)size) != size) {
        exit(3);
    }
}

static void check(qn_status status, const error_context *err) {
    if (status < 0) {
        fprintf(stderr, "%s\n", error_text(err));
        exit(1);
    }
}

static void gather(wal *log, uint64_t subject, error_context *err) {
    static const char text[] = "http://e.example/tide";
    wal_begin(log);
    check(wal_add_term(log, (fmt_str){text, sizeof text - 1}, err), err);
    for (uint64_t i = 0; i < 2; i++) {
        const q42_quin quin = q42_quin_make(subject + i, 2, 3, 4, 5);
        check(wal_add_quin(log, &quin, err), err);
    }
}

static void commit(wal *log, unsigned long long n, bool goes_on) {
    for (unsigned long long i = 1; i <= n; i++) {
        error_context err = {0};
        gather(log, 2 * i, &err);
        const qn_status status = wal_commit_unsigned(log, NULL, &err);
        if (goes_on && status < 0) {
            say("refused", i);
        } else {
            check(status, &err);
            say("acknowledged", i);
        }
    }
}

static void suspend(wal *log, char *const *names, int n_names) {
    error_context err = {0};
    wal_proposal proposal = {.agreement = 0xA11CE, .proposer = 1, .expires_ms = wal_now(log) + 86400000, .threshold = (uint8_t)n_names,
                             .n_signers = (uint8_t)n_names};
    for (int i = 0; i < n_names; i++) {
        proposal.signers[i] = q42_hash(names[i], strlen(names[i]));
    }
    gather(log, 100, &err);
    check(wal_suspend(log, &proposal, NULL, &err), &err);
    say("suspended", 1);
}

int main(int argc, char **argv) {
    wal *log = NULL;
    error_context err = {0};
    if (argc < 4) {
        return 2;
    }
    check(wal_open(&(wal_options){.directory = argv[1], .may_create = true, .rotate_bytes = WAL_LEAST_ROTATE}, &log, NULL, &err), &err);
    if (strcmp(argv[2], "suspend") == 0) {
        suspend(log, argv + 3, argc - 3 < 8 ? argc - 3 : 8);
    } else {
        commit(log, strtoull(argv[3], NULL, 10), strcmp(argv[2], "keep-going") == 0);
    }
    wal_close(log);
    return 0;
}
