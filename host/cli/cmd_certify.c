/* cmd_certify.c — quoin certify: a backend against independent arithmetic, with this model, on this device. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "certify/certify.h"
#include "cli/certify_kernels.h"
#include "cli/graph_command.h"
#include "cli/prove_options.h"
#include "graph/volume_writer.h"
#include "prove/prove_certificate.h"
#include "prove/prove_model.h"

#define DEFAULT_TOKENS 16u
#define ORACLE "quoin-conform level 2; one layer in f64 from the container's bytes; greedy tokens of the reference backend"

static struct {
    const char *output, *numeric, *conform, *companion, *key, *passphrase_file;
    uint32_t n_tokens;
    uint64_t seed;
    bool is_quick, is_forced;
} settings = {.numeric = "auto", .n_tokens = DEFAULT_TOKENS, .seed = 1};

static const option *certify_options_table(void) {
    static const option table[] = {
        {OPTION_STRING, "output", 'o', "FILE", "the manifest (default: STEM.cert.json); the certificate is beside it, STEM.cert.q42",
         &settings.output, 0, 0, NULL, NULL},
        {OPTION_UINT, "tokens", 'n', "N", "greedy tokens to compare with the reference backend (default 16)", &settings.n_tokens, 1, 4096,
         NULL, NULL},
        {OPTION_UINT64, "seed", 0, "N", "of the tests and of the tokens that are fed (default 1)", &settings.seed, 0, 0, NULL, NULL},
        {OPTION_STRING, "numeric", 0, "CLASS", "auto, f32acc (exact products) or act8 (8-bit activations)", &settings.numeric, 0, 0,
         "auto|f32acc|act8", NULL},
        {OPTION_FLAG, "quick", 0, NULL, "fewer shapes in the tests of the kernels", &settings.is_quick, 0, 0, NULL, NULL},
        {OPTION_STRING, "conform", 0, "FILE", "the conformance suite (default: quoin-conform beside this program)", &settings.conform, 0, 0,
         NULL, NULL},
        {OPTION_STRING, "companion", 0, "FILE", "companion volume of a P64 (default: beside it, NAME.q42 for NAME.p64)",
         &settings.companion, 0, 0, NULL, NULL},
        {OPTION_STRING, "key", 'k', "FILE", "sign the certificate with this private key, into STEM.cert.q42.sig", &settings.key, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "passphrase-file", 0, "FILE", "the key's passphrase is the first line of this private file; - for standard input",
         &settings.passphrase_file, 0, 0, NULL, NULL},
        {OPTION_FLAG, "force", 'f', NULL, "replace an existing manifest and certificate", &settings.is_forced, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

typedef struct certifying {
    engine e;
    backend reference;
    signing_key *key;
    prove_runtime running;
    certify_kernels_result kernels;
    certify_comparison layer, greedy;
    uint8_t model[SHA256_BYTES], name[SHA256_BYTES];
    uint64_t time_ms;
    char manifest[PROVE_PATH_SIZE], volume[PROVE_PATH_SIZE];
    bool has_passed;
} certifying;

static void close_certifying(certifying *k) {
    engine_close(&k->e);
    backend_close(&k->reference);
    signing_key_close(k->key);
    certify_kernels_free(&k->kernels);
    free(k);
}

/* ------------------------------------------------------------------------------------------------------------ comparing */

static qn_status choose_places(const char *path, certifying *k, error_context *err) {
    const char *name = settings.output;
    char stem[PROVE_PATH_SIZE];
    const char *ending = ".json";
    if (name == NULL) {
        const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
        const int n = snprintf(stem, sizeof stem, "%.*s.cert.json", dot != NULL ? (int)(dot - path) : (int)strlen(path), path);
        name = n > 0 && (unsigned)n < sizeof stem ? stem : "";
    }
    const size_t length = strlen(name), cut = strlen(ending);
    const bool has_ending = length > cut && strcmp(name + length - cut, ending) == 0;
    if (length == 0 || length + 5 >= sizeof k->manifest) {
        return FAIL(err, QN_LIMIT, "%s: the path is too long", path);
    }
    memcpy(k->manifest, name, length + 1);
    snprintf(k->volume, sizeof k->volume, "%.*s.q42", (int)(has_ending ? length - cut : length), name);
    return QN_OK;
}

