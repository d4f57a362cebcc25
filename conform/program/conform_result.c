/* conform_result.c — reading the lines of a test. */
#include "program/conform_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

const char *conform_outcome_name(conform_outcome outcome) {
    static const char *const names[OUTCOMES] = {"NONE", "PASS", "FAIL", "CRASH", "TIMEOUT", "UNSUPPORTED", "WAIVED"};
    return names[outcome < OUTCOMES ? outcome : 0];
}

const char *conform_fact(const conform_facts *facts, const char *key) {
    for (uint32_t i = 0; i < facts->n; i++) {
        if (strcmp(facts->keys[i], key) == 0) {
            return facts->words[i];
        }
    }
    return "";
}

void conform_result_free(conform_result *result) {
    text_buffer_free(&result->notes);
    text_buffer_free(&result->printed);
    free(result->covers);
    free(result->measures);
    memset(result, 0, sizeof *result);
}

/* Copies the word at *at, up to a blank, and moves behind the blank. */
static bool take_word(const char **at, char *out, size_t room) {
    const size_t n = strcspn(*at, " ");
    if (n == 0 || n >= room) {
        return false;
    }
    snprintf(out, room, "%.*s", (int)n, *at);
    *at += n;
    *at += **at == ' ';
    return true;
}

static bool take_number(const char **at, uint64_t most, uint64_t *out) {
    if (!decimal_read(at, most, out) || (**at != ' ' && **at != '\0')) {
        return false;
    }
    *at += **at == ' ';
    return true;
}

/* Room for one more entry: doubles at powers of two. */
static bool grow(void **array, uint32_t n, size_t entry) {
    if ((n & (n - 1)) == 0) {
        void *larger = realloc(*array, (n == 0 ? 1 : (size_t)n * 2) * entry);
        if (larger == NULL) {
            return false;
        }
        *array = larger;
    }
    return true;
}

static bool take_fact(conform_facts *facts, const char *at) {
    char key[sizeof facts->keys[0]];
    if (!take_word(&at, key, sizeof key)) {
        return false;
    }
    if (facts != NULL && facts->n < CONFORM_FACTS && conform_fact(facts, key)[0] == '\0') {
        snprintf(facts->keys[facts->n], sizeof key, "%s", key);
        snprintf(facts->words[facts->n++], CONFORM_FACT_SIZE, "%.*s", CONFORM_FACT_SIZE - 1, at);
    }
    return true;
}

static bool take_cover(conform_result *r, const char *at) {
    uint64_t op, format, verdict, tested;
    void *array = r->covers;
    if (!take_number(&at, UINT32_MAX, &op) || !take_number(&at, UINT32_MAX, &format) || !take_number(&at, 2, &verdict) ||
        !take_number(&at, 1, &tested) || !grow(&array, r->n_covers, sizeof *r->covers)) {
        return false;
    }
    r->covers = array;
    r->covers[r->n_covers++] = (conform_cover){(uint32_t)op, (uint32_t)format, (uint32_t)verdict, tested != 0};
    return true;
}

static bool take_measure(conform_result *r, const char *at) {
    conform_measure one = {.value = 0};
    char number[32];
    void *array = r->measures;
    if (!take_word(&at, one.name, sizeof one.name) || !take_word(&at, number, sizeof number) ||
        !take_word(&at, one.unit, sizeof one.unit) || !grow(&array, r->n_measures, sizeof one)) {
        return false;
    }
    one.value = strtod(number, NULL); /* lint: written by this program's own printf a moment ago */
    r->measures = array;
    r->measures[r->n_measures++] = one;
    return true;
}

static bool take_end(conform_result *r, const char *at) {
    char result[16];
    if (!take_word(&at, result, sizeof result) || !take_number(&at, UINT64_MAX, &r->n_cases)) {
        return false;
    }
    r->outcome = strcmp(result, "pass") == 0   ? OUTCOME_PASS
                 : strcmp(result, "fail") == 0 ? OUTCOME_FAIL
                 : strcmp(result, "unsupported") == 0 ? OUTCOME_UNSUPPORTED : OUTCOME_NONE;
    snprintf(r->words, sizeof r->words, "%s", at);
    return r->outcome != OUTCOME_NONE;
}

bool conform_result_take(conform_result *result, conform_facts *facts, const char *line, size_t size) {
    char text[CF_LINE_SIZE], kind[16];
    const char *at = text;
    snprintf(text, sizeof text, "%.*s", (int)(size < sizeof text ? size : sizeof text - 1), line);
    if (!take_word(&at, kind, sizeof kind)) {
        return false;
    }
    if (strcmp(kind, "case") == 0) {
        const bool is_good = take_number(&at, UINT64_MAX, &result->last_case);
        snprintf(result->label, sizeof result->label, "%.511s", at);
        return is_good;
    }
    if (strcmp(kind, "note") == 0) {
        return text_buffer_append(&result->notes, at, strlen(at)) && text_buffer_append(&result->notes, "\n", 1);
    }
    return strcmp(kind, "fact") == 0      ? take_fact(facts, at)
           : strcmp(kind, "cover") == 0   ? take_cover(result, at)
           : strcmp(kind, "measure") == 0 ? take_measure(result, at)
           : strcmp(kind, "end") == 0 && take_end(result, at);
}
