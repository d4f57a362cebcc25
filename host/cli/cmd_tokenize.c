/* cmd_tokenize.c — quoin tokenize: text to ids; works on a file that holds a vocabulary only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/prompt_input.h"

static struct {
    const char *text, *file, *companion, *assume;
    bool no_bos, is_special, show_pieces;
} settings;

static const option *tokenize_options(void) {
    static const option table[] = {
        {OPTION_STRING, "text", 0, "TEXT", "the text to encode", &settings.text, 0, 0, NULL, NULL},
        {OPTION_STRING, "file", 'f', "FILE", "encode the content of FILE; - is standard input", &settings.file, 0, 0,
         NULL, NULL},
        {OPTION_FLAG, "no-bos", 0, NULL, "do not put the BOS token first", &settings.no_bos, 0, 0, NULL, NULL},
        {OPTION_FLAG, "special", 0, NULL, "the text may spell control tokens", &settings.is_special, 0, 0, NULL, NULL},
        {OPTION_FLAG, "pieces", 0, NULL, "one line a token: id and bytes", &settings.show_pieces, 0, 0, NULL, NULL},
        {OPTION_STRING, "companion", 0, "FILE", "companion volume of a P64 (default: beside it, NAME.q42 for NAME.p64)",
         &settings.companion, 0, 0, NULL, NULL},
        {OPTION_STRING, "assume", 0, "ARCH", "read a P64 without companion volume as this architecture (llama)",
         &settings.assume, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

static bool print_piece(const tokenizer *tok, uint32_t id) {
    char bytes[1024], line[4200];
    size_t used = (size_t)snprintf(line, sizeof line, "%u\t", id);
    const size_t size = tokenizer_token_bytes(tok, id, true, bytes, sizeof bytes);
    for (size_t i = 0; i < size && i < sizeof bytes; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        const bool is_plain = byte >= 0x20 && byte != 0x7F && byte != '\\';
        used += (size_t)snprintf(line + used, sizeof line - used, is_plain ? "%c" : "\\x%02x", byte);
    }
    line[used++] = '\n';
    return command_write(line, used);
}

static int print_tokens(command_context *c, const tokenizer *tok, const token_list *ids) {
    bool is_written = true;
    if (c->json) {
        json_t *list = json_array();
        for (size_t i = 0; i < ids->count; i++) {
            json_array_append_new(list, json_integer(ids->ids[i]));
        }
        return command_print_json(c, json_pack("{s:o}", "tokens", list));
    }
    for (size_t i = 0; i < ids->count && is_written; i++) {
        char number[16];
        const int n = snprintf(number, sizeof number, "%u%s", ids->ids[i], i + 1 < ids->count ? " " : "\n");
        is_written = settings.show_pieces ? print_piece(tok, ids->ids[i]) : command_write(number, (size_t)n);
    }
    return is_written ? EXIT_DONE : EXIT_IO;
}

static int encode(command_context *c, const model *m) {
    token_list ids = {0};
    char *text = NULL;
    size_t size = settings.text != NULL ? strlen(settings.text) : 0;
    qn_status status = QN_OK;
    if (m->tok == NULL) {
        status = FAIL(&c->err, QN_BAD_FILE, "%s: holds no tokenizer", m->file.path);
    } else if (settings.file != NULL) {
        status = prompt_read_file(settings.file, &text, &size, &c->err);
    }
    if (status == QN_OK) {
        const uint32_t flags = (settings.no_bos ? 0 : ENCODE_ADD_BOS) | (settings.is_special ? ENCODE_SPECIAL : 0);
        status = tokenizer_encode(m->tok, settings.text != NULL ? settings.text : text, size, flags, &ids, &c->err);
    }
    const int exit_status = status < 0 ? command_fail(c) : print_tokens(c, m->tok, &ids);
    token_list_free(&ids);
    free(text);
    return exit_status;
}

static int run(command_context *c) {
    const model_options options = {.vocabulary_only = true,
                                   .companion = settings.companion,
                                   .assume = settings.assume != NULL ? settings.assume : "llama"};
    model *m = NULL;
    if (c->args.n_items != 1 || (settings.text != NULL) == (settings.file != NULL)) {
        FAIL(&c->err, QN_BAD_INPUT, "tokenize needs one MODEL file and exactly one of --text TEXT and --file FILE");
        command_fail(c);
        return EXIT_USAGE;
    }
    if (model_open(c->args.items[0], &options, NULL, &m, &c->err) < 0) {
        return command_fail(c);
    }
    const int status = encode(c, m);
    model_close(m);
    return status;
}

const command command_tokenize = {.name = "tokenize",
                                  .summary = "Turn text into token ids",
                                  .synopsis = "MODEL --text TEXT [options]",
                                  .example = "  quoin tokenize model.gguf --text 'Once upon a time' --json\n",
                                  .options = tokenize_options,
                                  .run = run};