/* Asked before long work; what appears meanwhile is kept all the same. */
static qn_status check_place(const char *path, error_context *err) {
    char folder[PROVE_PATH_SIZE];
    const char *slash = strrchr(path, '/');
    if (!settings.is_forced && access(path, F_OK) == 0) {
        return FAIL(err, QN_IO, "%s exists; use --force to replace it", path);
    }
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path), slash == NULL ? "." : path);
    return access(folder, W_OK | X_OK) == 0 ? QN_OK : error_from_errno(err, errno, path, "cannot be written");
}

static qn_status open_all(command_context *c, const char *path, certifying *k) {
    engine_options how;
    option rows[ENGINE_OPTION_ROWS];
    backend_spec spec;
    engine_options_init(&how, rows);
    how.numeric = settings.numeric;
    how.companion = settings.companion;
    how.kv = "f16";
    QN_TRY(choose_places(path, k, &c->err), &c->err, "certifying %s", path);
    QN_TRY(check_place(k->manifest, &c->err), &c->err, "certifying %s", path);
    QN_TRY(check_place(k->volume, &c->err), &c->err, "certifying %s", path);
    QN_TRY(volume_timestamp(&k->time_ms, &c->err), &c->err, "certifying %s", path);
    if (settings.key != NULL) {
        QN_TRY(prove_open_key(settings.key, settings.passphrase_file, &k->key, &c->err), &c->err, "--key");
    }
    QN_TRY(engine_open(c, path, &how, &k->e), &c->err, "opening the model");
    QN_TRY(prove_describe_engine(c, &k->e, &k->running, &c->err), &c->err, "describing the backend");
    QN_TRY(backend_spec_parse("reference", 9, &spec, &c->err), &c->err, "opening the reference");
    QN_TRY(backend_open(&c->backends, &c->services, &spec, &k->reference, &c->err), &c->err, "opening the reference");
    return prove_span_digest(k->e.m->file.span, NULL, NULL, k->model, &c->err);
}

static qn_status compare_all(command_context *c, certifying *k) {
    const certify_kernels_options suite = {.program = settings.conform, .device = c->on.info.id, .numeric = k->running.numeric,
                                           .seed = settings.seed, .is_quick = settings.is_quick};
    const certify_options how = {.numeric = k->e.p->memory.numeric, .state_format = QN_FORMAT_F16, .n_tokens = settings.n_tokens,
                                 .seed = settings.seed};
    QN_TRY(certify_layer(k->e.m, &c->on, &how, &k->layer, &c->err), &c->err, "comparing one layer");
    QN_TRY(certify_greedy(k->e.m, &c->on, &k->reference, &how, &k->greedy, &c->err), &c->err, "comparing tokens");
    QN_TRY(certify_kernels(c, &k->running, &suite, &k->kernels, &c->err), &c->err, "comparing the kernels");
    k->has_passed = k->kernels.has_passed && k->layer.was_made && k->layer.has_passed && k->greedy.has_passed;
    return QN_OK;
}

/* -------------------------------------------------------------------------------------------------------------- writing */

