/* cf_file.c — level 0: the bytes of the file, and what loading it does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/elf_note.h"
#include "backends/process_guard.h"
#include "base/machine.h"
#include "base/mapped_file.h"
#include "file/elf_view.h"
#include "file/file_suites.h"

#define SUFFIX ".quoin.so"

typedef struct open_file {
    mapped_file file;
    elf_view view;
    elf_facts facts;
    bool is_sanitized; /* such a build has symbols, libraries and constructors of the sanitizer */
} open_file;

static void open_plugin(cf_context *ctx, open_file *out) {
    error_context err = {0};
    char why[ELF_WHY_SIZE];
    CF_CHECK(ctx, mapped_file_open(ctx->plugin_path, &out->file, &err) >= 0, "%s", error_text(&err));
    CF_CHECK(ctx, elf_view_read(out->file.span, &out->view, why), "%s", why);
    error_clear(&err);
    CF_CHECK(ctx, elf_note_read(out->file.span, &out->facts, &err) >= 0, "%s", error_text(&err));
    out->is_sanitized = out->facts.has_note && out->facts.note.sanitizer != QN_SANITIZER_NONE;
}

static void close_plugin(open_file *f) {
    mapped_file_close(&f->file);
}

/* --- The note --------------------------------------------------------------------------------------------------------- */

/* NAME of NAME.quoin.so, or the name of the file. */
static void name_of_file(const char *path, char *out, size_t room) {
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    const size_t length = strlen(name), suffix = sizeof SUFFIX - 1;
    const size_t n = length > suffix && strcmp(name + length - suffix, SUFFIX) == 0 ? length - suffix : length;
    snprintf(out, room, "%.*s", (int)n, name);
}

static void the_note_is_there_and_lets_the_file_be_loaded(cf_context *ctx) {
    open_file f;
    qn_machine machine;
    error_context err = {0};
    char name[256];
    open_plugin(ctx, &f);
    CF_CHECK(ctx, f.facts.has_note, "it has no note; quoin_add_plugin makes one, or QN_PLUGIN_NOTE of <quoin/note.h>");
    CF_CHECK(ctx, machine_detect(&machine, &err) >= 0, "%s", error_text(&err));
    name_of_file(ctx->plugin_path, name, sizeof name);
    CF_CHECK(ctx, elf_note_judge(name, &f.facts.note, &machine, &err) >= 0, "%s", error_text(&err));
    CF_CHECK(ctx, f.facts.note.name[0] != '\0' && f.facts.note.version[0] != '\0' && f.facts.note.licence[0] != '\0',
             "name, version or licence of the note is empty");
    CF_CHECK(ctx, f.facts.note.device_class >= QN_DEVICE_CPU && f.facts.note.device_class <= QN_DEVICE_REMOTE, "device class %u",
             f.facts.note.device_class);
    CF_CHECK(ctx, f.facts.note.reserved == 0, "the reserved word of the note is %u", f.facts.note.reserved);
    close_plugin(&f);
}

static qn_query_fn load(cf_context *ctx) {
    qn_query_fn query = NULL;
    void *library = dlopen(ctx->plugin_path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    CF_CHECK(ctx, library != NULL, "it cannot be loaded: %s", dlerror());
    void *symbol = dlsym(library, QN_QUERY_SYMBOL);
    CF_CHECK(ctx, symbol != NULL, "it does not export %s", QN_QUERY_SYMBOL);
    memcpy(&query, &symbol, sizeof query);
    return query;
}

static void the_note_says_what_the_query_says(cf_context *ctx) {
    const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = "conform", .cpu_features = {ctx->features}};
    qn_query_out out = {.size = sizeof out};
    open_file f;
    open_plugin(ctx, &f);
    CF_CHECK(ctx, f.facts.has_note, "it has no note");
    const qn_status status = load(ctx)(&in, &out);
    CF_CHECK(ctx, status == QN_OK, "query answers %s", cf_status(status));
    const qn_note *note = &f.facts.note;
    CF_CHECK(ctx, strcmp(note->name, out.name) == 0, "the note says name '%s', the query '%s'", note->name, out.name);
    CF_CHECK(ctx, strcmp(note->version, out.version) == 0, "the note says version '%s', the query '%s'", note->version, out.version);
    CF_CHECK(ctx, strcmp(note->licence, out.licence) == 0, "the note says licence '%s', the query '%s'", note->licence, out.licence);
    CF_CHECK(ctx, note->abi_minors[QN_ABI_MAJOR] == out.minor, "the note says minor %u, the query %u", note->abi_minors[QN_ABI_MAJOR], out.minor);
    close_plugin(&f);
}

