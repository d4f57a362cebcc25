/* auto_choice.c — auto: who could win, who does, and why. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <quoin/glue.h>

#include "backends/choice.h"
#include "backends/refusal.h"
#include "backends/split_backend.h"
#include "base/log.h"

#define MAX_CANDIDATES 16u

typedef struct field {
    candidate items[MAX_CANDIDATES];
    uint32_t n;
    candidate small[MAX_CANDIDATES]; /* measured devices that cannot hold the whole model */
    uint32_t n_small;
} field;

static void print_end(const char *name, const qn_device_info *device, const probe_end *end) {
    error_context err = {0};
    survey_refuse(name, device, end, false, &err);
    log_line(QN_LOG_INFO, "%s", error_text(&err));
}

static uint64_t find_room(const qn_device_info *info) {
    return info->memory_free > 0 ? info->memory_free : info->memory_total;
}

/* A device of its own memory that cannot hold the model. */
static bool is_too_small(const qn_device_info *info, const workload *model, probe_end *out) {
    const uint64_t room = find_room(info);
    if ((info->flags & QN_DEVICE_HOST_MEMORY) != 0 || room == 0 || model->memory_bytes <= room) {
        return false;
    }
    *out = (probe_end){.status = QN_NO_DEVICE_MEM, .stage = "plan"};
    snprintf(out->reason, sizeof out->reason, "the model needs %.1f MiB there, %.1f MiB are free",
             (double)model->memory_bytes / 1048576.0, (double)room / 1048576.0);
    return true;
}

static void add_device(const choice *c, field *f, uint32_t entry, const probe_device *device, const workload *model) {
    const char *name = c->reg->entries[entry].name;
    candidate made = {.entry = entry, .name = name, .device = *device};
    qn_format format;
    probe_end end;
    if ((device->info.flags & QN_DEVICE_SOFTWARE) != 0) {
        log_line(QN_LOG_INFO, "backend %s device %s skipped: software device (name it to use it: --backend %s:software)", name,
                 device->info.name, name);
    } else if (device->end.status < 0) {
        print_end(name, &device->info, &device->end);
    } else if (is_too_small(&device->info, model, &end)) {
        print_end(name, &device->info, &end);
        if (score_predict(&made, model, &format) && made.is_measured && f->n_small < MAX_CANDIDATES) {
            f->small[f->n_small++] = made;
        }
    } else if (!score_predict(&made, model, &format)) {
        log_line(QN_LOG_INFO, "backend %s device %s skipped: it does not run weights in %s", name, device->info.name,
                 qn_format_name(format));
    } else if (f->n < MAX_CANDIDATES) {
        made.is_measured = made.is_measured && !c->request->is_unmeasured; /* an earlier probe may have timed it */
        f->items[f->n++] = made;
    }
}

/* Asks one plugin, and adds those of its devices that could be used. Who is alone need not be timed. */
static void ask(choice *c, uint32_t index, bool is_alone, const workload *model, field *f) {
    survey_result result;
    const registry_entry *entry = &c->reg->entries[index];
    const survey_need need = {.level = c->request->is_unmeasured || is_alone ? 2 : 3, .model = model};
    backend_spec spec = {0}, full;
    error_context err = {0};
    snprintf(spec.name, sizeof spec.name, "%s", entry->name);
    if (choice_fill(c, &spec, &full, &err) < 0) {
        log_line(QN_LOG_INFO, "%s", error_text(&err));
        return;
    }
    survey_ask(choice_asker(c), entry, &full, &need, &result);
    const probe_answer *answer = &result.probe.answer;
    if (answer->end.status < 0) {
        print_end(entry->name, NULL, &answer->end);
        return;
    }
    for (uint32_t i = 0; i < answer->n_devices; i++) {
        add_device(c, f, index, &answer->devices[i], model);
    }
}

