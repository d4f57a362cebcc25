/* fact_text.c — numbered lines of facts. */
#include "ground/fact_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/subject_scan.h"
#include "ground/term_names.h"

static const char heading[] = "Facts. Name the number of each one that you use, like [1].\n";

static qn_status append(text_buffer *out, const char *text, size_t size, error_context *err) {
    return text_buffer_append(out, text, size) ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

void fact_lines_free(fact_lines *lines) {
    text_buffer_free(&lines->text);
    free(lines->ends);
    *lines = (fact_lines){.ends = NULL};
}

static qn_status write_line(term_namer *namer, const ground_fact *fact, uint32_t number, fact_lines *lines, error_context *err) {
    const uint64_t ids[] = {fact->quin.subject, fact->quin.predicate, fact->quin.object};
    char text[16];
    QN_TRY(append(&lines->text, text, (size_t)snprintf(text, sizeof text, "[%u]", number), err), err, "writing a fact");
    for (uint32_t place = 0; place < 3; place++) {
        QN_TRY(append(&lines->text, " ", 1, err), err, "writing a fact");
        QN_TRY(term_namer_append(namer, ids[place], place, &lines->text, err), err, "writing a fact");
    }
    QN_TRY(append(&lines->text, " .\n", 3, err), err, "writing a fact");
    lines->ends[number - 1] = lines->text.size;
    return QN_OK;
}

/* The labels of all subjects and objects of one volume's facts, at once. */
static qn_status find_labels(term_namer *namer, uint32_t source, const fact_set *facts, error_context *err) {
    uint64_t *ids = calloc(facts->n > 0 ? 2 * (size_t)facts->n : 1, sizeof *ids);
    uint32_t n = 0;
    if (ids == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    for (uint32_t i = 0; i < facts->n; i++) {
        if (facts->facts[i].source == source) {
            ids[n++] = facts->facts[i].quin.subject;
            ids[n++] = facts->facts[i].quin.object;
        }
    }
    const qn_status status = term_namer_find_labels(namer, ids, subject_scan_sort(ids, n), err);
    free(ids);
    return status;
}

static qn_status write_lines(term_namer *namers, uint32_t n_volumes, const fact_set *facts, fact_lines *lines, error_context *err) {
    for (uint32_t i = 0; i < facts->n; i++) {
        const ground_fact *fact = &facts->facts[i];
        if (fact->source >= n_volumes) {
            return FAIL(err, QN_INTERNAL, "fact %u comes from volume %u of %u", i + 1, fact->source, n_volumes);
        }
        QN_TRY(write_line(&namers[fact->source], fact, i + 1, lines, err), err, "fact %u", i + 1);
    }
    lines->n = facts->n;
    return QN_OK;
}

qn_status fact_lines_write(const ground_volume *volumes, uint32_t n_volumes, const fact_set *facts, fact_lines *out,
                           error_context *err) {
    fact_lines lines = {.ends = calloc(facts->n > 0 ? facts->n : 1, sizeof *lines.ends)};
    term_namer *namers = calloc(n_volumes > 0 ? n_volumes : 1, sizeof *namers);
    uint32_t n_ready = 0;
    qn_status status = lines.ends != NULL && namers != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    while (status == QN_OK && n_ready < n_volumes) {
        status = term_namer_init(&namers[n_ready], &volumes[n_ready], err);
        status = status == QN_OK ? find_labels(&namers[n_ready], n_ready, facts, err) : status;
        n_ready++;
    }
    status = status == QN_OK ? write_lines(namers, n_volumes, facts, &lines, err) : status;
    for (uint32_t i = 0; i < n_ready; i++) {
        term_namer_deinit(&namers[i]);
    }
    free(namers);
    if (status < 0) {
        fact_lines_free(&lines);
        return status;
    }
    *out = lines;
    return QN_OK;
}

fmt_str fact_lines_get(const fact_lines *lines, uint32_t i) {
    const size_t begin = i > 0 ? lines->ends[i - 1] : 0;
    return (fmt_str){lines->text.text + begin, lines->ends[i] - begin - 1};
}

qn_status fact_lines_preface(const fact_lines *lines, uint32_t n, text_buffer *out, error_context *err) {
    const uint32_t n_written = n < lines->n ? n : lines->n;
    if (n_written == 0) {
        return QN_OK;
    }
    QN_TRY(append(out, heading, sizeof heading - 1, err), err, "writing facts");
    QN_TRY(append(out, lines->text.text, lines->ends[n_written - 1], err), err, "writing facts");
    return append(out, "\n", 1, err);
}