/* --- What the linker sees --------------------------------------------------------------------------------------------- */

static void one_symbol_is_exported(cf_context *ctx) {
    open_file f;
    bool is_export, is_there = false;
    const char *name;
    open_plugin(ctx, &f);
    for (uint64_t i = 0; (name = elf_view_symbol(&f.view, i, &is_export)) != NULL; i++) {
        const bool is_entry = strncmp(name, "quoin_backend_query_", 20) == 0;
        is_there = is_there || (is_export && strcmp(name, QN_QUERY_SYMBOL) == 0);
        CF_CHECK(ctx, !is_export || name[0] == '\0' || is_entry || f.is_sanitized,
                 "it exports %s; %s alone is wanted (hidden visibility and exports.map see to it)", name, QN_QUERY_SYMBOL);
    }
    CF_CHECK(ctx, is_there, "it does not export %s", QN_QUERY_SYMBOL);
    close_plugin(&f);
}

static bool is_allowed_library(const char *name) {
    static const char *const beginnings[] = {"libc.so.", "libm.so.", "ld-linux", "libgcc_s.so.", "libpthread.so.", "libdl.so."};
    for (size_t i = 0; i < CF_COUNT_OF(beginnings); i++) {
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void no_library_beyond_the_system_s_own_is_needed(cf_context *ctx) {
    open_file f;
    const char *name;
    open_plugin(ctx, &f);
    for (uint32_t i = 0; (name = elf_view_needed(&f.view, i)) != NULL; i++) {
        CF_CHECK(ctx, is_allowed_library(name) || f.is_sanitized,
                 "it needs %s; link it statically with hidden symbols, or open it in start", name);
    }
    close_plugin(&f);
}

static void nothing_runs_when_it_is_loaded(cf_context *ctx) {
    open_file f;
    open_plugin(ctx, &f);
    /* One is the compiler's own (frame_dummy). */
    CF_CHECK(ctx, f.view.n_constructors <= 1 || f.is_sanitized, "it has %llu constructors; the compiler's own is one",
             (unsigned long long)f.view.n_constructors);
    close_plugin(&f);
}

static void its_stack_and_code_are_plain(cf_context *ctx) {
    open_file f;
    open_plugin(ctx, &f);
    CF_CHECK(ctx, !f.view.has_executable_stack, "it wants an executable stack");
    CF_CHECK(ctx, !f.view.has_writable_code, "it has a segment that is writable and executable");
    CF_CHECK(ctx, !elf_view_has_text_relocations(&f.view), "it has text relocations");
    close_plugin(&f);
}

static const char *const forbidden[] = {
    "abort", "exit", "_exit", "_Exit", "quick_exit", "raise", "kill", "signal", "sigaction", "setlocale", "fork", "vfork", "execve",
    "posix_spawn", "posix_spawnp", "system", "popen", "putenv", "setenv", "unsetenv", "clearenv", "chdir", "umask", "atexit", "longjmp",
    "siglongjmp", "fesetround", "fesetenv", "printf", "puts", "putchar", "perror"};

static bool is_forbidden(const char *name) {
    for (size_t i = 0; i < CF_COUNT_OF(forbidden); i++) {
        if (strcmp(name, forbidden[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Told and not judged: a library that is linked in statically may have a use for them that never comes true. */
static void imports_that_change_the_process_are_told(cf_context *ctx) {
    open_file f;
    bool is_export;
    const char *name;
    uint32_t n = 0;
    open_plugin(ctx, &f);
    for (uint64_t i = 0; (name = elf_view_symbol(&f.view, i, &is_export)) != NULL; i++) {
        if (!is_export && is_forbidden(name)) {
            cf_note(ctx, "it imports %s: a plugin leaves the process as it is", name);
            n++;
        }
    }
    if (n > 0 && !f.is_sanitized) {
        cf_unsupported(ctx, "%u imports could change or end the process; see the notes", n);
    }
    close_plugin(&f);
}

/* --- Loading ---------------------------------------------------------------------------------------------------------- */

static void loading_it_changes_nothing(cf_context *ctx) {
    process_state before;
    char changed[400], grown[160];
    process_state_take(&before);
    (void)load(ctx);
    const bool is_changed = process_state_restore(&before, changed, sizeof changed, grown, sizeof grown);
    CF_CHECK(ctx, !is_changed, "loading it changes the process: %s", changed);
    CF_CHECK(ctx, grown[0] == '\0', "loading it leaves %s", grown);
}

static void asking_it_changes_nothing(cf_context *ctx) {
    const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = "conform", .cpu_features = {ctx->features}};
    process_state before;
    char changed[400], grown[160];
    const qn_query_fn query = load(ctx);
    process_state_take(&before);
    for (uint32_t i = 0; i < 10; i++) {
        qn_query_out out = {.size = sizeof out};
        (void)query(&in, &out);
    }
    const bool is_changed = process_state_restore(&before, changed, sizeof changed, grown, sizeof grown);
    CF_CHECK(ctx, !is_changed, "the query changes the process: %s", changed);
    CF_CHECK(ctx, grown[0] == '\0', "the query leaves %s", grown);
}

static void it_is_found_once_when_loaded_twice(cf_context *ctx) {
    CF_CHECK(ctx, load(ctx) == load(ctx), "loading it twice gives two functions");
}

/* What a host does that finds the same plugin under two names, and what two versions of one plugin are. */
static void two_copies_do_not_meet(cf_context *ctx) {
    char path[32];
    const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = "conform", .cpu_features = {ctx->features}};
    qn_query_out first = {.size = sizeof first}, second = {.size = sizeof second};
    open_file f;
    qn_query_fn other = NULL;
    open_plugin(ctx, &f);
    const int fd = memfd_create("copy", MFD_CLOEXEC);
    CF_CHECK(ctx, fd >= 0, "no copy could be made in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const bool is_written = write(fd, f.file.span.data, (size_t)f.file.span.size) == (ssize_t)f.file.span.size;
    const qn_query_fn query = load(ctx);
    void *library = is_written ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    void *symbol = library == NULL ? NULL : dlsym(library, QN_QUERY_SYMBOL);
    close(fd);
    CF_CHECK(ctx, is_written, "no copy could be made in memory");
    CF_CHECK(ctx, symbol != NULL, "a copy of it cannot be loaded beside it: %s", dlerror());
    memcpy(&other, &symbol, sizeof other);
    CF_CHECK(ctx, query(&in, &first) == QN_OK && other(&in, &second) == QN_OK, "one of two copies does not answer the query");
    CF_CHECK(ctx, query != other && first.plugin != second.plugin, "two copies of the file share their table: a symbol of one is the other's");
    close_plugin(&f);
}

static const cf_test tests[] = {
    CF_TEST(the_note_is_there_and_lets_the_file_be_loaded, "Q7", CF_MUST_PROTOCOL),
    CF_TEST(the_note_says_what_the_query_says, "Q7", CF_MUST_PROTOCOL),
    CF_TEST(one_symbol_is_exported, "Q1", CF_MUST_PROTOCOL),
    CF_TEST(no_library_beyond_the_system_s_own_is_needed, "Q2", CF_MUST_PROTOCOL),
    CF_TEST(nothing_runs_when_it_is_loaded, "Q3", CF_MUST_PROTOCOL),
    CF_TEST(its_stack_and_code_are_plain, "Q2", CF_MUST_PROTOCOL),
    CF_TEST(imports_that_change_the_process_are_told, "E2", 0),
    CF_TEST(loading_it_changes_nothing, "Q3", CF_MUST_PROTOCOL),
    CF_TEST(asking_it_changes_nothing, "Q3", CF_MUST_PROTOCOL),
    CF_TEST(it_is_found_once_when_loaded_twice, "Q3", CF_MUST_PROTOCOL),
    CF_TEST(two_copies_do_not_meet, "Q1", CF_MUST_PROTOCOL),
};
const cf_suite cf_suite_file = {0, "file", tests, CF_COUNT_OF(tests), true};
