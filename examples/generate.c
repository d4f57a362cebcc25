/* generate.c — the smallest program that embeds quoin: opens a model and continues a text.
 *
 *     cc generate.c $(pkg-config --cflags --libs quoin) -o generate
 *     ./generate model.gguf "Once upon a time"
 */
#include <stdio.h>
#include <string.h>

#include <quoin/engine.h>

static int print_text(void *ctx, const char *text, size_t text_bytes) {
    (void)ctx;
    return fwrite(text, 1, text_bytes, stdout) == text_bytes && fflush(stdout) == 0;
}

static int run(quoin_runtime *runtime, const char *path, const char *prompt, quoin_error *err) {
    const quoin_model_options options = {.size = sizeof options, .assume = "llama"};
    const quoin_generate_options generation = {.size = sizeof generation, .max_tokens = 64};
    quoin_generate_result result = {.size = sizeof result};
    quoin_model *model = NULL;
    quoin_session *session = NULL;
    int status = quoin_model_open(runtime, path, &options, &model, err);
    if (status == 0) {
        status = quoin_session_create(model, NULL, &session, err);
    }
    if (status == 0) {
        printf("%s", prompt);
        status = quoin_generate_text(session, prompt, strlen(prompt), &generation, print_text, NULL, &result, err);
        printf("\n[%s after %u tokens, %s]\n", result.stop_reason, result.n_generated, quoin_runtime_describe(runtime));
    }
    quoin_session_destroy(session);
    quoin_model_close(model);
    return status;
}

int main(int argc, char **argv) {
    quoin_error err = {.size = sizeof err};
    quoin_runtime *runtime = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: generate MODEL PROMPT\n");
        return 2;
    }
    int status = quoin_runtime_create(NULL, &runtime, &err);
    if (status == 0) {
        status = run(runtime, argv[1], argv[2], &err);
    }
    if (status < 0) {
        fprintf(stderr, "%s\n", err.text);
    }
    quoin_runtime_destroy(runtime);
    return status < 0 ? 1 : 0;
}
