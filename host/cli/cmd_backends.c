/* cmd_backends.c — quoin backends: what there is, what works, and why the rest does not. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <quoin/glue.h>

#include "backends/survey.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/command.h"

static struct {
    bool explain, rescan;
} settings;

static const option *backends_options(void) {
    static const option table[] = {
        {OPTION_FLAG, "explain", 0, NULL, "also what was measured, what is remembered, and how it was found out",
         &settings.explain, 0, 0, NULL, NULL},
        {OPTION_FLAG, "rescan", 0, NULL, "forget what is remembered of earlier probes and what plugins keep, and probe again", &settings.rescan, 0,
         0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

/* --- As JSON ---------------------------------------------------------------------------------------------------------- */

static json_t *make_text(const char *text) {
    return command_json_text(text, strlen(text));
}

static void add_end(json_t *object, const char *name, const qn_device_info *device, const probe_end *end) {
    error_context err = {0};
    const bool is_bad = end->status < 0;
    if (is_bad) {
        survey_refuse(name, device, end, false, &err);
        json_object_set_new(object, "stage", make_text(end->stage));
        json_object_set_new(object, "code", json_string(status_name(end->status)));
    }
    json_object_set_new(object, "reason", is_bad ? make_text(error_text(&err)) : json_string(""));
}

static json_t *describe_rates(const probe_device *device) {
    json_t *rates = json_object();
    for (uint32_t i = 0; i < device->n_rates; i++) {
        json_object_set_new(rates, qn_format_name(device->rates[i].format), json_integer((json_int_t)device->rates[i].bytes_per_s));
    }
    return rates;
}

static void add_measured(json_t *object, const char *name, const probe_device *device, const workload *model) {
    candidate c = {.name = name, .device = *device};
    qn_format format;
    json_object_set_new(object, "step_ns", json_integer((json_int_t)device->step_ns));
    json_object_set_new(object, "op_ns", json_integer((json_int_t)device->op_ns));
    json_object_set_new(object, "kv_bytes_per_s", json_integer((json_int_t)device->kv_bytes_per_s));
    json_object_set_new(object, "weight_bytes_per_s", describe_rates(device));
    if (score_predict(&c, model, &format) && c.is_measured) {
        json_object_set_new(object, "predicted_ms", json_real(c.ms));
    }
}

static json_t *describe_device(const char *name, const probe_device *device, const workload *model) {
    const qn_device_info *info = &device->info;
    const bool is_software = (info->flags & QN_DEVICE_SOFTWARE) != 0;
    json_t *object = json_object();
    json_object_set_new(object, "id", make_text(info->id));
    json_object_set_new(object, "name", make_text(info->name));
    json_object_set_new(object, "driver", make_text(info->driver));
    json_object_set_new(object, "class", json_string(elf_note_class_name(info->device_class)));
    json_object_set_new(object, "software", json_boolean(is_software));
    json_object_set_new(object, "memory_total", json_integer((json_int_t)info->memory_total));
    json_object_set_new(object, "memory_free", json_integer((json_int_t)info->memory_free));
    json_object_set_new(object, "usable", json_boolean(device->is_tried && device->end.status >= 0));
    add_end(object, name, info, &device->end);
    if (device->is_measured) {
        add_measured(object, name, device, model);
    }
    return object;
}

/* The device that stands for the backend: the first that works, otherwise the first. */
static const probe_device *pick_shown(const probe_answer *answer) {
    for (uint32_t i = 0; i < answer->n_devices; i++) {
        if (answer->devices[i].is_tried && answer->devices[i].end.status >= 0) {
            return &answer->devices[i];
        }
    }
    return answer->n_devices > 0 ? &answer->devices[0] : NULL;
}

static void add_devices(json_t *object, const registry_entry *entry, const probe_answer *answer, const workload *model) {
    const probe_device *shown = pick_shown(answer);
    const bool is_usable = answer->end.status >= 0 && shown != NULL && shown->is_tried && shown->end.status >= 0;
    json_t *devices = json_array();
    for (uint32_t i = 0; i < answer->n_devices; i++) {
        json_array_append_new(devices, describe_device(entry->name, &answer->devices[i], model));
    }
    if (shown != NULL) {
        json_object_set_new(object, "device", make_text(shown->info.name));
        json_object_set_new(object, "driver", make_text(shown->info.driver));
        json_object_set_new(object, "version", make_text(answer->version));
        json_object_set_new(object, "licence", make_text(answer->licence));
    }
    json_object_set_new(object, "usable", json_boolean(is_usable));
    if (is_usable || answer->end.status < 0 || shown == NULL) {
        add_end(object, entry->name, NULL, &answer->end);
    } else {
        add_end(object, entry->name, &shown->info, &shown->end);
    }
    json_object_set_new(object, "devices", devices);
}

