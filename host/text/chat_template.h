/* chat_template.h — turns a conversation into the form that a model was trained on.
 *
 * A model file carries its template as a program in a template language. That program is not run: the family is recognised
 * from it, with the few points in which members of a family differ, and the family's own renderer does the work. A template
 * that is not recognised is refused; the user names a family instead.
 *
 * What people write is never read as control tokens: the template's words may spell them, a message's words may not. Apart
 * from that the ids are those of the rendered text encoded in one piece.
 *
 * Threading: a chat_template is a value; rendering is thread-safe.
 * Memory:    a template owns nothing and borrows nothing; rendering uses the heap for the call.
 *
 *     chat_template t;
 *     QN_TRY(chat_template_recognise(model->chat_template, &t, err), err, "%s", path);
 *     const chat_message hello = {CHAT_USER, "Hello", 5};
 *     status = chat_template_encode(&t, tok, &hello, 1, true, &ids, err);
 */
#ifndef HOST_CHAT_TEMPLATE_H
#define HOST_CHAT_TEMPLATE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "text/stop_set.h"
#include "text/tokenizer.h"

typedef enum chat_role { CHAT_SYSTEM = 0, CHAT_USER = 1, CHAT_ASSISTANT = 2 } chat_role;

typedef struct chat_message {
    chat_role role;
    const char *text; /* UTF-8, borrowed; may be null when size is 0 */
    size_t size;
} chat_message;

typedef enum chat_family {
    CHAT_CHATML,
    CHAT_LLAMA2,
    CHAT_LLAMA3,
    CHAT_GEMMA,
    CHAT_MISTRAL_V1,
    CHAT_MISTRAL_V3,
    CHAT_MISTRAL_TEKKEN,
    CHAT_MISTRAL_V7,
    CHAT_MISTRAL_V7_TEKKEN,
    CHAT_PHI3,
    CHAT_PHI4,
    CHAT_PHI4_MINI,
    CHAT_ZEPHYR,
    CHAT_N_FAMILIES
} chat_family;

#define CHAT_SYSTEM_SIZE 2048u
#define CHAT_ANSWER_HEAD_SIZE 64u

/* A family and what this member of it does. Fill by chat_template_recognise or chat_template_by_name. */
typedef struct chat_template {
    chat_family family;
    bool has_bos;            /* the conversation begins with BOS, also when the tokenizer does not add it */
    bool trims;              /* white space around messages is dropped */
    bool drops_thoughts;     /* of former answers only what follows </think> is kept */
    bool has_date_preamble;  /* Llama 3.1: the system turn is always there and begins with two fixed dates */
    bool has_bos_each_turn;  /* Llama 2: every user turn begins with BOS */
    bool has_bare_inst;      /* Mistral v1: no space before [INST] */
    bool has_bare_answer;    /* Mistral: no space before an answer */
    bool folds_system_last;  /* Mistral: the system text goes into the last user turn, not into the first */
    char default_system[CHAT_SYSTEM_SIZE]; /* ended by NUL; "" : no system turn unless there is a system message */
    char answer_head[CHAT_ANSWER_HEAD_SIZE]; /* ended by NUL; what the template writes for the assistant to go on from */
} chat_template;

/* Recognises the family from the template text of a model file.
 * QN_BAD_INPUT: the text is empty. QN_UNSUPPORTED: not recognised; the message says to use --template and lists the names.
 * QN_LIMIT: its built-in system message is too long. *out_template is untouched on error. */
qn_status chat_template_recognise(fmt_str source, chat_template *out_template, error_context *err);

/* A family by its name, as --template takes it. QN_BAD_INPUT: no such name; the message lists them. */
qn_status chat_template_by_name(const char *name, chat_template *out_template, error_context *err);

/* All names, separated by ", "; the name of one. Static. */
const char *chat_template_names(void);
const char *chat_template_name(const chat_template *t);

/* Appends the ids of the conversation, BOS included where it belongs (once). With `add_generation_prompt` it ends where the
 * assistant is to speak. A system message must be the first one.
 * QN_BAD_INPUT: a message that is no UTF-8, no message, or a system message in another place. *out is untouched on error. */
qn_status chat_template_encode(const chat_template *t, const tokenizer *tok, const chat_message *messages, size_t n_messages,
                               bool add_generation_prompt, token_list *out, error_context *err);

/* The same as text, for people to look at; tokens are spelled as the vocabulary does. *out_text is ended by NUL and freed by
 * the caller. */
qn_status chat_template_render(const chat_template *t, const tokenizer *tok, const chat_message *messages,
                               size_t n_messages, bool add_generation_prompt, char **out_text, size_t *out_size,
                               error_context *err);

/* What ends the assistant's turn: the marker as text ("<|im_end|>"), "" where it is EOS. Static. */
const char *chat_template_end_of_turn(const chat_template *t);

/* Adds the ids that end the assistant's turn to a stop set: EOS, and the end marker when it is a token. */
void chat_template_stop_ids(const chat_template *t, const tokenizer *tok, stop_set *set);

#endif
