/* cmd_prove.c — quoin prove: a volume that says where a container comes from and what every part of it is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/graph_command.h"
#include "cli/prove_options.h"
#include "graph/volume_writer.h"
#include "model/weight_check.h"
#include "prove/prove_model.h"

#define MAX_CONSENTS OPTION_LIST_MAX

static struct {
    const char *source, *licence, *spdx, *licence_url, *key, *passphrase_file, *profile, *output, *companion, *sign_consent;
    option_list permits, consents, urls;
    uint64_t time_ms;
    bool has_time, is_forced, is_strict;
} settings = {.profile = "full"};

static const option *prove_options_table(void) {
    static const option table[] = {
        {OPTION_STRING, "output", 'o', "FILE", "write here (default: STEM.prov.q42 beside STEM.p64)", &settings.output, 0, 0, NULL, NULL},
        {OPTION_STRING, "source", 0, "FILE", "what the container was made of: it is hashed and compared byte for byte", &settings.source, 0,
         0, NULL, NULL},
        {OPTION_LIST, "url", 0, "URL", "where the source was had from; repeatable", &settings.urls, 0, 0, NULL, NULL},
        {OPTION_STRING, "licence", 0, "FILE", "the text of the licence", &settings.licence, 0, 0, NULL, NULL},
        {OPTION_STRING, "spdx", 0, "ID", "with --licence: its SPDX identifier", &settings.spdx, 0, 0, NULL, NULL},
        {OPTION_STRING, "licence-url", 0, "URL", "with --licence: where it stands", &settings.licence_url, 0, 0, NULL, NULL},
        {OPTION_LIST, "permits", 0, "USE",
         "with --licence: local-inference, commercial, derivatives or redistribution; repeatable", &settings.permits, 0, 0, NULL, NULL},
        {OPTION_LIST, "consent", 0, "FILE", "a consent, as quoin-prove(1) describes it; repeatable", &settings.consents, 0, 0, NULL, NULL},
        {OPTION_STRING, "profile", 0, "NAME", "full: every tensor with its digest; compact: the tables (default full)", &settings.profile,
         0, 0, "full|compact", NULL},
        {OPTION_STRING, "key", 'k', "FILE", "sign with this private key, into STEM.prov.sig", &settings.key, 0, 0, NULL, NULL},
        {OPTION_STRING, "passphrase-file", 0, "FILE", "the key's passphrase is the first line of this private file; - for standard input",
         &settings.passphrase_file, 0, 0, NULL, NULL},
        {OPTION_STRING, "sign-consent", 0, "FILE", "sign the consent in FILE with --key, and do nothing else", &settings.sign_consent, 0, 0,
         NULL, NULL},
        {OPTION_STRING, "companion", 0, "FILE", "companion volume of the P64 (default: beside it, NAME.q42 for NAME.p64)",
         &settings.companion, 0, 0, NULL, NULL},
        {OPTION_UINT64, "time", 0, "MS", "stamp the volume with this time (default: SOURCE_DATE_EPOCH, or now)", &settings.time_ms, 0, 0,
         NULL, &settings.has_time},
        {OPTION_FLAG, "force", 'f', NULL, "replace an existing volume", &settings.is_forced, 0, 0, NULL, NULL},
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the P64 standard", &settings.is_strict, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

/* Everything that a volume is made of, while it is made. */
typedef struct proving {
    model *m;
    companion beside;
    prove_source source;
    mapped_file licence_file;
    prove_licence licence;
    prove_consent consents[MAX_CONSENTS];
    uint32_t n_consents;
    prove_runtime tool;
    signing_key *key;
    uint8_t source_sha256[SHA256_BYTES];
    prove_model_facts facts;
    char path[PROVE_PATH_SIZE];
    uint64_t timestamp_ms;
    uint8_t digest[SHA256_BYTES];
} proving;

static void close_proving(proving *p) {
    for (uint32_t i = 0; i < p->n_consents; i++) {
        prove_consent_free(&p->consents[i]);
    }
    mapped_file_close(&p->licence_file);
    prove_source_close(&p->source);
    companion_close(&p->beside);
    signing_key_close(p->key);
    model_close(p->m);
    free(p);
}

/* ------------------------------------------------------------------------------------------------------------- gathering */

static qn_status open_container(command_context *c, const char *path, command_progress *progress, proving *p) {
    const model_options how = {.mode = settings.is_strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT, .container_only = true,
                               .skip_integrity = true};
    const weight_check check = {.progress = command_show_progress, .ctx = progress};
    const companion_options beside = {.path = settings.companion};
    QN_TRY(model_open(path, &how, c->workers, &p->m, &c->err), &c->err, "opening the container");
    if (p->m->format != MODEL_P64) {
        return FAIL(&c->err, QN_BAD_INPUT, "%s: is a %s file; a provenance volume is about a P64: quoin convert makes one", path,
                    model_format_name(p->m->format));
    }
    QN_TRY(weight_check_run(p->m, &check, c->workers, &c->err), &c->err, "checking the container");
    return companion_open(path, &p->m->p64, &beside, &p->beside, &c->err);
}

