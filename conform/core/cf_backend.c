/* cf_backend.c — opening the plugin under test, and judging its refusals. */
#include <stdio.h>
#include <string.h>

#include "core/cf_run.h"

const char *cf_status(qn_status status) {
    switch (status) {
#define QN_STATUS(name, number, meaning) case number: return #name;
#include <quoin/status.def>
#undef QN_STATUS
    default: return "a number that is no status";
    }
}

void cf_clear(qn_error *error) {
    memset(error, 0, sizeof *error);
    error->size = sizeof *error;
    error->op = QN_NO_OP;
}

/* Bytes of the UTF-8 sequence at `at`, or 0 when it is none. Surrogates and overlong forms are none. */
static size_t utf8_sequence(const unsigned char *at, size_t left) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = at[0] < 0x80 ? 1 : at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc2 ? 2 : 0;
    uint32_t value = n == 1 ? at[0] : at[0] & (0x7fu >> n);
    if (n == 0 || n > left || at[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        value = value << 6 | (at[i] & 0x3fu);
    }
    return value >= least[n] && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff) ? n : 0;
}

bool cf_is_text(const char *text, size_t room) {
    const char *end = memchr(text, '\0', room);
    if (end == NULL) {
        return false;
    }
    for (const char *at = text; at < end;) {
        const size_t n = utf8_sequence((const unsigned char *)at, (size_t)(end - at));
        if (n == 0) {
            return false;
        }
        at += n;
    }
    return true;
}

void cf_done(cf_context *ctx, const char *verb, qn_status got, const qn_error *error) {
    CF_CHECK(ctx, got == QN_OK, "%s answers %s (%d): %.600s", verb, cf_status(got), got,
             cf_is_text(error->text, sizeof error->text) ? error->text : "(a text that is not terminated or not UTF-8)");
}

void cf_refused_somehow(cf_context *ctx, const char *verb, qn_status got, const qn_error *error) {
    CF_CHECK(ctx, got < 0 && got >= QN_INTERNAL, "%s answers %s (%d); a refusal with a code of status.def was expected", verb,
             cf_status(got), got);
    CF_CHECK(ctx, error->size == sizeof *error, "%s changed the size of the error record to %u", verb, error->size);
    CF_CHECK(ctx, cf_is_text(error->text, sizeof error->text), "%s answers %s with a text that is not terminated or not UTF-8", verb,
             cf_status(got));
    CF_CHECK(ctx, error->text[strspn(error->text, " \t\r\n")] != '\0', "%s answers %s without a text", verb, cf_status(got));
    CF_CHECK(ctx, error->code == got, "%s answers %s (%d), but the error record says %d: %.300s", verb, cf_status(got), got, error->code,
             error->text);
}

void cf_refused(cf_context *ctx, const char *verb, qn_status got, qn_status want, const qn_error *error) {
    CF_CHECK(ctx, got == want, "%s answers %s (%d); %s was expected%s%.300s", verb, cf_status(got), got, cf_status(want),
             got < 0 ? ": " : "", got < 0 && cf_is_text(error->text, sizeof error->text) ? error->text : "");
    cf_refused_somehow(ctx, verb, got, error);
}

qn_compile_options cf_compile_options(const cf_context *ctx, uint32_t flags) {
    return (qn_compile_options){.size = sizeof(qn_compile_options), .flags = flags, .numeric = ctx->numeric,
                                .n_options = ctx->n_options[CF_AT_COMPILE], .options = ctx->options[CF_AT_COMPILE]};
}

/* --- Opening ---------------------------------------------------------------------------------------------------------- */

#define MOST_DEVICES 64

/* Not the plugin's fault: this machine has no such device, or it cannot be had now. */
static bool is_absent(qn_status status) {
    return status == QN_UNAVAILABLE || status == QN_DENIED || status == QN_BUSY || status == QN_TOO_OLD;
}

static void judge_opening(cf_context *ctx, const char *verb, qn_status status, const qn_error *error) {
    if (is_absent(status)) {
        cf_refused_somehow(ctx, verb, status, error);
        cf_unsupported(ctx, "%s answers %s: %.600s", verb, cf_status(status), error->text);
    }
    cf_done(ctx, verb, status, error);
}

