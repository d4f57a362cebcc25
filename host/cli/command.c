/* command.c — parsing in the order configuration, environment, command line; starting the engine's parts; leaving with
 * the right status. */
#define _GNU_SOURCE
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <quoin/glue.h>

#include "base/log.h"
#include "base/machine.h"
#include "base/scrub.h"
#include "base/words.h"
#include "common/utf8.h"

#define MAX_THREADS 256
#define OUTPUT_BUFFER_BYTES 4096u
#define BACKEND_SECTION "backend "

enum { N_GENERAL = 6, N_COMMON = 13 }; /* common options that have nothing to do with backends come first */

static command_context *volatile signal_context; /* the one context whose cancel flag signals set */

static const option *make_common_options(command_context *c) {
    static option table[N_COMMON];
    const option filled[] = {
        {OPTION_FLAG, "json", 0, NULL, "one JSON object on standard output, nothing else there", &c->json, 0, 0, NULL,
         NULL},
        {OPTION_FLAG, "quiet", 'q', NULL, "only errors on standard error", &c->quiet, 0, 0, NULL, NULL},
        {OPTION_FLAG, "verbose", 'v', NULL, "more on standard error", &c->verbose, 0, 0, NULL, NULL},
        {OPTION_FLAG, "help", 'h', NULL, "this text", &c->help, 0, 0, NULL, NULL},
        {OPTION_STRING, "config", 0, "FILE", "configuration file (default: see quoin(1))", &c->config_path, 0, 0, NULL,
         NULL},
        {OPTION_UINT, "threads", 't', "N", "worker threads; 0 = as many as may be used", &c->threads, 0, MAX_THREADS,
         NULL, NULL},
        {OPTION_STRING, "backend", 'b', "SPEC", "NAME[:DEVICE][,key=value]…[;…] or auto", &c->backend_request, 0, 0,
         NULL, NULL},
        {OPTION_LIST, "plugin", 0, "FILE", "also offer this plugin file", &c->plugin_files, 0, 0, NULL, NULL},
        {OPTION_LIST, "plugin-dir", 0, "DIR", "also look for plugins in this folder", &c->plugin_dirs, 0, 0, NULL,
         NULL},
        {OPTION_FLOAT, "probe-timeout", 0, "S", "seconds that a plugin has to answer a probe (default: 2 to 30, by its kind)",
         &c->probe_timeout, 0.01, 3600, NULL, NULL},
        {OPTION_FLAG, "no-probe-speed", 0, NULL, "do not time devices; auto then goes by their class", &c->no_probe_speed, 0,
         0, NULL, NULL},
        {OPTION_FLAG, "verify-backend", 0, NULL, "probe again, whatever is remembered", &c->verify_backend, 0, 0, NULL,
         NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    memcpy(table, filled, sizeof filled);
    return table;
}

/* --config must be known before the rest is parsed, because the file comes first. */
static const char *find_config_option(int argc, char *const *argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--config=", 9) == 0) {
            return argv[i] + 9;
        }
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) {
            return argv[i + 1];
        }
    }
    return NULL;
}

#define VARIABLE_PREFIX "QUOIN_"

/* Every variable of this program without its prefix, for those who misspell one. */
static const char *const variable_names[] = {"BACKEND",  "BACKENDS_DISABLE", "CHECK_CONTRACT",
                                             "CPU_MASK", "PLUGIN_DIR",       "PLUGIN_DIR_ADD"};

static const char *next_variable(void *ctx) {
    size_t *at = ctx;
    return *at < sizeof variable_names / sizeof variable_names[0] ? variable_names[(*at)++] : NULL;
}

/* Variables of other programs may begin like ours, so that only what looks like a typing error is spoken of. */
static void warn_of_variables(void) {
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        char name[64];
        size_t at = 0;
        const size_t length = strcspn(*e, "="), prefix = strlen(VARIABLE_PREFIX);
        if (length <= prefix || length - prefix >= sizeof name || strncmp(*e, VARIABLE_PREFIX, prefix) != 0) {
            continue;
        }
        snprintf(name, sizeof name, "%.*s", (int)(length - prefix), *e + prefix);
        const char *nearest = words_find_nearest(name, next_variable, &at);
        if (nearest != NULL && strcmp(nearest, name) != 0) {
            log_line(QN_LOG_WARN, VARIABLE_PREFIX "%s is no variable of quoin; did you mean " VARIABLE_PREFIX "%s?", name, nearest);
        }
    }
}

