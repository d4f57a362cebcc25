/* backend.c — from a file to an opened device, one stage after the other. */
#include "backends/backend.h"

#include <stdio.h>
#include <string.h>

#include "backends/plugin_options.h"
#include "backends/refusal.h"
#include "base/decimal.h"
#include "base/log.h"

/* What plugins are told with: nothing of them may be read before they fill it. */
static qn_error make_plugin_error(void) {
    return (qn_error){.size = sizeof(qn_error), .op = QN_NO_OP};
}

qn_status backend_start(registry_entry *entry, host_services *services, const backend_spec *spec, backend *out,
                        error_context *err) {
    qn_option options[BACKEND_MAX_OPTIONS];
    qn_error plugin_error = make_plugin_error();
    memset(out, 0, sizeof *out);
    out->spec = *spec;
    QN_TRY(registry_load(entry, &services->machine, err), err, "loading backend %s", spec->name);
    QN_TRY(plugin_options_check(&entry->facts, spec, err), err, "starting backend %s", spec->name);
    out->plugin = entry->facts.plugin;
    out->version = entry->facts.version != NULL ? entry->facts.version : "?";
    out->host_cache_bytes = services->machine.l3_bytes;
    const uint32_t n_options = plugin_options_collect(&entry->facts, spec, QN_OPTION_AT_START, options);
    const qn_status status = out->plugin->start(&services->table, options, n_options, &out->state, &plugin_error);
    if (status < 0) {
        out->state = NULL;
        backend_close(out);
        return backend_refuse_plugin(err, entry->name, "start", status, &plugin_error);
    }
    return QN_OK;
}

qn_status backend_list(const backend *b, backend_devices *out, error_context *err) {
    qn_error plugin_error = make_plugin_error();
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < BACKEND_MAX_DEVICES; i++) {
        out->infos[i].size = sizeof out->infos[i];
    }
    const qn_status status = b->plugin->devices(b->state, out->infos, sizeof out->infos[0], BACKEND_MAX_DEVICES, &out->count,
                                                &plugin_error);
    if (status < 0) {
        return backend_refuse_plugin(err, b->spec.name, "devices", status, &plugin_error);
    }
    out->count = out->count < BACKEND_MAX_DEVICES ? out->count : BACKEND_MAX_DEVICES;
    for (uint32_t i = 0; i < out->count; i++) { /* what a plugin wrote need not be terminated */
        qn_device_info *info = &out->infos[i];
        info->id[sizeof info->id - 1] = info->name[sizeof info->name - 1] = info->driver[sizeof info->driver - 1] = '\0';
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
    qn_error plugin_error = make_plugin_error();
    b->info = *info;
    const uint32_t n_options = plugin_options_collect(&entry->facts, &b->spec, QN_OPTION_AT_OPEN, options);
    const qn_status status = b->plugin->open(b->state, info->id, options, n_options, &b->device, &plugin_error);
    if (status < 0) {
        b->device = NULL;
        return backend_refuse_plugin(err, b->spec.name, "open", status, &plugin_error);
    }
    return QN_OK;
}

void backend_close_device(backend *b) {
    if (b->device != NULL) {
        b->plugin->close(b->device);
        b->device = NULL;
    }
}

void backend_close(backend *b) {
    if (b->plugin != NULL) {
        backend_close_device(b);
        if (b->state != NULL) {
            b->plugin->stop(b->state);
        }
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
