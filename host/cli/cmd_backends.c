/* cmd_backends.c — quoin backends: what there is, what works, and why the rest does not. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/machine.h"
#include "cli/command.h"

static const option *backends_options(void) {
    static const option table[] = {{OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

static json_t *describe_options(const qn_query_out *query) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < query->n_options; i++) {
        const qn_option_info *o = (const qn_option_info *)(const void *)((const char *)query->options +
                                                                         (size_t)i * query->option_stride);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "key", o->key, "default", o->default_value,
                                              "choices", o->choices, "help", o->help));
    }
    return list;
}

/* Opens the backend for a moment: what it says then is what `run` would get. */
static json_t *probe(command_context *c, registry_entry *entry) {
    backend_spec spec;
    backend opened;
    error_context err = {0};
    json_t *object = json_pack("{s:s, s:s}", "name", entry->name, "path", entry->path);
    qn_status status = backend_spec_parse(entry->name, strlen(entry->name), &spec, &err);
    if (status == QN_OK) {
        status = backend_open(&c->backends, &c->services, &spec, &opened, &err);
    }
    if (status == QN_OK) {
        status = backend_known_answer(&opened, &err);
        json_object_set_new(object, "device", json_string(opened.info.name));
        json_object_set_new(object, "driver", json_string(opened.info.driver));
        json_object_set_new(object, "version", json_string(opened.version));
        backend_close(&opened);
    }
    if (entry->query != NULL) {
        json_object_set_new(object, "licence", json_string(entry->facts.licence != NULL ? entry->facts.licence : ""));
        json_object_set_new(object, "options", describe_options(&entry->facts));
    }
    json_object_set_new(object, "usable", json_boolean(status == QN_OK));
    json_object_set_new(object, "reason",
                        status == QN_OK ? json_string("")
                                        : command_json_text(error_text(&err), strlen(error_text(&err))));
    return object;
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static bool print_backend(const json_t *object) {
    char line[2048];
    int n = snprintf(line, sizeof line, "%-10s %-7s %s", text_of(object, "name"),
                     json_is_true(json_object_get(object, "usable")) ? "usable" : "refused", text_of(object, "path"));
    if (json_is_true(json_object_get(object, "usable"))) {
        n += snprintf(line + n, sizeof line - (size_t)n, "\n           %s | %s | version %s | known answer passed\n",
                      text_of(object, "device"), text_of(object, "driver"), text_of(object, "version"));
    } else {
        n += snprintf(line + n, sizeof line - (size_t)n, "\n           %.1500s\n", text_of(object, "reason"));
    }
    return command_write(line, (size_t)n);
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

static int run(command_context *c) {
    char features[256];
    if (command_find_backends(c) < 0) {
        return command_fail(c);
    }
    log_line(c->json ? QN_LOG_DEBUG : QN_LOG_INFO, "machine: %u threads of %u cores, %s", team_size(c->workers),
             c->machine.n_cores, machine_describe_features(&c->machine, features, sizeof features));
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->backends.n_entries; i++) {
        json_array_append_new(list, probe(c, &c->backends.entries[i]));
    }
    return print_all(c, list);
}

const command command_backends = {.name = "backends",
                                  .summary = "List the compute backends and say why each can or cannot be used",
                                  .synopsis = "[options]",
                                  .example = "  quoin backends\n  quoin backends --json\n",
                                  .options = backends_options,
                                  .run = run};
