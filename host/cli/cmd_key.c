/* cmd_key.c — quoin key: keys that sign, keys for MACs, and the list of those that count no more. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/graph_command.h"
#include "graph/volume_writer.h"
#include "keys/mac_key.h"
#include "keys/private_file.h"
#include "keys/revocations.h"
#include "keys/signing_key.h"

static struct {
    const char *passphrase_file, *list, *reason;
    bool is_mac;
} settings;

static const option *key_options(void) {
    static const option table[] = {
        {OPTION_STRING, "passphrase-file", 0, "FILE", "the passphrase is the first line of this private file; - for standard input",
         &settings.passphrase_file, 0, 0, NULL, NULL},
        {OPTION_FLAG, "mac", 0, NULL, "new, show: a key for MACs (HMAC-SHA256) and not one that signs", &settings.is_mac, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "list", 0, "FILE", "revoke: the list of revoked keys, which is made when there is none", &settings.list, 0, 0,
         NULL, NULL},
        {OPTION_STRING, "reason", 0, "TEXT", "revoke: why", &settings.reason, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

static int report_key(command_context *c, const char *path, const public_key *key) {
    char text[KEY_TEXT_SIZE], id[KEY_HEX_SIZE];
    public_key_text(key, text);
    graph_hex(key->id, sizeof key->id, id);
    json_t *object = json_pack("{s:s?, s:s, s:s, s:s}", "file", path, "kind", "ed25519", "public", text, "id", id);
    return graph_report(c, object, "%s\nid %s\n", text, id);
}

static int report_mac(command_context *c, const char *path, const mac_key *key) {
    char id[KEY_HEX_SIZE];
    graph_hex(key->id, sizeof key->id, id);
    return graph_report(c, json_pack("{s:s, s:s, s:s}", "file", path, "kind", "mac-sha256", "id", id), "mac-sha256 key\nid %s\n", id);
}

/* A passphrase in `room` when one is asked for, otherwise null. */
static qn_status read_passphrase(char room[PASSPHRASE_SIZE], const char **out, error_context *err) {
    *out = NULL;
    if (settings.passphrase_file == NULL) {
        return QN_OK;
    }
    *out = room;
    return private_file_passphrase(settings.passphrase_file, room, err);
}

static int run_mac(command_context *c, const char *path, bool is_new) {
    mac_key key;
    const qn_status status = is_new ? mac_key_create(path, &key, &c->err) : mac_key_open(path, &key, &c->err);
    const int exit_status = status < 0 ? command_fail(c) : report_mac(c, path, &key);
    mac_key_forget(&key);
    return exit_status;
}

static int run_new(command_context *c, const char *path) {
    char room[PASSPHRASE_SIZE];
    const char *passphrase = NULL;
    public_key key;
    qn_status status = read_passphrase(room, &passphrase, &c->err);
    status = status < 0 ? status : signing_key_create(path, passphrase, &key, &c->err);
    private_file_forget(room, sizeof room);
    return status < 0 ? command_fail(c) : report_key(c, path, &key);
}

static bool is_public_text(const char *text) {
    return strncmp(text, "ed25519:", 8) == 0;
}

/* The public key that an argument names: its text, or a file with the private one. */
static qn_status find_public(const char *argument, public_key *out, error_context *err) {
    char room[PASSPHRASE_SIZE];
    const char *passphrase = NULL;
    signing_key *key = NULL;
    if (is_public_text(argument)) {
        return public_key_parse(argument, strlen(argument), out, err);
    }
    qn_status status = read_passphrase(room, &passphrase, err);
    status = status < 0 ? status : signing_key_open(argument, passphrase, &key, err);
    private_file_forget(room, sizeof room);
    if (status >= 0) {
        *out = *signing_key_public(key);
    }
    signing_key_close(key);
    return status;
}

static int run_show(command_context *c, const char *argument) {
    public_key key;
    if (find_public(argument, &key, &c->err) < 0) {
        return command_fail(c);
    }
    return report_key(c, is_public_text(argument) ? NULL : argument, &key);
}

static int run_revoke(command_context *c, const char *argument) {
    public_key key;
    uint64_t now = 0;
    char text[KEY_TEXT_SIZE];
    if (settings.list == NULL) {
        return graph_refuse_usage(c, "key revoke needs --list FILE, where it is written down");
    }
    qn_status status = find_public(argument, &key, &c->err);
    status = status < 0 ? status : volume_timestamp(&now, &c->err);
    status = status < 0 ? status : revocations_add(settings.list, &key, now, settings.reason, &c->err);
    if (status < 0) {
        return command_fail(c);
    }
    const bool is_new = status != QN_NOTE_END;
    public_key_text(&key, text);
    return graph_report(c, json_pack("{s:s, s:s, s:b}", "list", settings.list, "public", text, "added", is_new), "%s: %s %s\n",
                        settings.list, text, is_new ? "counts no more" : "was revoked already");
}

static int run(command_context *c) {
    const char *word = c->args.n_items > 0 ? c->args.items[0] : "";
    const bool is_new = strcmp(word, "new") == 0, is_show = strcmp(word, "show") == 0, is_revoke = strcmp(word, "revoke") == 0;
    if (!is_new && !is_show && !is_revoke) {
        return graph_refuse_usage(c, "key needs one of new|show|revoke");
    }
    if (c->args.n_items != 2) {
        return graph_refuse_usage(c, "key %s needs one %s", word, is_new ? "FILE" : "FILE or ed25519:HEX");
    }
    const char *argument = c->args.items[1];
    if (settings.is_mac && (is_revoke || settings.passphrase_file != NULL)) {
        return graph_refuse_usage(c, "MAC keys have no passphrase and are not revoked: remove the file");
    }
    return settings.is_mac ? run_mac(c, argument, is_new) : is_new ? run_new(c, argument) : is_show ? run_show(c, argument)
                                                                                                     : run_revoke(c, argument);
}

const command command_key = {.name = "key",
                             .summary = "Make and show keys that sign, and revoke them",
                             .synopsis = "new FILE | show FILE|ed25519:HEX | revoke FILE|ed25519:HEX --list FILE",
                             .example = "  quoin key new alice.key\n  quoin key show alice.key\n"
                                        "  quoin key revoke alice.key --list revoked.keys --reason 'lost at sea'\n",
                             .options = key_options,
                             .run = run,
                             .is_without_backend = true};
