/* backend_open.c — from a file to an opened device, one stage after the other. */
#include "backends/backend.h"

#include <stdio.h>
#include <string.h>

#include "backends/contract_guard.h"
#include "backends/crash_report.h"
#include "backends/plugin_options.h"
#include "backends/refusal.h"
#include "base/decimal.h"
#include "base/log.h"

/* What plugins are told with: nothing of them may be read before they fill it. */
static qn_error make_plugin_error(void) {
    return (qn_error){.size = sizeof(qn_error), .op = QN_NO_OP};
}

void backend_guard_begin(const backend *b, process_state *before) {
    if (b->is_guarded) {
        process_state_take(before);
    }
}

void backend_guard_end(const backend *b, process_state *before, const char *verb) {
    char changed[256], grown[128];
    if (!b->is_guarded) {
        return;
    }
    if (process_state_restore(before, changed, sizeof changed, grown, sizeof grown)) {
        log_line(QN_LOG_WARN, "backend %s changed the process in %s: %s; put back", b->spec.name, verb, changed);
    }
    if (grown[0] != '\0') {
        log_line(QN_LOG_DEBUG, "backend %s took in %s: %s", b->spec.name, verb, grown);
    }
}

static qn_status call_start(backend *b, const registry_entry *entry, host_services *services, error_context *err) {
    qn_option options[BACKEND_MAX_OPTIONS];
    qn_error plugin_error = make_plugin_error();
    const uint32_t n_options = plugin_options_collect(&entry->facts, &b->spec, QN_OPTION_AT_START, options);
    b->host = plugin_host_create(services, entry);
    if (b->host == NULL) {
        return backend_refuse(err, entry->name, "start", QN_NO_HOST_MEM, "no memory for its table of services");
    }
    crash_report_enter(b->spec.name, "start");
    const qn_status status = b->plugin->start(&b->host->table, options, n_options, &b->state, &plugin_error);
    crash_report_leave();
    if (status < 0) {
        b->state = NULL;
        return backend_refuse_plugin(err, entry->name, "start", status, &plugin_error);
    }
    return b->state != NULL ? QN_OK : backend_refuse(err, entry->name, "start", QN_INTERNAL, "it succeeds and gives nothing");
}

static qn_status load_and_start(backend *b, registry_entry *entry, host_services *services, error_context *err) {
    crash_report_enter(b->spec.name, "load");
    const qn_status status = registry_load(entry, &services->machine, err);
    crash_report_leave();
    if (status < 0) {
        return error_add(err, status, __FILE__, __LINE__, "loading backend %s", b->spec.name);
    }
    QN_TRY(plugin_options_check(&entry->facts, &b->spec, err), err, "starting backend %s", b->spec.name);
    b->plugin = services->checks_contract ? contract_guard_wrap(entry->facts.plugin, entry->name) : entry->facts.plugin;
    b->version = entry->facts.version != NULL ? entry->facts.version : "?";
    return call_start(b, entry, services, err);
}

qn_status backend_start(registry_entry *entry, host_services *services, const backend_spec *spec, backend *out,
                        error_context *err) {
    process_state before;
    memset(out, 0, sizeof *out);
    out->spec = *spec;
    out->is_guarded = services->is_guarded;
    out->host_cache_bytes = services->machine.l3_bytes;
    backend_guard_begin(out, &before);
    const qn_status status = load_and_start(out, entry, services, err);
    backend_guard_end(out, &before, "start");
    if (status < 0) {
        backend_close(out);
    }
    return status;
}

qn_status backend_list(const backend *b, backend_devices *out, error_context *err) {
    qn_error plugin_error = make_plugin_error();
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < BACKEND_MAX_DEVICES; i++) {
        out->infos[i].size = sizeof out->infos[i];
    }
    crash_report_enter(b->spec.name, "devices");
    const qn_status status = b->plugin->devices(b->state, out->infos, sizeof out->infos[0], BACKEND_MAX_DEVICES, &out->count,
                                                &plugin_error);
    crash_report_leave();
    if (status < 0) {
        return backend_refuse_plugin(err, b->spec.name, "devices", status, &plugin_error);
    }
    const uint32_t n_told = out->count;
    out->count = out->count < BACKEND_MAX_DEVICES ? out->count : BACKEND_MAX_DEVICES;
    for (uint32_t i = 0; i < out->count; i++) { /* what a plugin wrote need not be terminated */
        qn_device_info *info = &out->infos[i];
        info->id[sizeof info->id - 1] = info->name[sizeof info->name - 1] = info->driver[sizeof info->driver - 1] = '\0';
        if (info->id[0] == '\0') {
            return backend_refuse(err, b->spec.name, "devices", QN_INTERNAL, "it counts %u devices, and number %u has no id", n_told, i);
        }
    }
    return out->count > 0 ? QN_OK : backend_refuse(err, b->spec.name, "devices", QN_UNAVAILABLE, "it has no device");
}

