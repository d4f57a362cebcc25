/* conform_main.c — quoin-conform: checks one plugin against the ABI, test by test. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backends/elf_note.h"
#include "backends/host_services.h"
#include "base/clock.h"
#include "base/mapped_file.h"
#include "core/cf_blob_files.h"
#include "program/conform_compare.h"
#include "program/conform_report.h"

static void take_time(char *out, size_t room, const char *format) {
    const time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) == NULL || strftime(out, room, format, &parts) == 0) {
        snprintf(out, room, "1970-01-01");
    }
}

/* The linker's build id, for the report; a file that cannot be read so is a matter of level 0. */
static void read_build_id(conform_run *run) {
    mapped_file file;
    elf_facts facts;
    if (run->request->path[0] == '\0' || mapped_file_open(run->request->path, &file, NULL) < 0) {
        return;
    }
    if (elf_note_read(file.span, &facts, NULL) >= 0) {
        snprintf(run->file_build_id, sizeof run->file_build_id, "%s", facts.build_id);
    }
    mapped_file_close(&file);
}

/* Without its device, or when it hangs, only the file can be looked at. */
static void keep_file_tests(conform_run *run) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < run->plan.n; i++) {
        if (run->plan.entries[i].suite->level == 0) {
            run->plan.entries[n++] = run->plan.entries[i];
        }
    }
    run->plan.n = n;
}

static void open_first(conform_run *run, conform_runner *runner) {
    conform_run_opening(runner, &run->opening);
    run->is_here = run->opening.outcome != OUTCOME_UNSUPPORTED;
    run->is_stuck = run->opening.outcome == OUTCOME_TIMEOUT;
    run->n_broken += run->is_stuck;
    run->facts = runner->facts;
    if (!run->is_here || run->is_stuck) {
        keep_file_tests(run);
    }
}

static void run_tests(conform_run *run, conform_runner *runner) {
    const conform_request *r = run->request;
    for (uint32_t i = 0; i < run->plan.n; i++) {
        const conform_entry *entry = &run->plan.entries[i];
        conform_result *result = &run->results[i];
        conform_run_one(runner, entry, result);
        if (conform_is_interrupted) {
            return;
        }
        conform_waive(&run->waivers, entry, conform_is_must(r, entry), result);
        conform_coverage_add(&run->coverage, result);
        run->n_of[result->outcome]++;
        run->n_broken += conform_is_broken(run, i);
        if (!r->json) {
            conform_print_result(run, i);
        }
    }
}

/* The report alone goes to standard output when it is wanted there. */
static uint32_t tell_differences(const conform_run *run, const conform_baseline *baseline) {
    const conform_request *r = run->request;
    const uint32_t n_slower = r->compare == NULL ? 0 : conform_baseline_compare(baseline, run, r->percent, r->json ? stderr : stdout);
    return r->has_percent ? n_slower : 0;
}

static int tell_run(const conform_run *run, const conform_baseline *baseline, error_context *err) {
    const conform_request *r = run->request;
    qn_status status = r->json ? conform_print_json(run, err) : QN_OK;
    if (!r->json && r->coverage) {
        conform_coverage_print(&run->coverage);
    }
    if (!r->json) {
        conform_print_summary(run);
    }
    if (status >= 0 && r->report != NULL) {
        status = conform_write_report(run, r->report, err);
    }
    const uint32_t n_slower = tell_differences(run, baseline);
    return status < 0 ? CONFORM_IO : run->n_broken > 0 || n_slower > 0 ? CONFORM_FAILED : run->is_here ? CONFORM_PASSED : CONFORM_NOT_HERE;
}

/* A folder for what drivers want kept from one test to the next. Without one, each test begins with an empty store. */
static void make_blob_folder(char *path, size_t room) {
    const char *base = getenv("TMPDIR");
    const int n = snprintf(path, room, "%s/quoin-conform-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
    if (n < 0 || (size_t)n >= room || mkdtemp(path) == NULL || setenv(CF_BLOB_FOLDER, path, 1) != 0) {
        path[0] = '\0';
    }
}

static void remove_blob_folder(const char *path) {
    DIR *entries = path[0] == '\0' ? NULL : opendir(path);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        (void)unlinkat(dirfd(entries), entry->d_name, 0);
    }
    if (entries != NULL) {
        closedir(entries);
        (void)rmdir(path);
    }
}

