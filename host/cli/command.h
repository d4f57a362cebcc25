/* command.h — what every sub-command shares: common options, configuration, exit statuses, and the engine's parts in
 * order.
 *
 * A command's run function parses its own table together with common_options, then asks for as much of the engine as it
 * needs: command_start_team for threads, command_choose_backend for a device.
 *
 * Threading: the command line is one thread; workers belong to the team.
 * Memory:    command_finish frees everything that a command asked for.
 */
#ifndef HOST_COMMAND_H
#define HOST_COMMAND_H
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "backends/choose.h"
#include "backends/host_services.h"
#include "backends/registry.h"
#include "base/config.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/team.h"
#include "cli/options.h"

/* Exit statuses: documented in quoin(1) and stable. */
enum {
    EXIT_DONE = 0,
    EXIT_BAD_INPUT = 1,
    EXIT_USAGE = 2,
    EXIT_BACKEND_REFUSED = 3,
    EXIT_NO_BACKEND = 4,
    EXIT_NO_MEMORY = 5,
    EXIT_IO = 6,
    EXIT_INCOMPLETE = 7, /* verify: nothing is wrong, but something is missing */
    EXIT_CANCELLED = 130
};

typedef struct command_context {
    /* common options */
    bool json, quiet, verbose, help;
    const char *config_path;
    uint32_t threads;            /* 0 = as many as this process may use */
    const char *backend_request; /* null = auto */
    option_list plugin_files, plugin_dirs;
    double probe_timeout;        /* seconds; 0 = the usual */
    bool no_probe_speed, verify_backend;

    arguments args;
    error_context err;
    config settings;
    qn_machine machine;
    team *workers;
    registry backends;
    host_services services;
    backend on;                  /* valid when on.plugin is not null */
    bool backend_was_named;
    bool is_with_backend;        /* what fails now is the backend's doing: decides between exit statuses */
} command_context;

typedef struct command {
    const char *name;
    const char *summary;    /* one line */
    const char *synopsis;   /* behind "quoin NAME " */
    const char *example;    /* lines of a worked example */
    const option *(*options)(void); /* the command's own table */
    int (*run)(command_context *c); /* arguments are parsed; returns the exit status */
    bool is_without_backend; /* --help leaves out the options that choose one */
} command;

/* The commands, ending with a null name. */
extern const command *const commands[];

/* Fills c from configuration, environment and argv, in this order; later ones win. */
qn_status command_parse(command_context *c, const command *which, int argc, char *const *argv);
void command_finish(command_context *c);

/* Threads, machine facts and services. */
qn_status command_start_team(command_context *c);
/* Finds the plugins. Implies command_start_team. From now on descriptor 1 is standard error, and what this program prints goes
 * through a descriptor that plugins do not know: a driver's banner cannot get into the output. */
qn_status command_find_backends(command_context *c);
/* Finds the plugins and opens the backend that was asked for. layers_on, measure and accept as in
 * backend_request; all may be null. */
qn_status command_choose_backend(command_context *c, const char *layers_on, backend_measure_fn *measure,
                                 backend_accept_fn *accept, void *ctx);

/* True when --backend asks for help on a backend; command_backend_help prints it and returns the exit status. */
bool command_wants_backend_help(const command_context *c);
int command_backend_help(command_context *c);

/* Prints the error (as JSON when asked for) and returns the exit status that belongs to it. */
int command_fail(command_context *c);
int command_exit_status(const command_context *c, qn_status status);

/* Prints one JSON object and a line feed on standard output; takes over the reference. EXIT_IO when that fails. */
int command_print_json(command_context *c, json_t *object);

/* Writes to standard output; false when it is closed or full, which is told on standard error the first time. */
bool command_write(const char *text, size_t size);

/* Does standard output go to a terminal? Asked of this, because descriptor 1 is no longer it once a plugin may be loaded. */
bool command_output_is_terminal(void);

/* At the very beginning: from here on nothing that was printed, and nothing that jansson frees, is left behind in memory. */
void command_keep_no_copies(void);
/* At the very end: false when anything that was printed did not arrive. */
bool command_close_output(void);

/* [{key, default, choices, help}] of a backend that was loaded. */
json_t *command_options_json(const qn_query_out *facts);

/* JSON string of bytes that may be no UTF-8: malformed ones become U+FFFD. */
json_t *command_json_text(const char *text, size_t size);

/* A bar for long work that also sees Ctrl-C: begin, give command_show_progress and the struct to the work, end. */
typedef struct command_progress {
    command_context *c;
    progress_bar bar;
} command_progress;
void command_begin_progress(command_progress *p, command_context *c, const char *label);
bool command_show_progress(void *progress, uint64_t done, uint64_t total);
void command_end_progress(command_progress *p);

/* Set by SIGINT and SIGTERM: the flag that plugins and the generation loop poll. */
void command_catch_signals(command_context *c);

const char *command_version_text(void);

extern const command command_convert, command_ingest, command_verify, command_inspect, command_run, command_chat, command_tokenize,
    command_backends, command_bench, command_query, command_export, command_stats, command_diff, command_compact,
    command_migrate, command_publish, command_journal, command_vault, command_merge,
    command_key, command_wal, command_rules, command_perplexity, command_observe, command_prove, command_check, command_certify;

#endif