/* What the companion knows of a conversion that is over. */
static void use_companion(proving *p) {
    q42_volume volume;
    fmt_str source = {p->beside.source_sha256, strlen(p->beside.source_sha256)};
    if (p->beside.state != COMPANION_BOUND) {
        return;
    }
    if (prove_text_digest(source, "", p->source_sha256)) {
        p->facts.source_sha256 = p->source_sha256;
    }
    if (q42_open(p->beside.file.span, FMT_MODE_DEFAULT, &volume, NULL, NULL, NULL) == FMT_OK) {
        p->facts.ended_ms = volume.header.timestamp_ms;
    }
}

static qn_status use_source(command_context *c, command_progress *progress, proving *p) {
    convert_parity_report parity;
    p->facts.policy = (p->m->p64.header.flags & P64_FLAG_RAW) != 0 ? "raw-safetensors" : "unknown";
    if (settings.source == NULL) {
        return QN_OK;
    }
    QN_TRY(prove_source_open(settings.source, command_show_progress, progress, &p->source, &c->err), &c->err, "--source");
    if (p->facts.source_sha256 != NULL && memcmp(p->source_sha256, p->source.sha256, SHA256_BYTES) != 0) {
        return FAIL(&c->err, QN_BAD_FILE, "%s: is not the source that the companion of %s names", settings.source, p->m->file.path);
    }
    QN_TRY(prove_source_parity(&p->source, &p->m->p64, p->m->file.path, &parity, &c->err), &c->err, "comparing with %s", settings.source);
    p->facts.source = &p->source;
    p->facts.policy = prove_source_policy(&p->source, &p->m->p64);
    p->facts.is_byte_equal = parity.n_converted == 0;
    return QN_OK;
}

static qn_status permit(prove_licence *licence, const char *use, error_context *err) {
    for (uint32_t i = 0; i < PROVE_N_USES; i++) {
        if (strcmp(use, prove_uses[i]) == 0) {
            licence->permits[i] = true;
            return QN_OK;
        }
    }
    return FAIL(err, QN_BAD_INPUT, "--permits %s: must be local-inference, commercial, derivatives or redistribution", use);
}

static qn_status use_licence(command_context *c, proving *p) {
    if (settings.licence == NULL) {
        return QN_OK;
    }
    for (uint32_t i = 0; i < settings.permits.n_items; i++) {
        QN_TRY(permit(&p->licence, settings.permits.items[i], &c->err), &c->err, "--licence");
    }
    QN_TRY(mapped_file_open(settings.licence, &p->licence_file, &c->err), &c->err, "--licence");
    p->licence.text = p->licence_file.span;
    p->licence.spdx = settings.spdx;
    p->licence.url = settings.licence_url;
    p->facts.licence = &p->licence;
    return QN_OK;
}

static qn_status use_consents(command_context *c, proving *p) {
    for (uint32_t i = 0; i < settings.consents.n_items; i++) {
        QN_TRY(prove_consent_read(settings.consents.items[i], &p->consents[i], &c->err), &c->err, "--consent");
        p->n_consents = i + 1;
    }
    p->facts.consents = p->consents;
    p->facts.n_consents = p->n_consents;
    return QN_OK;
}

static qn_status choose_place(command_context *c, const char *path, proving *p) {
    if (settings.output != NULL ? strlen(settings.output) >= sizeof p->path : !prove_path_of(path, p->path)) {
        return FAIL(&c->err, QN_LIMIT, "%s: the path is too long", path);
    }
    if (settings.output != NULL) {
        memcpy(p->path, settings.output, strlen(settings.output) + 1);
    }
    p->timestamp_ms = settings.time_ms;
    return settings.has_time ? QN_OK : volume_timestamp(&p->timestamp_ms, &c->err);
}

static qn_status gather(command_context *c, const char *path, command_progress *progress, proving *p) {
    QN_TRY(choose_place(c, path, p), &c->err, "proving %s", path);
    if (settings.key != NULL) {
        QN_TRY(prove_open_key(settings.key, settings.passphrase_file, &p->key, &c->err), &c->err, "--key");
    }
    QN_TRY(use_licence(c, p), &c->err, "proving %s", path);
    QN_TRY(use_consents(c, p), &c->err, "proving %s", path);
    QN_TRY(open_container(c, path, progress, p), &c->err, "proving %s", path);
    use_companion(p);
    QN_TRY(use_source(c, progress, p), &c->err, "proving %s", path);
    return prove_describe_program(&p->tool, &c->err);
}