static void pick_device(cf_context *ctx, cf_backend *b) {
    qn_device_info infos[MOST_DEVICES];
    qn_error error;
    uint32_t count = 0, which = 0;
    for (uint32_t i = 0; i < MOST_DEVICES; i++) {
        infos[i] = (qn_device_info){.size = sizeof infos[i]};
    }
    cf_clear(&error);
    judge_opening(ctx, "devices", b->verbs->devices(b->plugin, infos, sizeof infos[0], MOST_DEVICES, &count, &error), &error);
    if (count == 0) {
        cf_unsupported(ctx, "devices: there is none here");
    }
    count = count > MOST_DEVICES ? MOST_DEVICES : count;
    while (ctx->device_id != NULL && which < count && strncmp(infos[which].id, ctx->device_id, sizeof infos[which].id) != 0) {
        which++;
    }
    if (which == count) {
        cf_unsupported(ctx, "devices: there is no '%s'; the first is '%.63s'", ctx->device_id, infos[0].id);
    }
    b->info = infos[which];
}

static void tell_fact(cf_context *ctx, const char *key, const char *text, size_t room) {
    char words[256];
    snprintf(words, sizeof words, "%.*s", (int)(room < sizeof words ? room - 1 : sizeof words - 1), text == NULL ? "" : text);
    cf_fact(ctx, key, words);
}

static void tell_device(cf_context *ctx, const cf_backend *b) {
    tell_fact(ctx, "device", b->info.id, sizeof b->info.id);
    tell_fact(ctx, "device_name", b->info.name, sizeof b->info.name);
    tell_fact(ctx, "driver", b->info.driver, sizeof b->info.driver);
}

static void tell_plugin(cf_context *ctx, const cf_backend *b) {
    tell_fact(ctx, "name", b->about.name, 256);
    tell_fact(ctx, "version", b->about.version, 256);
    tell_fact(ctx, "licence", b->about.licence, 256);
    tell_fact(ctx, "build_id", b->about.build_id, 256);
}

void cf_open(cf_context *ctx, cf_backend *out, uint32_t n_workers) {
    cf_open_with_blobs(ctx, out, n_workers, CF_BLOBS_KEEP);
}

void cf_open_with_blobs(cf_context *ctx, cf_backend *out, uint32_t n_workers, uint32_t blob_mode) {
    const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = "conform", .cpu_features = {ctx->features}};
    qn_error error;
    memset(out, 0, sizeof *out);
    out->about.size = sizeof out->about;
    const qn_status answer = ctx->query(&in, &out->about);
    CF_CHECK(ctx, answer == QN_OK && out->about.plugin != NULL, "query answers %s%s", cf_status(answer),
             answer == QN_OK ? " and no table" : "");
    if (!ctx->run->has_told_facts) {
        tell_plugin(ctx, out);
    }
    out->verbs = out->about.plugin;
    out->host = cf_host_open(n_workers == 0 ? ctx->n_workers : n_workers, ctx->features);
    CF_CHECK(ctx, out->host != NULL, "this machine has no memory or threads for the test itself");
    cf_host_set_blobs(out->host, blob_mode);
    cf_clear(&error);
    judge_opening(ctx, "start", out->verbs->start(cf_host_services(out->host), ctx->options[CF_AT_START],
                                                  ctx->n_options[CF_AT_START], &out->plugin, &error), &error);
    pick_device(ctx, out);
    if (!ctx->run->has_told_facts) {
        ctx->run->has_told_facts = true;
        tell_device(ctx, out);
    }
    if ((out->info.numeric & ctx->numeric) == 0) {
        cf_unsupported(ctx, "device %.63s does not offer the numeric class that is asked for", out->info.id);
    }
    cf_clear(&error);
    judge_opening(ctx, "open", out->verbs->open(out->plugin, out->info.id, ctx->options[CF_AT_OPEN], ctx->n_options[CF_AT_OPEN],
                                                &out->device, &error), &error);
}

void cf_close(cf_context *ctx, cf_backend *self) {
    if (self->verbs != NULL) {
        self->verbs->close(self->device);
        self->verbs->stop(self->plugin);
    }
    if (self->host != NULL) {
        const char *misuse = cf_host_misuse(self->host);
        const uint64_t noted = cf_host_bytes(self->host, QN_MEM_KINDS), left = cf_host_close(self->host);
        CF_CHECK(ctx, misuse == NULL, "the plugin misuses a service: %s", misuse);
        CF_CHECK(ctx, left == 0, "%llu bytes of mem_alloc are left after stop", (unsigned long long)left);
        CF_CHECK(ctx, noted == 0, "%llu bytes of mem_note were not given back after stop", (unsigned long long)noted);
    }
    memset(self, 0, sizeof *self);
}