#define SHAPES_SIZE 512
static size_t print_shapes(const certifying *k, char out[SHAPES_SIZE]) {
    const uint32_t *s = k->layer.shape;
    const int n = snprintf(out, SHAPES_SIZE, "head_dim=%u\nn_embd=%u\nn_ff=%u\nn_head=%u\nn_kv_head=%u\nn_tokens=%u\nn_vocab=%u\nstate=f16\n", s[3],
                           s[0], s[4], s[1], s[2], settings.n_tokens, s[5]);
    return (size_t)n;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

static qn_status write_volume(certifying *k, error_context *err) {
    char shapes[SHAPES_SIZE];
    prove_graph g;
    const certificate_facts facts = {.running = &k->running, .oracle = ORACLE, .vectors = {k->kernels.vectors.text, k->kernels.vectors.size},
                                     .shapes = {shapes, print_shapes(k, shapes)}, .model = k->model, .seed = settings.seed,
                                     .n_compared = k->kernels.n_cases + k->layer.n_compared + k->greedy.n_compared, .time_ms = k->time_ms,
                                     .tol_abs = (float)k->layer.tol_abs, .tol_rel = (float)k->layer.tol_rel,
                                     .max_abs = (float)larger(k->layer.max_abs, k->greedy.max_abs),
                                     .max_rel = (float)larger(k->layer.max_rel, k->greedy.max_rel), .has_passed = k->has_passed};
    qn_status status = prove_certificate(&facts, &g, k->name, err);
    status = status < 0 ? status : prove_write(&g, k->time_ms, k->volume, k->key, settings.is_forced, err);
    prove_end(&g);
    return status;
}

/* A number that JSON can hold. */
static json_t *number_json(double value) {
    return value <= 1e300 ? json_real(value) : json_string("infinite");
}

static json_t *comparison_json(const certify_comparison *x) {
    json_t *o = json_object();
    json_object_set_new(o, "made", json_boolean(x->was_made));
    json_object_set_new(o, "passed", json_boolean(x->was_made && x->has_passed));
    json_object_set_new(o, "reason", command_json_text(x->reason, strlen(x->reason)));
    json_object_set_new(o, "compared", json_integer((json_int_t)x->n_compared));
    json_object_set_new(o, "max_abs_error", number_json(x->max_abs));
    json_object_set_new(o, "max_rel_error", number_json(x->max_rel));
    json_object_set_new(o, "tolerance_abs", json_real(x->tol_abs));
    json_object_set_new(o, "tolerance_rel", json_real(x->tol_rel));
    return o;
}

static json_t *kernels_json(const certifying *k) {
    json_t *list = json_array();
    char hex[SHA256_HEX_SIZE];
    for (uint32_t i = 0; i < k->running.n_kernels; i++) {
        sha256_to_hex(k->running.kernels[i].digest, hex);
        json_array_append_new(list, json_pack("{s:s, s:s}", "id", k->running.kernels[i].id, "sha256", hex));
    }
    return list;
}

static void set_digest(json_t *object, const char *key, const uint8_t digest[SHA256_BYTES]) {
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(digest, hex);
    json_object_set_new(object, key, json_string(hex));
}

static json_t *make_manifest(const certifying *k) {
    char shapes[SHAPES_SIZE], urn[PROVE_URN_SIZE];
    json_t *o = json_object(), *greedy = comparison_json(&k->greedy);
    print_shapes(k, shapes);
    json_object_set_new(o, "certificate", json_string(prove_urn(PROVE_CERT, k->name, urn)));
    json_object_set_new(o, "passed", json_boolean(k->has_passed));
    json_object_set_new(o, "volume", command_json_text(k->volume, strlen(k->volume)));
    json_object_set_new(o, "oracle", json_string(ORACLE));
    json_object_set_new(o, "seed", json_integer((json_int_t)settings.seed));
    json_object_set_new(o, "certified_unix_ms", json_integer((json_int_t)k->time_ms));
    json_object_set_new(o, "backend", json_string(k->running.backend));
    json_object_set_new(o, "device", command_json_text(k->running.device, strlen(k->running.device)));
    json_object_set_new(o, "driver", command_json_text(k->running.driver, strlen(k->running.driver)));
    json_object_set_new(o, "numeric", json_string(k->running.numeric));
    set_digest(o, "model_sha256", k->model);
    set_digest(o, "program_sha256", k->running.digest);
    set_digest(o, "plugin_sha256", k->running.plugin);
    json_object_set_new(o, "shapes", json_string(shapes));
    json_object_set_new(o, "kernels", kernels_json(k));
    json_object_set_new(o, "kernel_tests", json_pack("{s:b, s:s, s:I, s:I}", "passed", (int)k->kernels.has_passed, "reason", k->kernels.reason,
                                                     "tests", (json_int_t)k->kernels.n_tests, "cases", (json_int_t)k->kernels.n_cases));
    json_object_set_new(o, "layer", comparison_json(&k->layer));
    json_object_set_new(greedy, "different", json_integer(k->greedy.n_different));
    json_object_set_new(greedy, "least_margin", json_real(k->greedy.least_margin));
    json_object_set_new(o, "greedy", greedy);
    return o;
}

static qn_status write_manifest(const certifying *k, const json_t *manifest, error_context *err) {
    atomic_file file;
    fmt_diag diag;
    char *text = json_dumps(manifest, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    if (text == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for the manifest");
    }
    fmt_status status = atomic_file_create(&file, k->manifest, settings.is_forced, 0, &diag);
    if (status == FMT_OK) {
        status = atomic_file_write(&file, 0, text, strlen(text), &diag);
        status = status == FMT_OK ? atomic_file_write(&file, strlen(text), "\n", 1, &diag) : status;
        status = status == FMT_OK ? atomic_file_commit(&file, &diag) : status;
        atomic_file_abort(&file);
    }
    free(text);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, k->manifest);
}

static const char *find_reason(const certifying *k) {
    return !k->layer.was_made || !k->layer.has_passed ? k->layer.reason : !k->greedy.has_passed ? k->greedy.reason : k->kernels.reason;
}

static int report(command_context *c, const certifying *k, json_t *manifest) {
    const int printed = graph_report(
        c, manifest,
        "%s: %s on %s, %s, %s: %" PRIu64 " tests of kernels in %" PRIu64 " cases; one layer off by %.3g (relative %.3g); %" PRIu64
        " tokens, %u differ%s%s\n",
        k->manifest, k->has_passed ? "certified" : "NOT certified", k->running.backend, k->running.device, k->running.numeric,
        k->kernels.n_tests, k->kernels.n_cases, k->layer.max_abs, k->layer.max_rel, k->greedy.n_compared, k->greedy.n_different,
        k->has_passed ? "" : ": ", k->has_passed ? "" : find_reason(k));
    return printed != EXIT_DONE ? printed : k->has_passed ? EXIT_DONE : EXIT_BAD_INPUT;
}

static int certify(command_context *c, const char *path) {
    certifying *k = calloc(1, sizeof *k);
    if (k == NULL) {
        FAIL(&c->err, QN_NO_HOST_MEM, "no memory to begin");
        return command_fail(c);
    }
    qn_status status = open_all(c, path, k);
    status = status < 0 ? status : compare_all(c, k);
    status = status < 0 ? status : write_volume(k, &c->err);
    json_t *manifest = status >= 0 ? make_manifest(k) : NULL;
    status = status < 0 ? status : write_manifest(k, manifest, &c->err);
    int exit_status;
    if (status < 0) {
        json_decref(manifest);
        exit_status = command_fail(c);
    } else {
        exit_status = report(c, k, manifest);
    }
    close_certifying(k);
    return exit_status;
}

static int run(command_context *c) {
    if (c->args.n_items != 1) {
        return graph_refuse_usage(c, "certify needs one MODEL; %u arguments were given", c->args.n_items);
    }
    command_catch_signals(c);
    return certify(c, c->args.items[0]);
}

const command command_certify = {
    .name = "certify",
    .summary = "Compare a backend with independent arithmetic",
    .synopsis = "MODEL [options]",
    .example = "  quoin certify model.p64 --backend cpu\n  quoin check model.p64 --backend cpu --certificates model.cert.q42\n",
    .options = certify_options_table,
    .run = run};