/* "#12" -> 12; false for anything else. */
static bool read_index(const char *text, uint64_t *out) {
    return text[0] == '#' && decimal_read_whole(text + 1, 999, out);
}

static bool is_wanted(const backend_spec *spec, const qn_device_info *info, uint32_t index) {
    uint64_t number;
    const bool is_software = (info->flags & QN_DEVICE_SOFTWARE) != 0;
    if (spec->device[0] == '\0') {
        return !is_software;
    }
    if (read_index(spec->device, &number)) {
        return number == index;
    }
    return strcmp(info->id, spec->device) == 0 || (is_software && strcmp(spec->device, "software") == 0);
}

const qn_device_info *backend_pick(const backend_spec *spec, const backend_devices *devices, error_context *err) {
    uint64_t number;
    for (uint32_t i = 0; i < devices->count; i++) {
        if (is_wanted(spec, &devices->infos[i], i)) {
            if (read_index(spec->device, &number)) {
                log_line(QN_LOG_WARN, "%s:#%llu is %s now; numbers change with the machine, name it %s:%s", spec->name,
                         (unsigned long long)number, devices->infos[i].name, spec->name, devices->infos[i].id);
            }
            return &devices->infos[i];
        }
    }
    if (spec->device[0] != '\0') {
        backend_refuse(err, spec->name, "devices", QN_UNAVAILABLE, "it has no device %s among its %u; the first is %s",
                       spec->device, devices->count, devices->infos[0].id);
    } else {
        backend_refuse(err, spec->name, "devices", QN_UNAVAILABLE,
                       "it has only software devices; name one to use it, --backend %s:software", spec->name);
    }
    return NULL;
}

qn_status backend_open_device(backend *b, const registry_entry *entry, const qn_device_info *info, error_context *err) {
    qn_option options[BACKEND_MAX_OPTIONS];
    process_state before;
    qn_error plugin_error = make_plugin_error();
    b->info = *info;
    plugin_host_choose_device(b->host, info);
    const uint32_t n_options = plugin_options_collect(&entry->facts, &b->spec, QN_OPTION_AT_OPEN, options);
    backend_guard_begin(b, &before);
    crash_report_enter(b->spec.name, "open");
    const qn_status status = b->plugin->open(b->state, info->id, options, n_options, &b->device, &plugin_error);
    crash_report_leave();
    backend_guard_end(b, &before, "open");
    if (status < 0) {
        b->device = NULL;
        return backend_refuse_plugin(err, b->spec.name, "open", status, &plugin_error);
    }
    return b->device != NULL ? QN_OK : backend_refuse(err, b->spec.name, "open", QN_INTERNAL, "it succeeds and gives nothing");
}

void backend_close_device(backend *b) {
    if (b->device != NULL) {
        crash_report_enter(b->spec.name, "close");
        b->plugin->close(b->device);
        crash_report_leave();
        b->device = NULL;
    }
}

void backend_close(backend *b) {
    if (b->plugin != NULL) {
        backend_close_device(b);
        if (b->state != NULL) {
            crash_report_enter(b->spec.name, "stop");
            b->plugin->stop(b->state);
            crash_report_leave();
        }
        plugin_host_destroy(b->host);
    }
    memset(b, 0, sizeof *b);
}

static qn_status list_and_open(backend *b, const registry_entry *entry, error_context *err) {
    backend_devices devices;
    QN_TRY(backend_list(b, &devices, err), err, "listing devices of %s", b->spec.name);
    const qn_device_info *info = backend_pick(&b->spec, &devices, err);
    return info == NULL ? QN_UNAVAILABLE : backend_open_device(b, entry, info, err);
}

qn_status backend_open(registry *reg, host_services *services, const backend_spec *spec, backend *out,
                       error_context *err) {
    memset(out, 0, sizeof *out);
    const int index = registry_find(reg, spec->name);
    if (index < 0) {
        return backend_refuse(err, spec->name, "discovery", QN_NOT_FOUND,
                              "no %s.quoin.so in the plugin folders; quoin backends lists what there is", spec->name);
    }
    registry_entry *entry = &reg->entries[index];
    QN_TRY(backend_start(entry, services, spec, out, err), err, "starting backend %s", spec->name);
    const qn_status status = list_and_open(out, entry, err);
    if (status < 0) {
        backend_close(out);
    }
    return status;
}