static void add_note(json_t *object, const registry_entry *entry) {
    if (entry->elf.has_note) {
        json_object_set_new(object, "class", json_string(elf_note_class_name(entry->elf.note.device_class)));
        json_object_set_new(object, "build_id", json_string(entry->elf.build_id));
    }
}

/* --- Asking ----------------------------------------------------------------------------------------------------------- */

/* What belongs to the program is opened here: what it says then is what `run` would get. */
static void ask_own(command_context *c, const registry_entry *entry, survey_result *out) {
    backend opened;
    backend_spec spec = {0};
    error_context err = {0};
    probe_answer *answer = &out->probe.answer;
    memset(out, 0, sizeof *out);
    snprintf(spec.name, sizeof spec.name, "%s", entry->name);
    qn_status status = backend_open(&c->backends, &c->services, &spec, &opened, &err);
    if (status >= 0) {
        probe_device *device = &answer->devices[answer->n_devices++];
        device->info = opened.info;
        device->is_tried = true;
        snprintf(answer->version, sizeof answer->version, "%.63s", opened.version);
        snprintf(answer->licence, sizeof answer->licence, "%.63s", entry->facts.licence != NULL ? entry->facts.licence : "");
        status = backend_known_answer(&opened, &err);
        backend_close(&opened);
    }
    if (status < 0) {
        probe_end_from_error(&answer->end, status, &err);
    }
}

static void ask_one(command_context *c, surveyor *asker, const registry_entry *entry, const workload *model, survey_result *out) {
    const survey_need need = {.level = settings.explain ? 3 : 2, .with_software = true, .model = settings.explain ? model : NULL};
    backend_spec spec = {0};
    snprintf(spec.name, sizeof spec.name, "%s", entry->name);
    if (registry_is_own(entry) && !(settings.explain && entry->origin != REGISTRY_BUILT_IN)) {
        ask_own(c, entry, out);
    } else {
        survey_ask(asker, entry, &spec, &need, out);
    }
}

static json_t *describe(command_context *c, surveyor *asker, registry_entry *entry, const workload *model) {
    static survey_result result; /* large */
    json_t *object = json_object();
    error_context err = {0};
    json_object_set_new(object, "name", json_string(entry->name));
    json_object_set_new(object, "path", make_text(entry->path));
    ask_one(c, asker, entry, model, &result);
    add_note(object, entry);
    add_devices(object, entry, &result.probe.answer, model);
    json_object_set_new(object, "changes", make_text(result.probe.answer.changed));
    json_object_set_new(object, "words", make_text(result.probe.words));
    json_object_set_new(object, "remembered_s", result.is_remembered ? json_integer((json_int_t)result.age) : json_null());
    /* It has been loaded in a child and come back: now it may be loaded here, to be asked for its options. */
    if (result.probe.answer.end.status >= 0 && registry_load(entry, &c->machine, &err) >= 0) {
        json_object_set_new(object, "options", command_options_json(&entry->facts));
    }
    return object;
}

