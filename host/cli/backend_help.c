/* backend_help.c — --backend NAME,help: the options that a backend has, with the values that the configuration gives them. */
#include <stdio.h>
#include <string.h>

#include "backends/plugin_options.h"
#include "cli/command.h"

json_t *command_options_json(const qn_query_out *facts) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < facts->n_options; i++) {
        const qn_option_info *o = plugin_options_get(facts, i);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "key", o->key, "default", o->default_value,
                                              "choices", o->choices, "help", o->help));
    }
    return list;
}

bool command_wants_backend_help(const command_context *c) {
    const char *text = c->backend_request;
    for (const char *at = text != NULL ? strstr(text, ",help") : NULL; at != NULL; at = strstr(at + 1, ",help")) {
        if (strchr(";,", at[5]) != NULL) { /* the terminator is among them */
            return true;
        }
    }
    return false;
}

/* The value that the configuration file gives, or null. */
static const char *find_configured(const command_context *c, const char *backend, const char *key) {
    static const char prefix[] = "backend ";
    for (uint32_t i = 0; i < c->settings.n_entries; i++) {
        const config_entry *entry = &c->settings.entries[i];
        if (strncmp(entry->section, prefix, strlen(prefix)) == 0 && strcmp(entry->section + strlen(prefix), backend) == 0 &&
            strcmp(entry->key, key) == 0) {
            return entry->value;
        }
    }
    return NULL;
}

static bool print_option(const command_context *c, const char *backend, const qn_option_info *o) {
    char line[1024];
    const char *configured = find_configured(c, backend, o->key);
    const int n = snprintf(line, sizeof line, "  %.60s=%.200s\n      %.400s\n      default %.60s%s%.100s\n", o->key,
                           plugin_options_values(o), o->help, o->default_value[0] != '\0' ? o->default_value : "none",
                           configured != NULL ? "; configured " : "", configured != NULL ? configured : "");
    return command_write(line, (size_t)n);
}

static int print_help(command_context *c, const registry_entry *entry) {
    char line[2048];
    if (c->json) {
        return command_print_json(c, json_pack("{s:s, s:s, s:o}", "name", entry->name, "path", entry->path, "options",
                                               command_options_json(&entry->facts)));
    }
    int n = snprintf(line, sizeof line, "backend %s %s, %s\n%s", entry->name,
                     entry->facts.version != NULL ? entry->facts.version : "?", entry->path,
                     entry->facts.n_options == 0 ? "  it has no options\n" : "");
    bool is_written = command_write(line, (size_t)n);
    for (uint32_t i = 0; i < entry->facts.n_options && is_written; i++) {
        is_written = print_option(c, entry->name, plugin_options_get(&entry->facts, i));
    }
    return is_written ? EXIT_DONE : EXIT_IO;
}

int command_backend_help(command_context *c) {
    const registry_entry *entry = NULL;
    const backend_request request = {.text = c->backend_request, .probe_timeout = c->probe_timeout,
                                     .is_renewing = c->verify_backend};
    if (command_find_backends(c) < 0) {
        return command_fail(c);
    }
    c->is_with_backend = true;
    c->backend_was_named = true;
    if (backend_find_help(&c->backends, &c->services, &request, &entry, &c->err) < 0) {
        return command_fail(c);
    }
    return print_help(c, entry);
}