/* --------------------------------------------------------------------------------------------------------------- writing */

static qn_status write_volume(command_context *c, command_progress *progress, proving *p, uint64_t *out_quins) {
    prove_graph g;
    p->facts.p64 = &p->m->p64;
    p->facts.urls = settings.urls.items;
    p->facts.n_urls = settings.urls.n_items;
    p->facts.tool = &p->tool;
    p->facts.is_full = strcmp(settings.profile, "full") == 0;
    p->facts.progress = command_show_progress;
    p->facts.progress_ctx = progress;
    prove_begin(&g, 0, &c->err);
    qn_status status = prove_say_model(&g, &p->facts, &c->err);
    status = status < 0 ? status : prove_digest(&g, p->digest, &c->err);
    status = status < 0 ? status : mapped_file_check(&p->m->file, &c->err);
    status = status < 0 ? status : prove_write(&g, p->timestamp_ms, p->path, p->key, settings.is_forced, &c->err);
    *out_quins = g.volume.n_quins;
    prove_end(&g);
    return status;
}

static int report(command_context *c, const proving *p, uint64_t n_quins) {
    char hex[SHA256_HEX_SIZE], key[KEY_TEXT_SIZE] = "";
    sha256_to_hex(p->digest, hex);
    if (p->key != NULL) {
        public_key_text(signing_key_public(p->key), key);
    }
    json_t *object = json_pack("{s:o, s:s, s:s, s:I, s:s, s:b, s:s?}", "volume", command_json_text(p->path, strlen(p->path)), "profile",
                               settings.profile, "digest", hex, "statements", (json_int_t)n_quins, "policy", p->facts.policy,
                               "byte_parity", (int)p->facts.is_byte_equal, "signed_by", p->key != NULL ? key : NULL);
    return graph_report(c, object, "%s: %s profile, %" PRIu64 " statements, digest %s, %s%s\n", p->path, settings.profile, n_quins, hex,
                        p->key != NULL ? "signed by " : "unsigned", key);
}

static int prove(command_context *c, const char *path) {
    proving *p = calloc(1, sizeof *p);
    command_progress progress;
    uint64_t n_quins = 0;
    if (p == NULL || command_start_team(c) < 0) {
        if (p == NULL) {
            FAIL(&c->err, QN_NO_HOST_MEM, "no memory to begin");
        }
        free(p);
        return command_fail(c);
    }
    command_begin_progress(&progress, c, "hashing");
    qn_status status = gather(c, path, &progress, p);
    status = status < 0 ? status : write_volume(c, &progress, p, &n_quins);
    command_end_progress(&progress);
    const int exit_status = status < 0 ? command_fail(c) : report(c, p, n_quins);
    close_proving(p);
    return exit_status;
}

static int sign_consent(command_context *c) {
    signing_key *key = NULL;
    prove_consent consent = {0};
    char urn[PROVE_URN_SIZE], text[KEY_TEXT_SIZE];
    if (settings.key == NULL || c->args.n_items != 0) {
        return graph_refuse_usage(c, "--sign-consent FILE needs --key FILE and no MODEL");
    }
    qn_status status = prove_open_key(settings.key, settings.passphrase_file, &key, &c->err);
    status = status < 0 ? status : prove_consent_sign(settings.sign_consent, key, &consent, &c->err);
    int exit_status;
    if (status < 0) {
        exit_status = command_fail(c);
    } else {
        prove_urn(PROVE_CONSENT, consent.digest, urn);
        public_key_text(signing_key_public(key), text);
        exit_status = graph_report(c, json_pack("{s:s, s:s}", "consent", urn, "signed_by", text), "%s signed by %s\n", urn, text);
    }
    prove_consent_free(&consent);
    signing_key_close(key);
    return exit_status;
}

static int run(command_context *c) {
    if (settings.sign_consent != NULL) {
        return sign_consent(c);
    }
    if (c->args.n_items != 1) {
        return graph_refuse_usage(c, "prove needs one MODEL.p64; %u arguments were given", c->args.n_items);
    }
    if (settings.licence == NULL && (settings.spdx != NULL || settings.licence_url != NULL || settings.permits.n_items > 0)) {
        return graph_refuse_usage(c, "--spdx, --licence-url and --permits say more about the text that --licence FILE gives");
    }
    command_catch_signals(c);
    return prove(c, c->args.items[0]);
}

const command command_prove = {
    .name = "prove",
    .summary = "Write and sign where a P64 comes from",
    .synopsis = "MODEL.p64 [options]",
    .example = "  quoin prove model.p64 --source model.gguf --licence LICENSE --spdx Apache-2.0 --permits commercial -k maker.key\n",
    .options = prove_options_table,
    .run = run, .is_without_backend = true};