static void run_everything(conform_run *run, conform_runner *runner) {
    char folder[CONFORM_PATH_SIZE];
    make_blob_folder(folder, sizeof folder);
    read_build_id(run);
    open_first(run, runner);
    if (!run->request->json) {
        conform_print_head(run);
    }
    run_tests(run, runner);
    remove_blob_folder(folder);
}

static int run_plan(conform_run *run, const conform_baseline *baseline, int argc, char *const *argv, error_context *err) {
    conform_runner runner = {.request = run->request, .argc = argc, .argv = argv};
    const double begin = clock_seconds();
    take_time(run->begun_at, sizeof run->begun_at, "%Y-%m-%dT%H:%M:%SZ");
    run->results = calloc(run->plan.n, sizeof *run->results);
    if (run->results == NULL) {
        (void)FAIL(err, QN_NO_HOST_MEM, "no memory for the results");
        return CONFORM_IO;
    }
    run_everything(run, &runner);
    run->seconds = clock_seconds() - begin;
    const int status = conform_is_interrupted ? CONFORM_INTERRUPTED : tell_run(run, baseline, err);
    for (uint32_t i = 0; i < run->plan.n; i++) {
        conform_result_free(&run->results[i]);
    }
    conform_result_free(&run->opening);
    free(run->results);
    return status;
}

static int run_request(const conform_request *r, int argc, char *const *argv, error_context *err) {
    static conform_run run; /* large */
    conform_baseline baseline = {NULL, NULL};
    char today[16];
    int status = CONFORM_USAGE;
    run.request = r;
    run.is_here = true;
    take_time(today, sizeof today, "%Y-%m-%d");
    if ((r->waivers == NULL || conform_waivers_read(r->waivers, today, &run.waivers, err) >= 0) && conform_plan_make(r, &run.plan, err) >= 0
        && (r->compare == NULL || conform_baseline_read(r->compare, &baseline, err) >= 0)) {
        if (r->list) {
            conform_print_list(&run);
            status = CONFORM_PASSED;
        } else {
            status = run_plan(&run, &baseline, argc, argv, err);
        }
    }
    conform_baseline_free(&baseline);
    conform_plan_free(&run.plan);
    conform_waivers_free(&run.waivers);
    conform_coverage_free(&run.coverage);
    return status;
}

static int dispatch(int argc, char **argv) {
    static conform_request request; /* large */
    error_context err = {0};
    int status;
    if (argc > 1 && strcmp(argv[1], CONFORM_CHILD) == 0) {
        return conform_child_main(argc - 2, argv + 2);
    }
    if (conform_request_read(&request, argc - 1, argv + 1, &status, &err) >= 0) {
        status = CONFORM_PASSED;
        if (request.help) {
            conform_print_help();
        } else if (request.version) {
            printf("quoin-conform %s, plugin ABI %d.%d\n", host_version(), QN_ABI_MAJOR, QN_ABI_MINOR);
        } else {
            status = run_request(&request, argc - 1, argv + 1, &err);
        }
    }
    if (err.code < 0) {
        fprintf(stderr, "quoin-conform: %s\n", error_text(&err));
    }
    return status;
}

static void interrupt(int number) {
    (void)number;
    conform_is_interrupted = 1;
}

int main(int argc, char **argv) {
    const struct sigaction on_interrupt = {.sa_handler = interrupt};
    signal(SIGPIPE, SIG_IGN); /* a closed output is an error of write, not the end of the process */
    if (argc < 2 || strcmp(argv[1], CONFORM_CHILD) != 0) {
        sigaction(SIGINT, &on_interrupt, NULL);
        sigaction(SIGTERM, &on_interrupt, NULL);
    }
    const int status = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "quoin-conform: standard output cannot be written\n");
        return CONFORM_IO;
    }
    return status;
}