/* --- As text ---------------------------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static double number_of(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

#define PRINT(...)                                                       \
    do {                                                                 \
        char line_[4096];                                                \
        snprintf(line_, sizeof line_, __VA_ARGS__);                      \
        is_written = command_write(line_, strlen(line_)) && is_written;  \
    } while (0)

static bool print_measured(const json_t *device) {
    bool is_written = true;
    const char *format;
    json_t *rate;
    if (json_object_get(device, "step_ns") == NULL) {
        return true;
    }
    PRINT("             step %.1f us, op %.2f us, K and V %.1f GB/s; weights", number_of(device, "step_ns") / 1e3,
          number_of(device, "op_ns") / 1e3, number_of(device, "kv_bytes_per_s") / 1e9);
    json_object_foreach(json_object_get(device, "weight_bytes_per_s"), format, rate) {
        PRINT(" %s %.1f GB/s", format, json_number_value(rate) / 1e9);
    }
    if (json_object_get(device, "predicted_ms") != NULL) {
        PRINT("; predicted %.1f ms/token for 1 GiB in Q8_0", number_of(device, "predicted_ms"));
    }
    PRINT("\n");
    return is_written;
}

static bool print_device(const json_t *device, const char *version) {
    bool is_written = true;
    const bool is_software = json_is_true(json_object_get(device, "software"));
    PRINT("           %.150s | %.150s | version %.64s | %s%s\n", text_of(device, "name"), text_of(device, "driver"), version,
          json_is_true(json_object_get(device, "usable")) ? "known answer passed" : "refused",
          is_software ? " | software: never chosen by auto" : "");
    if (!json_is_true(json_object_get(device, "usable"))) {
        PRINT("           %.1500s\n", text_of(device, "reason"));
    }
    return print_measured(device) && is_written;
}

static bool print_how(const json_t *object) {
    bool is_written = true;
    PRINT("             class %s, id of the build %s\n", text_of(object, "class"), text_of(object, "build_id"));
    if (json_is_integer(json_object_get(object, "remembered_s"))) {
        PRINT("             remembered from a probe %.0f s ago; --rescan probes again\n", number_of(object, "remembered_s"));
    }
    if (text_of(object, "changes")[0] != '\0') {
        PRINT("             it changes the process: %.250s\n", text_of(object, "changes"));
    }
    if (text_of(object, "words")[0] != '\0') {
        PRINT("             it printed: %.1000s\n", text_of(object, "words"));
    }
    return is_written;
}

static bool print_backend(const json_t *object) {
    bool is_written = true;
    const json_t *devices = json_object_get(object, "devices"), *device;
    size_t i;
    PRINT("%-10s %-7s %s\n", text_of(object, "name"), json_is_true(json_object_get(object, "usable")) ? "usable" : "refused",
          text_of(object, "path"));
    if (json_array_size(devices) == 0 || text_of(object, "stage")[0] != '\0') {
        PRINT("           %.1500s\n", text_of(object, "reason"));
    }
    json_array_foreach(devices, i, device) {
        if (text_of(object, "stage")[0] == '\0') {
            is_written = print_device(device, text_of(object, "version")) && is_written;
        }
    }
    return is_written && (!settings.explain || text_of(object, "class")[0] == '\0' || print_how(object));
}

static int print_all(command_context *c, json_t *list) {
    size_t i;
    json_t *object;
    json_t *refused = json_array(), *searched = json_array();
    for (uint32_t r = 0; r < c->backends.n_refusals; r++) {
        json_array_append_new(refused, json_pack("{s:s, s:s}", "path", c->backends.refusals[r].path, "reason",
                                                 c->backends.refusals[r].reason));
        log_line(QN_LOG_INFO, "%s: not taken: %s", c->backends.refusals[r].path, c->backends.refusals[r].reason);
    }
    for (uint32_t s = 0; s < c->backends.n_searched; s++) {
        json_array_append_new(searched, json_string(c->backends.searched[s]));
        log_line(c->json ? QN_LOG_DEBUG : QN_LOG_INFO, "searched %s", c->backends.searched[s]);
    }
    if (c->json) {
        return command_print_json(
            c, json_pack("{s:o, s:o, s:o}", "backends", list, "refused_files", refused, "searched", searched));
    }
    bool is_written = true;
    json_array_foreach(list, i, object) {
        is_written = is_written && print_backend(object);
    }
    json_decref(list);
    json_decref(refused);
    json_decref(searched);
    return is_written ? EXIT_DONE : EXIT_IO;
}

static void print_machine(const command_context *c) {
    char features[256];
    qn_machine disabled = c->machine;
    disabled.cpu_features[0] = machine_disabled_features();
    log_line(c->json ? QN_LOG_DEBUG : QN_LOG_INFO, "machine: %u threads of %u cores, %s", team_size(c->workers),
             c->machine.n_cores, machine_describe_features(&c->machine, features, sizeof features));
    if (disabled.cpu_features[0] != 0) {
        log_line(c->json ? QN_LOG_DEBUG : QN_LOG_INFO, "machine: the CPU has %s too, but the system has not enabled their state",
                 machine_describe_features(&disabled, features, sizeof features));
    }
}

static int run(command_context *c) {
    surveyor asker;
    const workload model = workload_usual();
    if (command_find_backends(c) < 0) {
        return command_fail(c);
    }
    print_machine(c);
    survey_begin(&asker, &c->services, c->probe_timeout, c->verify_backend);
    if (settings.rescan) {
        probe_cache_clear(&asker.cache);
        blob_store_clear(&c->services.blobs);
    }
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->backends.n_entries; i++) {
        json_array_append_new(list, describe(c, &asker, &c->backends.entries[i], &model));
    }
    survey_end(&asker);
    return print_all(c, list);
}

const command command_backends = {.name = "backends",
                                  .summary = "List the compute backends and say why each can or cannot be used",
                                  .synopsis = "[options]",
                                  .example = "  quoin backends\n  quoin backends --explain\n  quoin backends --json\n",
                                  .options = backends_options,
                                  .run = run};
