/* conversation.h — the turns of a chat, and fitting them into a context.
 *
 * Threading: one thread at a time.
 * Memory:    owns copies of all texts, which are overwritten when they go.
 */
#ifndef HOST_CONVERSATION_H
#define HOST_CONVERSATION_H
#include "base/error.h"
#include "text/chat_template.h"

typedef struct conversation {
    chat_message *messages; /* [n_messages]; texts are owned */
    size_t n_messages, capacity;
} conversation;

qn_status conversation_add(conversation *talk, chat_role role, const char *text, size_t size, error_context *err);
/* Takes away the oldest question and its answer, never the system message or the last question; false when there is
 * none. The text of the question that went is copied into `gone` (cut to room). */
bool conversation_drop_oldest(conversation *talk, char *gone, size_t room);
/* Takes away everything but a system message. */
void conversation_clear(conversation *talk);
/* Takes away the last message. */
void conversation_pop(conversation *talk);
void conversation_free(conversation *talk);

/* Encodes the conversation with a place for the answer; drops oldest turns until it leaves `reserve` of n_ctx positions
 * free, and tells how many turns went in *out_n_dropped. QN_LIMIT when even the last question alone does not fit. */
qn_status conversation_encode(conversation *talk, const chat_template *form, const tokenizer *tok, uint32_t n_ctx,
                              uint32_t reserve, token_list *out_ids, uint32_t *out_n_dropped, error_context *err);

#endif