/* One physical device stays once: with the backend that stands first. */
static void drop_twins(field *f) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const candidate *twin = NULL;
        for (uint32_t k = 0; k < n && twin == NULL; k++) {
            twin = score_is_same_device(&f->items[k], &f->items[i]) ? &f->items[k] : NULL;
        }
        if (twin != NULL) {
            log_line(QN_LOG_INFO, "backend %s device %s skipped: backend %s runs the same device", f->items[i].name,
                     f->items[i].device.info.id, twin->name);
        } else {
            f->items[n++] = f->items[i];
        }
    }
    f->n = n;
}

/* Devices that are too small get another chance with the program's cpu for the layers that do not fit. */
static void divide_small(const choice *c, field *f, uint32_t own, const workload *model) {
    const candidate *cpu = NULL;
    for (uint32_t i = 0; i < f->n; i++) {
        cpu = f->items[i].entry == own ? &f->items[i] : cpu;
    }
    const candidate rest = cpu != NULL ? *cpu : (candidate){.name = NULL};
    for (uint32_t i = 0; i < f->n_small && f->n < MAX_CANDIDATES && !c->request->is_unmeasured; i++) {
        if (score_divide(&f->small[i], &rest, model, find_room(&f->small[i].device.info))) {
            f->items[f->n++] = f->small[i];
        }
    }
}

static void print_place(const candidate *c, bool is_chosen) {
    char speed[64], layers[64] = "";
    if (c->n_layers > 0) {
        snprintf(layers, sizeof layers, " for layers 0 to %u, the rest on cpu,", c->n_layers - 1);
    }
    if (c->is_measured) {
        snprintf(speed, sizeof speed, c->ms < 100.0 ? "predicted %.3g ms/token" : "predicted %.0f ms/token", c->ms);
    } else {
        snprintf(speed, sizeof speed, "unmeasured");
    }
    log_line(QN_LOG_INFO, "backend %s device %s%s %s: %s", c->name, c->device.info.id, layers, is_chosen ? "chosen" : "not needed",
             speed);
}

