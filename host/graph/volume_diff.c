/* volume_diff.c — by ids where ids mean the same, otherwise by text. */
#include "graph/volume_diff.h"

#include <stdlib.h>
#include <string.h>

#include "graph/line_sort.h"

/* ---------------------------------------------------------------- may ids be compared? */

static bool is_same_text(const q42_term *a, const q42_term *b, char *room) {
    if (a->kind != Q42_TERM_STRING || b->kind != Q42_TERM_STRING) {
        return false;
    }
    const uint32_t size = graph_term_copy(a, room);
    return graph_term_equals(b, room, size);
}

static bool has_own_lexicons(const graph_volume *v) {
    return graph_volume_is_set(v) && graph_volume_root(v)->manifest.n_shards == 0;
}

/* Walks both lexicons: *out_agree is false when a key has two texts, or an entry is no string. */
static qn_status compare_lexicons(graph_volume *a, graph_volume *b, char *room, bool *out_agree, error_context *err) {
    graph_term_walk *walks = calloc(2, sizeof *walks);
    q42_term left, right;
    *out_agree = walks != NULL;
    qn_status first = walks != NULL ? graph_volume_next_term(a, &walks[0], &left, err) : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    qn_status second = walks != NULL ? graph_volume_next_term(b, &walks[1], &right, err) : first;
    while (first == QN_OK && second == QN_OK && *out_agree) {
        const bool takes_left = left.hash <= right.hash, takes_right = right.hash <= left.hash;
        *out_agree = !(takes_left && takes_right) || is_same_text(&left, &right, room);
        first = takes_left ? graph_volume_next_term(a, &walks[0], &left, err) : first;
        second = takes_right ? graph_volume_next_term(b, &walks[1], &right, err) : second;
    }
    free(walks);
    return first < 0 && first != QN_NOT_FOUND ? first : second < 0 && second != QN_NOT_FOUND ? second : QN_OK;
}

static qn_status choose_way(graph_volume *a, graph_volume *b, bool *out_by_ids, error_context *err) {
    *out_by_ids = false;
    if (!graph_volume_has_mark(a) || !graph_volume_has_mark(b) || has_own_lexicons(a) || has_own_lexicons(b) ||
        graph_volume_terms(a) != TERMS_SURFACE || graph_volume_terms(b) != TERMS_SURFACE) {
        return QN_OK;
    }
    char *room = malloc(Q42_MAX_TERM);
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    const qn_status status = compare_lexicons(a, b, room, out_by_ids, err);
    free(room);
    return status;
}

/* ---------------------------------------------------------------- by ids */

typedef struct id_side {
    statement_lines lines;
    q42_quin quin;   /* the next one, when has_quin */
    bool has_quin;
} id_side;