static bool is_own_section(const char *section, const char *command_name) {
    return strcmp(section, "common") == 0 || strcmp(section, command_name) == 0;
}

static bool is_known_section(const char *section) {
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, section) == 0) {
            return true;
        }
    }
    return strcmp(section, "common") == 0 || strncmp(section, BACKEND_SECTION, strlen(BACKEND_SECTION)) == 0;
}

static const char *next_section(void *ctx) {
    size_t *at = ctx;
    const size_t i = (*at)++;
    return i == 0 ? "common" : i > 1 && commands[i - 2] == NULL ? NULL : i == 1 ? "backend cpu" : commands[i - 2]->name;
}

static qn_status refuse_section(command_context *c, const char *where, const char *section) {
    size_t at = 0;
    const char *nearest = words_find_nearest(section, next_section, &at);
    return FAIL(&c->err, QN_BAD_INPUT, "%sunknown section [%s]; %s%s%ssections are [common], [backend NAME] and one per command",
                where, section, nearest != NULL ? "did you mean [" : "", nearest != NULL ? nearest : "",
                nearest != NULL ? "]? " : "");
}

static qn_status refuse_key(command_context *c, const char *where, const config_entry *entry, const option *const *tables,
                            uint32_t n_tables) {
    const char *nearest = options_find_nearest(tables, n_tables, entry->key);
    return FAIL(&c->err, QN_BAD_INPUT, "%sunknown key %s in [%s]; %s%s%skeys are the long options without dashes", where, entry->key,
                entry->section, nearest != NULL ? "did you mean " : "", nearest != NULL ? nearest : "",
                nearest != NULL ? "? " : "");
}

static qn_status apply_config(command_context *c, const command *which, const option *const *tables,
                              uint32_t n_tables) {
    for (uint32_t i = 0; i < c->settings.n_entries; i++) {
        const config_entry *entry = &c->settings.entries[i];
        char where[512];
        snprintf(where, sizeof where, "%.400s: line %u: ", c->settings.path, entry->line);
        if (!is_known_section(entry->section)) {
            return refuse_section(c, where, entry->section);
        }
        if (!is_own_section(entry->section, which->name)) {
            continue;
        }
        const uint32_t first = strcmp(entry->section, "common") == 0 ? n_tables - 1 : 0;
        const option *o = options_find(tables + first, n_tables - first, entry->key, strlen(entry->key));
        if (o == NULL) {
            return refuse_key(c, where, entry, tables + first, n_tables - first);
        }
        QN_TRY(option_set(o, entry->value, where, &c->err), &c->err, "reading %s", c->settings.path);
    }
    return QN_OK;
}

/* Options of backends are taken by every command, since a configuration may hold them, but shown only where they count. */
static void print_common_help(const option *table, bool is_without_backend) {
    option shown[N_COMMON];
    memcpy(shown, table, sizeof shown);
    if (is_without_backend) {
        shown[N_GENERAL].kind = OPTION_END;
    }
    options_print_help(shown);
}

qn_status command_parse(command_context *c, const command *which, int argc, char *const *argv) {
    const option *const tables[] = {which->options(), make_common_options(c)};
    const uint32_t n_tables = sizeof tables / sizeof tables[0];
    QN_TRY(config_find(find_config_option(argc, argv), &c->settings, &c->err), &c->err, "reading the configuration");
    QN_TRY(apply_config(c, which, tables, n_tables), &c->err, "reading the configuration");
    const char *from_environment = getenv("QUOIN_BACKEND");
    if (from_environment != NULL && from_environment[0] != '\0') {
        c->backend_request = from_environment;
    }
    QN_TRY(options_parse(tables, n_tables, argc, argv, &c->args, &c->err), &c->err, "reading the command line");
    log_set_level(c->quiet ? QN_LOG_ERROR : c->verbose ? QN_LOG_DEBUG : QN_LOG_INFO);
    warn_of_variables();
    if (c->help) {
        printf("usage: quoin %s %s\n%s.\n\noptions:\n", which->name, which->synopsis, which->summary);
        options_print_help(tables[0]);
        printf("\ncommon options:\n");
        print_common_help(tables[1], which->is_without_backend);
        printf("\nexample:\n%s", which->example);
    }
    return QN_OK;
}