/* Is there a GPU in the machine that nothing here has used? By vendor, because every server has some display controller. */
static bool has_gpu(void) {
    static const char *const vendors[] = {"0x10de", "0x1002", "0x8086"};
    bool is_found = false;
    DIR *devices = opendir("/sys/bus/pci/devices");
    for (struct dirent *e; devices != NULL && !is_found && (e = readdir(devices)) != NULL;) {
        char path[300], text[16] = "", vendor[16] = "";
        snprintf(path, sizeof path, "%s/class", e->d_name);
        const int fd = e->d_name[0] == '.' ? -1 : openat(dirfd(devices), path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strncmp(text, "0x03", 4) == 0) {
            snprintf(path, sizeof path, "%s/vendor", e->d_name);
            const int vendor_fd = openat(dirfd(devices), path, O_RDONLY | O_CLOEXEC);
            const ssize_t n = vendor_fd >= 0 ? read(vendor_fd, vendor, sizeof vendor - 1) : 0;
            for (size_t i = 0; n > 0 && i < sizeof vendors / sizeof vendors[0]; i++) {
                is_found = is_found || strncmp(vendor, vendors[i], 6) == 0;
            }
            if (vendor_fd >= 0) {
                close(vendor_fd);
            }
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    if (devices != NULL) {
        closedir(devices);
    }
    return is_found;
}

static void tell_of_gpu(const backend *on) {
    if (on->info.device_class == QN_DEVICE_CPU && has_gpu()) {
        log_line(QN_LOG_INFO, "this machine has a GPU that is not used; quoin backends --explain says why");
    }
}

/* Opens a candidate, with the program's cpu behind it when it takes a part of the layers alone. */
static qn_status open_candidate(choice *c, const candidate *item, backend *out, error_context *err) {
    static const backend_spec cpu = {.name = "cpu"};
    backend_spec spec = {0}, full, rest;
    backend first, second;
    snprintf(spec.name, sizeof spec.name, "%s", item->name);
    snprintf(spec.device, sizeof spec.device, "%s", item->device.info.id);
    QN_TRY(choice_fill(c, &spec, &full, err), err, "preparing backend %s", spec.name);
    if (item->n_layers == 0) {
        return choice_open(c, &full, out, err);
    }
    QN_TRY(choice_fill(c, &cpu, &rest, err), err, "preparing backend cpu");
    QN_TRY(backend_open(c->reg, c->services, &full, &first, err), err, "opening backend %s", spec.name);
    const qn_status status = backend_open(c->reg, c->services, &rest, &second, err);
    if (status < 0) {
        backend_close(&first);
        return status;
    }
    QN_TRY(split_backend_open(&first, &second, item->n_layers, out, err), err, "dividing the model");
    return choice_accept(c, out, err);
}

/* Opens the first of the ranked candidates that can be. */
static qn_status open_ranked(choice *c, const field *f, backend *out, error_context *err) {
    qn_status status = QN_UNAVAILABLE;
    for (uint32_t i = 0; i < f->n && (i == 0 || choice_may_go_on(status)); i++) {
        if (i > 0) {
            log_line(QN_LOG_INFO, "%s", error_text(err));
            error_clear(err);
        }
        status = open_candidate(c, &f->items[i], out, err);
        if (status >= 0) {
            for (uint32_t k = i; k < f->n; k++) {
                print_place(&f->items[k], k == i);
            }
            tell_of_gpu(out);
            return QN_OK;
        }
    }
    return status;
}

/* Nothing else can be used: the cpu of this program when it computes right, otherwise the reference. */
static qn_status open_processor(choice *c, backend *out, error_context *err) {
    static const backend_spec cpu = {.name = "cpu"}, reference = {.name = "reference"};
    error_context cpu_error = {0};
    backend_spec full;
    qn_status status = choice_fill(c, &cpu, &full, &cpu_error);
    status = status >= 0 ? backend_open(c->reg, c->services, &full, out, &cpu_error) : status;
    if (status >= 0) {
        status = backend_known_answer(out, &cpu_error);
        if (status >= 0 && c->request->accept != NULL) {
            status = c->request->accept(c->request->ctx, out, &cpu_error);
        }
        if (status >= 0) {
            tell_of_gpu(out);
            return QN_OK;
        }
        backend_close(out);
        if (!choice_may_go_on(status)) {
            *err = cpu_error;
            return status;
        }
    }
    log_line(QN_LOG_WARN, "%s; using the slow reference backend instead", error_text(&cpu_error));
    status = choice_fill(c, &reference, &full, err);
    return status >= 0 ? choice_open(c, &full, out, err) : status;
}

/* Plugins that did not come with the program. */
static uint32_t count_rivals(const choice *c) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->reg->n_entries; i++) {
        n += !registry_is_own(&c->reg->entries[i]);
    }
    return n;
}

qn_status choose_automatically(choice *c, backend *out, error_context *err) {
    field f;
    char program[REGISTRY_PATH_SIZE];
    const uint32_t n_rivals = count_rivals(c);
    const int own = registry_find(c->reg, "cpu");
    const bool has_own = own >= 0 && registry_is_own(&c->reg->entries[own]);
    f.n = f.n_small = 0;
    if (n_rivals == 0 || !probe_find_program(program, sizeof program)) {
        return open_processor(c, out, err);
    }
    const workload *model = NULL;
    QN_TRY(choice_model(c, &model, err), err, "comparing devices");
    for (uint32_t i = 0; i < c->reg->n_entries; i++) {
        if (!registry_is_own(&c->reg->entries[i])) {
            ask(c, i, n_rivals == 1 && !has_own, model, &f);
        }
    }
    if (f.n + f.n_small > 0 && has_own) {
        ask(c, (uint32_t)own, false, model, &f);
        divide_small(c, &f, (uint32_t)own, model);
    }
    score_rank(f.items, f.n);
    drop_twins(&f);
    if (f.n > 0) {
        const qn_status status = open_ranked(c, &f, out, err);
        if (status >= 0 || !choice_may_go_on(status)) {
            return status;
        }
        log_line(QN_LOG_INFO, "%s", error_text(err));
        error_clear(err);
    }
    return open_processor(c, out, err);
}