static int compare_statements(const q42_quin *a, const q42_quin *b) {
    const uint64_t left[] = {a->object, a->subject, a->predicate, a->context};
    const uint64_t right[] = {b->object, b->subject, b->predicate, b->context};
    for (uint32_t i = 0; i < 4; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

/* The next statement that is not the one before. */
static qn_status advance(id_side *side, error_context *err) {
    const q42_quin before = side->quin;
    for (;;) {
        const qn_status status = graph_scan_next(side->lines.scan, &side->quin, err);
        const int order = status == QN_OK && side->has_quin ? compare_statements(&before, &side->quin) : -1;
        if (status < 0) {
            side->has_quin = false;
            return status == QN_NOT_FOUND ? QN_OK : status;
        }
        if (order > 0) {
            return FAIL(err, QN_BAD_FILE, "%s: its statements are not in the order object, subject, predicate, graph, as a volume with "
                        "this mark has them; quoin compact puts them in order", graph_volume_path(side->lines.volume));
        }
        if (order < 0) {
            side->has_quin = true;
            return QN_OK;
        }
    }
}

static qn_status tell_quin(const diff_options *options, bool is_added, id_side *side, error_context *err) {
    fmt_str line;
    const qn_status status = statement_lines_make(&side->lines, &side->quin, &line, err);
    return status < 0 ? status : options->tell(options->tell_ctx, is_added, line, err);
}

static qn_status merge_ids(id_side sides[2], const diff_options *options, diff_report *report, error_context *err) {
    qn_status status = advance(&sides[0], err);
    status = status < 0 ? status : advance(&sides[1], err);
    while (status == QN_OK && (sides[0].has_quin || sides[1].has_quin)) {
        const int order = !sides[0].has_quin   ? 1
                          : !sides[1].has_quin ? -1
                                               : compare_statements(&sides[0].quin, &sides[1].quin);
        report->n_removed += order < 0;
        report->n_added += order > 0;
        report->n_common += order == 0;
        if (order != 0) {
            status = tell_quin(options, order > 0, &sides[order > 0], err);
        }
        status = status < 0 || order > 0 ? status : advance(&sides[0], err);
        status = status < 0 || order < 0 ? status : advance(&sides[1], err);
    }
    return status;
}

static void add_counts(diff_report *report, const term_counts *counts) {
    report->counts.n_unresolved += counts->n_unresolved;
    report->counts.n_bare += counts->n_bare;
    report->counts.n_guessed += counts->n_guessed;
}

static qn_status diff_ids(graph_volume *volumes[2], const diff_options *options, diff_report *report, error_context *err) {
    id_side *sides = calloc(2, sizeof *sides);
    qn_status status = sides != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    for (uint32_t i = 0; i < 2 && status == QN_OK; i++) {
        status = statement_lines_begin(&sides[i].lines, volumes[i], options->is_lossy, err);
    }
    status = status < 0 ? status : merge_ids(sides, options, report, err);
    for (uint32_t i = 0; sides != NULL && i < 2; i++) {
        add_counts(report, &sides[i].lines.printer.counts);
        statement_lines_end(&sides[i].lines);
    }
    free(sides);
    return status;
}

/* ---------------------------------------------------------------- by text */

static qn_status sort_lines(graph_volume *volume, const diff_options *options, line_sort *sort, diff_report *report,
                            error_context *err) {
    statement_lines lines;
    fmt_str line;
    qn_status status = statement_lines_begin(&lines, volume, options->is_lossy, err);
    while (status == QN_OK) {
        status = statement_lines_next(&lines, &line, err);
        status = status < 0 ? status : line_sort_add(sort, line.data, line.size, err);
    }
    add_counts(report, &lines.printer.counts);
    statement_lines_end(&lines);
    return status == QN_NOT_FOUND ? line_sort_begin(sort, err) : status;
}

static qn_status next_line(line_sort *sort, fmt_str *line, bool *has_line, error_context *err) {
    const qn_status status = line_sort_next(sort, line, err);
    *has_line = status == QN_OK;
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static int compare_lines(fmt_str a, fmt_str b) {
    const int order = memcmp(a.data, b.data, (size_t)(a.size < b.size ? a.size : b.size));
    return order != 0 ? order : a.size < b.size ? -1 : a.size > b.size;
}

static qn_status merge_lines(line_sort *sorts[2], const diff_options *options, diff_report *report, error_context *err) {
    fmt_str lines[2] = {{NULL, 0}, {NULL, 0}};
    bool has[2] = {false, false};
    qn_status status = next_line(sorts[0], &lines[0], &has[0], err);
    status = status < 0 ? status : next_line(sorts[1], &lines[1], &has[1], err);
    while (status == QN_OK && (has[0] || has[1])) {
        const int order = !has[0] ? 1 : !has[1] ? -1 : compare_lines(lines[0], lines[1]);
        report->n_removed += order < 0;
        report->n_added += order > 0;
        report->n_common += order == 0;
        if (order != 0) {
            status = options->tell(options->tell_ctx, order > 0, lines[order > 0], err);
        }
        status = status < 0 || order > 0 ? status : next_line(sorts[0], &lines[0], &has[0], err);
        status = status < 0 || order < 0 ? status : next_line(sorts[1], &lines[1], &has[1], err);
    }
    return status;
}

static qn_status diff_text(graph_volume *volumes[2], const diff_options *options, diff_report *report, error_context *err) {
    line_sort *sorts[2] = {NULL, NULL};
    qn_status status = QN_OK;
    report->is_by_text = true;
    for (uint32_t i = 0; i < 2 && status == QN_OK; i++) {
        status = line_sort_create(options->folder, options->memory / 2, &sorts[i], err);
        status = status < 0 ? status : sort_lines(volumes[i], options, sorts[i], report, err);
    }
    status = status < 0 ? status : merge_lines(sorts, options, report, err);
    line_sort_destroy(sorts[0]);
    line_sort_destroy(sorts[1]);
    return status;
}

qn_status volume_diff(graph_volume *before, graph_volume *after, const diff_options *options, diff_report *out_report,
                      error_context *err) {
    graph_volume *volumes[2] = {before, after};
    bool is_by_ids;
    *out_report = (diff_report){.n_added = 0};
    qn_status status = choose_way(before, after, &is_by_ids, err);
    if (status == QN_OK) {
        status = is_by_ids ? diff_ids(volumes, options, out_report, err) : diff_text(volumes, options, out_report, err);
    }
    status = status < 0 ? status : graph_volume_check_files(before, err);
    return status < 0 ? status : graph_volume_check_files(after, err);
}
