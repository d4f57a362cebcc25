/* journal_show.c — the frames of a journal, and its end state, printed or gathered as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/graph_command.h"
#include "cli/journal_text.h"

static json_t *describe_frame(const q42_journal_entry *entry) {
    return json_pack("{s:I, s:I, s:I, s:s}", "sequence", (json_int_t)entry->sequence, "transaction",
                     (json_int_t)entry->transaction, "tick", (json_int_t)entry->tick, "type", journal_type_name(entry->type));
}

static qn_status put_line(journal_text *text, fmt_str line, error_context *err) {
    text->line.size = 0;
    const bool is_put = text_buffer_append(&text->line, line.data, (size_t)line.size) &&
                        text_buffer_append(&text->line, "\n", 1);
    return is_put ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

/* text->line becomes what the frame holds: a statement, a term, or nothing. */
static qn_status make_line(journal_text *text, const q42_journal_entry *entry, error_context *err) {
    const fmt_str none = {"", 0};
    if (entry->type == Q42_JOURNAL_ADD || entry->type == Q42_JOURNAL_REMOVE) {
        return journal_text_make(text, "", &entry->quin, err);
    }
    return put_line(text, entry->type == Q42_JOURNAL_TERM ? entry->text : none, err);
}

static json_t *describe_entry(const journal_text *text, const q42_journal_entry *entry) {
    json_t *object = describe_frame(entry);
    json_t *words = command_json_text(text->line.text, text->line.size - 1);
    if (entry->type == Q42_JOURNAL_TERM) {
        json_object_set_new(object, "key", graph_json_id(entry->key));
        json_object_set(object, "text", words);
    } else if (text->line.size > 1) {
        json_object_set(object, "statement", words);
        json_object_set_new(object, "metadata", graph_json_id(entry->quin.metadata));
    }
    json_decref(words);
    return object;
}

static qn_status show_frame(journal_text *text, const q42_journal_entry *entry, json_t *list, error_context *err) {
    char head[128];
    const qn_status status = make_line(text, entry, err);
    if (status < 0) {
        return status;
    }
    if (list != NULL) {
        return json_array_append_new(list, describe_entry(text, entry)) == 0 ? QN_OK
                                                                             : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    const int n = snprintf(head, sizeof head, "%" PRIu64 " tx %u %s%s", entry->sequence, entry->transaction,
                           journal_type_name(entry->type), text->line.size > 1 ? " " : "");
    return command_write(head, (size_t)n) && command_write(text->line.text, text->line.size) ? QN_OK : QN_IO;
}

qn_status journal_show_frames(const q42_journal *journal, const journal_state *state, graph_volume *volume, json_t *list,
                              error_context *err) {
    journal_text text = {0};
    q42_journal_walk walk = {0};
    q42_journal_entry entry;
    qn_status status = journal_text_init(&text, state, volume, err);
    while (status >= 0 && q42_journal_next(journal, &walk, &entry)) {
        status = show_frame(&text, &entry, list, err);
    }
    journal_text_deinit(&text);
    return status;
}

static qn_status show_change(journal_text *text, const journal_decision *d, json_t *list, error_context *err) {
    const qn_status status = journal_text_make(text, list != NULL ? "" : d->is_added ? "A" : "D", &d->quin, err);
    if (status < 0) {
        return status;
    }
    if (list == NULL) {
        return command_write(text->line.text, text->line.size) ? QN_OK : QN_IO;
    }
    json_t *object = json_pack("{s:s, s:o, s:o}", "change", d->is_added ? "add" : "remove", "statement",
                               command_json_text(text->line.text, text->line.size - 1), "metadata",
                               graph_json_id(d->quin.metadata));
    return json_array_append_new(list, object) == 0 ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

qn_status journal_show_changes(const q42_journal *journal, const journal_state *state, graph_volume *volume, json_t *list,
                               error_context *err) {
    journal_text text = {0};
    (void)journal;
    qn_status status = journal_text_init(&text, state, volume, err);
    for (unsigned adds = 0; adds < 2; adds++) {
        for (uint64_t i = 0; status >= 0 && i < state->n_decisions; i++) {
            if (state->decisions[i].is_added == (adds == 1)) {
                status = show_change(&text, &state->decisions[i], list, err);
            }
        }
    }
    journal_text_deinit(&text);
    return status;
}
