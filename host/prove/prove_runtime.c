/* prove_runtime.c — digests of code. */
#define _GNU_SOURCE /* dladdr */
#include "prove/prove_runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/mapped_file.h"

static qn_status hash_file(const char *path, uint8_t out[SHA256_BYTES], error_context *err) {
    mapped_file file;
    QN_TRY(mapped_file_open(path, &file, err), err, "hashing the program");
    const bool is_done = sha256_digest(file.span.data, file.span.size, out);
    mapped_file_close(&file);
    return is_done ? QN_OK : FAIL(err, QN_INTERNAL, "libcrypto gives no SHA-256");
}

qn_status prove_runtime_digest(uint8_t out[SHA256_BYTES], error_context *err) {
    Dl_info here;
    const bool is_known = dladdr(__extension__(const void *)&prove_runtime_digest, &here) != 0 && here.dli_fname != NULL;
    /* For the program itself the linker gives the name it was called by, which may be anything; of a library it is the file. */
    return hash_file(is_known && strstr(here.dli_fname, ".so") != NULL ? here.dli_fname : "/proc/self/exe", out, err);
}

static uint32_t find_place(const prove_runtime *runtime, const char *id) {
    uint32_t at = 0;
    while (at < runtime->n_kernels && strcmp(runtime->kernels[at].id, id) < 0) {
        at++;
    }
    return at;
}

static bool hash_kernel(fmt_span plugin, prove_kernel *kernel) {
    sha256_stream stream;
    if (!sha256_begin(&stream)) {
        return false;
    }
    sha256_add(&stream, plugin.data, plugin.size);
    sha256_add(&stream, kernel->id, strlen(kernel->id));
    return sha256_end(&stream, kernel->digest);
}

qn_status prove_add_kernel(prove_runtime *runtime, const char *backend, const char *op, const char *numeric, fmt_span plugin,
                           error_context *err) {
    prove_kernel kernel;
    snprintf(kernel.id, sizeof kernel.id, "%.30s/%.30s/%.30s", backend, op, numeric);
    const uint32_t at = find_place(runtime, kernel.id);
    if (at < runtime->n_kernels && strcmp(runtime->kernels[at].id, kernel.id) == 0) {
        return QN_OK;
    }
    if (runtime->n_kernels == PROVE_MAX_KERNELS) {
        return FAIL(err, QN_LIMIT, "more than %u kernels", PROVE_MAX_KERNELS);
    }
    if (!hash_kernel(plugin, &kernel) || (runtime->n_kernels == 0 && !sha256_digest(plugin.data, plugin.size, runtime->plugin))) {
        return FAIL(err, QN_INTERNAL, "libcrypto gives no SHA-256");
    }
    memmove(&runtime->kernels[at + 1], &runtime->kernels[at], (runtime->n_kernels - at) * sizeof kernel);
    runtime->kernels[at] = kernel;
    runtime->n_kernels++;
    return QN_OK;
}

void prove_say_runtime(prove_graph *g, const prove_runtime *r) {
    char urn[PROVE_URN_SIZE];
    prove_about(g, prove_urn(PROVE_RUNTIME, r->digest, urn));
    prove_say_word(g, Q42M_TYPE, 0, "q42m:Runtime");
    prove_say_word(g, "q42m:name", 0, r->name);
    prove_say_word(g, "q42m:version", 0, r->version);
    prove_say_word(g, "q42m:buildConfig", 0, r->build);
    prove_say_digest(g, Q42M_SHA256, 0, PROVE_DIGEST, r->digest);
    prove_say_word(g, "q42m:backend", 0, r->backend);
    for (uint32_t i = 0; i < r->n_kernels; i++) {
        prove_say_digest(g, "q42m:usesKernel", i, PROVE_KERNEL, r->kernels[i].digest);
    }
    for (uint32_t i = 0; i < r->n_kernels; i++) {
        prove_about(g, prove_urn(PROVE_KERNEL, r->kernels[i].digest, urn));
        prove_say_word(g, Q42M_TYPE, 0, "q42m:Kernel");
        prove_say_word(g, "q42m:kernelId", 0, r->kernels[i].id);
        prove_say_digest(g, "q42m:kernelBinarySha256", 0, PROVE_DIGEST, r->plugin);
    }
}
