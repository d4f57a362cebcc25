/* cmd_vault.c — quoin vault: what a .qualia manifest names, and whether it is there and right. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/graph_command.h"
#include "graph/vault.h"

static struct {
    bool is_shallow;
} settings;

static const option *vault_options(void) {
    static const option table[] = {
        {OPTION_FLAG, "shallow", 0, NULL, "verify: open every file, but do not read its blocks", &settings.is_shallow, 0,
         0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

typedef struct vault_report {
    command_context *c;
    bool verifies;
    uint32_t n_files, n_faults;
    json_t *files;
} vault_report;

static const char *const term_names[] = {[Q42_VAULT_DATA_FILE] = "data", [Q42_VAULT_ENVELOPE] = "envelope",
                                         [Q42_VAULT_LEXICON_FILE] = "lexicon hint",
                                         [Q42_VAULT_INDEX_FILE] = "index hint"};

static const char *state_of(const vault_report *r, const vault_item *item) {
    if (!item->is_right) {
        return item->is_there || item->path[0] == '\0' ? "fault" : "missing";
    }
    return !item->is_there ? "absent" : r->verifies ? "right" : "there";
}

static json_t *describe_item(const vault_report *r, const vault_item *item) {
    json_t *object = json_pack("{s:s, s:o, s:s, s:i, s:b}", "kind", term_names[item->term], "path",
                               command_json_text(item->path, strlen(item->path)), "state", state_of(r, item), "line",
                               (int)item->line, "member", item->is_member);
    if (item->is_there) {
        json_object_set_new(object, "bytes", json_integer((json_int_t)item->bytes));
    }
    if (!item->is_right) {
        json_object_set_new(object, "error", command_json_text(item->text, strlen(item->text)));
    }
    return object;
}

static qn_status take_item(void *ctx, const vault_item *item) {
    vault_report *r = ctx;
    r->n_files++;
    r->n_faults += !item->is_right;
    json_array_append_new(r->files, describe_item(r, item));
    if (!r->c->json) {
        char line[ERROR_TEXT_SIZE + Q42_VAULT_PATH_SIZE + 128], size[32] = "";
        if (item->is_there) {
            snprintf(size, sizeof size, ", %" PRIu64 " bytes", item->bytes);
        }
        const int n = snprintf(line, sizeof line, "%s%s: %s, %s%s%s%s\n", item->is_member ? "  " : "",
                               item->path[0] != '\0' ? item->path : "(no path)", term_names[item->term],
                               state_of(r, item), size, item->is_right ? "" : ": ", item->text);
        const size_t length = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
        return command_write(line, length) ? QN_OK : QN_IO;
    }
    return QN_OK;
}

static int report(vault_report *r, const vault_file *vault, const char *path) {
    const int status = r->n_faults > 0 ? EXIT_BAD_INPUT : EXIT_DONE;
    json_t *object = json_pack("{s:s, s:o, s:O, s:i, s:i}", "manifest", path, "name",
                               command_json_text(vault->name, strlen(vault->name)), "files", r->files, "count",
                               (int)r->n_files, "faults", (int)r->n_faults);
    const int printed = graph_report(r->c, object, "%s: %u files, %u faults\n",
                                     vault->name[0] != '\0' ? vault->name : path, r->n_files, r->n_faults);
    return printed != EXIT_DONE ? printed : status;
}

static int walk_vault(command_context *c, const char *path, bool verifies) {
    vault_file vault;
    command_progress progress;
    vault_report r = {.c = c, .verifies = verifies, .files = json_array()};
    if (vault_open(path, &vault, &c->err) < 0) {
        json_decref(r.files);
        return command_fail(c);
    }
    command_begin_progress(&progress, c, verifies ? "verifying" : "looking");
    const qn_status status = vault_each(&vault, verifies && !settings.is_shallow, command_show_progress, &progress,
                                        take_item, &r, &c->err);
    command_end_progress(&progress);
    const int exit_status = status < 0 ? command_fail(c) : report(&r, &vault, path);
    json_decref(r.files);
    vault_close(&vault);
    return exit_status;
}

static int run(command_context *c) {
    const bool has_words = c->args.n_items == 2;
    const bool verifies = has_words && strcmp(c->args.items[0], "verify") == 0;
    if (!has_words || (!verifies && strcmp(c->args.items[0], "list") != 0)) {
        return graph_refuse_usage(c, "vault needs list or verify, and one MANIFEST");
    }
    command_catch_signals(c);
    return walk_vault(c, c->args.items[1], verifies);
}

const command command_vault = {.name = "vault", .summary = "List and verify what a .qualia manifest names",
                               .synopsis = "list|verify MANIFEST [options]",
                               .example = "  quoin vault list books.qualia\n  quoin vault verify books.qualia --json\n",
                               .options = vault_options, .run = run, .is_without_backend = true};
