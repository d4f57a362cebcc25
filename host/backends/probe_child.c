/* probe_child.c — one plugin, stage by stage. Everything is written before the next stage begins. */
#define _GNU_SOURCE
#include "backends/probe_child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/probe_answer.h"
#include "backends/probe_measure.h"
#include "backends/process_guard.h"
#include "base/decimal.h"
#include "base/machine.h"

#define MAX_THREADS 256u

typedef struct child {
    int fd;
    uint32_t level;
    const char *devices;
    qn_format formats[PROBE_MAX_RATES];
    uint32_t n_formats;
    qn_machine machine;
    team *workers;
    host_services services;
    registry_entry entry;
    backend_spec spec;
    backend on;
    process_state before;
    probe_answer answer;
} child;

/* Sends what was collected; the reader sees an unfinished answer when this fails. */
static void send_text(const child *c, text_buffer *text, bool is_collected) {
    size_t at = 0;
    while (is_collected && at < text->size) {
        const ssize_t n = write(c->fd, text->text + at, text->size - at);
        if (n <= 0) {
            break;
        }
        at += (size_t)n;
    }
    text_buffer_free(text);
}

static void enter(const child *c, const char *stage) {
    text_buffer text = {0};
    send_text(c, &text, probe_answer_write_stage(&text, stage));
}

static qn_status measure(child *c, probe_device *device, error_context *err) {
    enter(c, "known answer");
    qn_status status = backend_known_answer(&c->on, err);
    if (status >= 0) {
        enter(c, c->level > 2 ? "measure" : "known answer");
        status = probe_measure_formats(&c->on, c->formats, c->n_formats, c->level > 2, device, err);
    }
    return status >= 0 && c->level > 2 ? probe_measure_steps(&c->on, device, err) : status;
}

static void try_device(child *c, probe_device *device) {
    error_context err = {0};
    device->is_tried = true;
    enter(c, "open");
    qn_status status = backend_open_device(&c->on, &c->entry, &device->info, &err);
    status = status >= 0 ? measure(c, device, &err) : status;
    if (status < 0) {
        probe_end_from_error(&device->end, status, &err);
    }
    backend_close_device(&c->on);
}

static bool is_asked(const child *c, const qn_device_info *info, const qn_device_info *picked) {
    if (c->devices[0] == '\0') {
        return (info->flags & QN_DEVICE_SOFTWARE) == 0;
    }
    return strcmp(c->devices, "all") == 0 || info == picked;
}

static qn_status probe_devices(child *c, error_context *err) {
    backend_devices found;
    enter(c, "devices");
    QN_TRY(backend_list(&c->on, &found, err), err, "listing devices");
    const qn_device_info *picked = NULL;
    if (c->devices[0] != '\0' && strcmp(c->devices, "all") != 0) {
        snprintf(c->spec.device, sizeof c->spec.device, "%s", c->devices);
        picked = backend_pick(&c->spec, &found, err);
        if (picked == NULL) {
            return QN_UNAVAILABLE;
        }
    }
    for (uint32_t i = 0; i < found.count && c->answer.n_devices < PROBE_MAX_DEVICES; i++) {
        probe_device *device = &c->answer.devices[c->answer.n_devices++];
        device->info = found.infos[i];
        if (c->level > 1 && is_asked(c, &found.infos[i], picked)) {
            try_device(c, device);
        }
    }
    return QN_OK;
}

static qn_status probe_plugin(child *c, error_context *err) {
    enter(c, "load");
    QN_TRY(registry_load_unjudged(&c->entry, &c->machine, err), err, "loading");
    snprintf(c->answer.version, sizeof c->answer.version, "%.63s", c->entry.facts.version != NULL ? c->entry.facts.version : "");
    snprintf(c->answer.licence, sizeof c->answer.licence, "%.63s", c->entry.facts.licence != NULL ? c->entry.facts.licence : "");
    enter(c, "start");
    QN_TRY(backend_start(&c->entry, &c->services, &c->spec, &c->on, err), err, "starting");
    const qn_status status = probe_devices(c, err);
    enter(c, "stop");
    backend_close(&c->on);
    return status;
}

static bool read_formats(child *c, const char *text) {
    while (*text != '\0') {
        uint64_t format;
        if (c->n_formats == PROBE_MAX_RATES || !decimal_read(&text, UINT32_MAX, &format) || (*text != ',' && *text != '\0')) {
            return false;
        }
        text += *text == ',';
        c->formats[c->n_formats++] = (qn_format)format;
    }
    return true;
}

static bool read_arguments(child *c, int argc, char *const *argv, uint64_t *out_parent, uint64_t *out_threads) {
    uint64_t fd, level;
    if (argc < 8 || !decimal_read_whole(argv[0], 65535, &fd) || !decimal_read_whole(argv[1], INT32_MAX, out_parent) ||
        !decimal_read_whole(argv[4], MAX_THREADS, out_threads) || !decimal_read_whole(argv[5], 3, &level) ||
        strlen(argv[2]) >= sizeof c->entry.name || strlen(argv[3]) >= sizeof c->entry.path || !read_formats(c, argv[7])) {
        return false;
    }
    c->fd = (int)fd;
    c->level = (uint32_t)level;
    c->devices = argv[6];
    snprintf(c->entry.name, sizeof c->entry.name, "%s", argv[2]);
    snprintf(c->spec.name, sizeof c->spec.name, "%s", argv[2]);
    snprintf(c->entry.path, sizeof c->entry.path, "%s", argv[3]);
    c->entry.origin = strcmp(argv[3], "built in") == 0 ? REGISTRY_BUILT_IN : REGISTRY_ELSEWHERE;
    for (int i = 8; i < argc; i++) {
        char key[BACKEND_KEY_SIZE];
        const char *equals = strchr(argv[i], '=');
        if (equals == NULL || (size_t)(equals - argv[i]) >= sizeof key) {
            return false;
        }
        snprintf(key, sizeof key, "%.*s", (int)(equals - argv[i]), argv[i]);
        if (backend_spec_add(&c->spec, key, equals + 1, NULL) < 0) {
            return false;
        }
    }
    return true;
}

/* Dies with its parent, leaves no core, and gives nothing to those that a driver may start. */
static bool settle(const child *c, pid_t parent) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    fcntl(c->fd, F_SETFD, FD_CLOEXEC);
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

static qn_status start_services(child *c, uint32_t threads, error_context *err) {
    QN_TRY(machine_detect(&c->machine, err), err, "looking at the machine");
    QN_TRY(team_create(threads > 0 ? threads : c->machine.n_workers, &c->workers, err), err, "starting threads");
    host_services_init(&c->services, &c->machine, c->workers);
    return QN_OK;
}

int probe_child_run(int argc, char *const *argv) {
    static child c; /* large */
    error_context err = {0};
    uint64_t parent = 0, threads = 0;
    text_buffer text = {0};
    if (!read_arguments(&c, argc, argv, &parent, &threads) || !settle(&c, (pid_t)parent)) {
        return 2;
    }
    send_text(&c, &text, probe_answer_write_begin(&text));
    qn_status status = start_services(&c, (uint32_t)threads, &err);
    process_state_take(&c.before);
    status = status >= 0 ? probe_plugin(&c, &err) : status;
    if (status < 0) {
        probe_end_from_error(&c.answer.end, status, &err);
    }
    process_state_restore(&c.before, c.answer.changed, sizeof c.answer.changed, NULL, 0);
    send_text(&c, &text, probe_answer_write_facts(&text, &c.answer) && probe_answer_write_end(&text));
    return 0;
}