qn_status command_start_team(command_context *c) {
    if (c->workers != NULL) {
        return QN_OK;
    }
    QN_TRY(machine_detect(&c->machine, &c->err), &c->err, "looking at the machine");
    QN_TRY(team_create(c->threads > 0 ? c->threads : c->machine.n_workers, &c->workers, &c->err), &c->err,
           "starting threads");
    host_services_init(&c->services, &c->machine, c->workers);
    const char *check = getenv("QUOIN_CHECK_CONTRACT");
    c->services.is_guarded = true;
    c->services.checks_contract = check != NULL && check[0] != '\0' && strcmp(check, "0") != 0;
    return QN_OK;
}

/* The configuration's [backend NAME] keys, malloc'ed; null without memory. */
static backend_default *list_configured_options(const config *settings, uint32_t *out_count) {
    backend_default *list = calloc(settings->n_entries + 1u, sizeof *list);
    *out_count = 0;
    for (uint32_t i = 0; list != NULL && i < settings->n_entries; i++) {
        const config_entry *entry = &settings->entries[i];
        if (strncmp(entry->section, BACKEND_SECTION, strlen(BACKEND_SECTION)) == 0) {
            const char *name = entry->section + strlen(BACKEND_SECTION);
            list[(*out_count)++] = (backend_default){name, entry->key, entry->value};
        }
    }
    return list;
}

/* True while standard output takes what it is given; the first failure is told, once. */
static bool check_output(bool is_written) {
    static bool is_broken;
    if (!is_written && !is_broken) {
        is_broken = true;
        log_line(QN_LOG_ERROR, "standard output: %s", strerror(errno));
    }
    return !is_broken;
}

static FILE *private_output; /* null: stdout still is the output */
static char output_buffers[2][OUTPUT_BUFFER_BYTES]; /* of stdout and of private_output: what was written is overwritten at the end */

static FILE *get_output(void) {
    return private_output != NULL ? private_output : stdout;
}

/* Leaves everything as it is when there is no descriptor left. */
static void protect_output(void) {
    const int copy = private_output == NULL && fflush(stdout) == 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    private_output = copy >= 0 ? fdopen(copy, "w") : private_output;
    if (copy >= 0 && private_output == NULL) {
        close(copy);
    } else if (copy >= 0) {
        setvbuf(private_output, output_buffers[1], _IOFBF, OUTPUT_BUFFER_BYTES);
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    }
}

bool command_output_is_terminal(void) {
    return isatty(fileno(get_output())) != 0;
}

bool command_write(const char *text, size_t size) {
    return check_output(fwrite(text, 1, size, get_output()) == size && fflush(get_output()) == 0);
}

bool command_close_output(void) {
    const bool is_written = check_output(fflush(get_output()) == 0 && !ferror(get_output()));
    scrub_memory(NULL, SCRUB_TEXT, output_buffers, sizeof output_buffers);
    return is_written;
}

/* jansson's strings are prompts and answers here. */
static void forget_and_free(void *memory) {
    scrub_free(memory, memory != NULL ? malloc_usable_size(memory) : 0);
}

void command_keep_no_copies(void) {
    setvbuf(stdout, output_buffers[0], _IOFBF, OUTPUT_BUFFER_BYTES);
    json_set_alloc_funcs(malloc, forget_and_free);
}

qn_status command_find_backends(command_context *c) {
    const registry_options where = {.plugin_files = c->plugin_files.items,
                                    .n_plugin_files = c->plugin_files.n_items,
                                    .plugin_dirs = c->plugin_dirs.items,
                                    .n_plugin_dirs = c->plugin_dirs.n_items};
    QN_TRY(command_start_team(c), &c->err, "starting");
    protect_output();
    registry_discover(&where, &c->backends);
    return QN_OK;
}

qn_status command_choose_backend(command_context *c, const char *layers_on, backend_measure_fn *measure,
                                 backend_accept_fn *accept, void *ctx) {
    QN_TRY(command_find_backends(c), &c->err, "starting");
    backend_request request = {.text = c->backend_request,
                               .layers_on = layers_on,
                               .probe_timeout = c->probe_timeout,
                               .is_renewing = c->verify_backend,
                               .is_unmeasured = c->no_probe_speed,
                               .measure = measure,
                               .accept = accept,
                               .ctx = ctx};
    backend_default *defaults = list_configured_options(&c->settings, &request.n_defaults);
    if (defaults == NULL) {
        return FAIL(&c->err, QN_NO_HOST_MEM, "out of memory");
    }
    request.defaults = defaults;
    c->is_with_backend = true;
    const qn_status status = backend_choose(&c->backends, &c->services, &request, &c->on, &c->backend_was_named, &c->err);
    free(defaults);
    c->is_with_backend = status < 0;
    return status;
}

