/* main.c — quoin: finds the sub-command and runs it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/crash_report.h"
#include "backends/probe.h"
#include "backends/probe_child.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/words.h"
#include "cli/command.h"
#include "common/crc32c.h"

/* In the order of `quoin --help`: models first, then volumes. */
const command *const commands[] = {&command_convert, &command_verify,   &command_inspect,  &command_run,     &command_chat,
                                   &command_tokenize, &command_backends, &command_bench,    &command_perplexity, &command_ingest,
                                   &command_query,    &command_export,   &command_stats,    &command_diff,     &command_merge,
                                   &command_journal,  &command_compact,  &command_migrate,  &command_publish,  &command_vault,
                                   &command_wal,      &command_key,      &command_rules,    &command_observe,  &command_prove,
                                   &command_check,    &command_certify,  &command_prove,    &command_check,
                                   &command_certify,  NULL};

static const char *next_command(void *ctx) {
    size_t *at = ctx;
    return commands[*at] != NULL ? commands[(*at)++]->name : NULL;
}

static int print_usage(void) {
    printf("quoin — verified weights, chosen compute, plain text out\n\nusage: quoin COMMAND [options]\n\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    printf("\nquoin COMMAND --help explains a command; quoin --version tells build and ABI.\n\n"
           "example:\n  quoin convert smollm2.gguf -o smollm2.p64 && quoin verify smollm2.p64\n"
           "  quoin run smollm2.p64 --prompt 'The tide comes in' -n 64\n");
    return EXIT_DONE;
}

static int print_version(void) {
    char features[256];
    qn_machine machine;
    error_context err = {0};
    const bool is_known = machine_detect(&machine, &err) == QN_OK;
    printf("quoin %s\nabi %d.%d\nbuild %s\ncpu %s\n", command_version_text(), QN_ABI_MAJOR, QN_ABI_MINOR,
           host_build_id(), is_known ? machine_describe_features(&machine, features, sizeof features) : "unknown");
    return EXIT_DONE;
}

static command_context context; /* large, and one a process */

/* Parsing failed, perhaps before it came to --json. */
static bool is_json_asked(int argc, char *const *argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            return true;
        }
    }
    return false;
}

static int refuse_command(int argc, char *const *argv) {
    size_t at = 0;
    const char *name = argv[1], *nearest = words_find_nearest(name, next_command, &at);
    context.json = is_json_asked(argc, argv);
    if (nearest != NULL) {
        FAIL(&context.err, QN_BAD_INPUT, "unknown command %s; did you mean %s?", name, nearest);
    } else {
        FAIL(&context.err, QN_BAD_INPUT, "unknown command %s; quoin --help lists the commands", name);
    }
    command_fail(&context);
    return EXIT_USAGE;
}

static int run_command(const command *which, int argc, char *const *argv) {
    int status = EXIT_USAGE;
    if (command_parse(&context, which, argc, argv) < 0) {
        context.json = context.json || is_json_asked(argc, argv);
        command_fail(&context);
        log_line(QN_LOG_INFO, "usage: quoin %s %s", which->name, which->synopsis);
    } else {
        status = context.help                              ? EXIT_DONE
                 : command_wants_backend_help(&context) ? command_backend_help(&context)
                                                        : which->run(&context);
    }
    command_finish(&context);
    return status;
}

/* A standard descriptor that the caller closed would be given to the next file that is opened, and text meant for the user
 * would go there. The place is taken by something that cannot be written (or, for errors, be seen). */
static void occupy_standard_descriptors(void) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1) {
            (void)open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

static int dispatch(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage();
        return argc > 1 ? EXIT_DONE : EXIT_USAGE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        return print_version();
    }
    if (strcmp(name, PROBE_COMMAND) == 0) {
        return probe_child_run(argc - 2, argv + 2);
    }
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return run_command(commands[i], argc - 2, argv + 2);
        }
    }
    return refuse_command(argc, argv);
}

int main(int argc, char **argv) {
    occupy_standard_descriptors();
    command_keep_no_copies();
    crash_report_install();
    probe_use_own_program();
    signal(SIGPIPE, SIG_IGN); /* a closed output is an error of write, not the end of the process */
    const int status = dispatch(argc, argv);
    return command_close_output() ? status : EXIT_IO;
}