void command_finish(command_context *c) {
    signal_context = NULL;
    backend_close(&c->on);
    team_destroy(c->workers);
    config_free(&c->settings);
}

int command_exit_status(const command_context *c, qn_status status) {
    const int backend_status = c->backend_was_named ? EXIT_BACKEND_REFUSED : EXIT_NO_BACKEND;
    switch (status) {
    case QN_OK: return EXIT_DONE;
    case QN_BAD_FILE:
    case QN_CHECKSUM: return EXIT_BAD_INPUT; /* never a plugin's word, whichever part of the engine found it */
    case QN_NO_HOST_MEM:
    case QN_NO_DEVICE_MEM: return EXIT_NO_MEMORY;
    case QN_CANCELLED: return EXIT_CANCELLED;
    case QN_BAD_INPUT: return c->is_with_backend ? EXIT_USAGE : EXIT_BAD_INPUT;
    case QN_IO:
    case QN_DENIED:
    case QN_NOT_FOUND: return c->is_with_backend ? backend_status : EXIT_IO;
    default: return c->is_with_backend ? backend_status : EXIT_BAD_INPUT;
    }
}

int command_fail(command_context *c) {
    const int status = command_exit_status(c, c->err.code);
    if (c->json) {
        json_t *object = json_object();
        json_object_set_new(object, "error", command_json_text(error_text(&c->err), strlen(error_text(&c->err))));
        json_object_set_new(object, "status", json_string(status_name(c->err.code)));
        if (c->err.rule != NULL) {
            json_object_set_new(object, "rule", json_string(c->err.rule));
            json_object_set_new(object, "offset", json_integer((json_int_t)c->err.offset));
        }
        command_print_json(c, object);
    }
    log_error(&c->err);
    return status;
}

int command_print_json(command_context *c, json_t *object) {
    char *text = json_dumps(object, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    json_decref(object);
    (void)c;
    if (text == NULL) {
        return EXIT_NO_MEMORY;
    }
    const bool is_written = command_write(text, strlen(text)) && command_write("\n", 1);
    scrub_free(text, strlen(text) + 1); /* an answer may be in it */
    return is_written ? EXIT_DONE : EXIT_IO;
}

void command_begin_progress(command_progress *p, command_context *c, const char *label) {
    p->c = c;
    progress_begin(&p->bar, label, c->quiet || c->json);
}

bool command_show_progress(void *progress, uint64_t done, uint64_t total) {
    command_progress *p = progress;
    progress_show(&p->bar, done, total);
    return !qn_flag_is_up(&p->c->services.cancel);
}

void command_end_progress(command_progress *p) {
    progress_end(&p->bar);
}

static void on_interrupt(int number) {
    (void)number;
    if (signal_context != NULL) {
        if (qn_flag_is_up(&signal_context->services.cancel)) { /* asked twice: do not wait for the step */
            signal(number, SIG_DFL);
            raise(number);
        }
        qn_flag_set(&signal_context->services.cancel, true);
    }
}

void command_catch_signals(command_context *c) {
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    signal_context = c;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

json_t *command_json_text(const char *text, size_t size) {
    json_t *value = json_stringn(text, size);
    if (value != NULL) {
        return value;
    }
    char *clean = malloc(size * 3 + 1);
    size_t used = 0;
    for (size_t at = 0; clean != NULL && at < size;) {
        const unsigned length = utf8_decode((const uint8_t *)text + at, size - at, NULL);
        memcpy(clean + used, length > 0 ? text + at : "\xEF\xBF\xBD", length > 0 ? length : 3);
        used += length > 0 ? length : 3;
        at += length > 0 ? length : 1;
    }
    value = clean != NULL ? json_stringn(clean, used) : json_string("");
    scrub_free(clean, used);
    return value;
}

const char *command_version_text(void) {
    return QUOIN_VERSION;
}
