/* bench_ground.c — what it costs to find the facts for a prompt in a large volume.
 *
 *     bench_ground VOLUME PROMPT [FACTS]
 *
 * Prints the time to open the volume with its withdrawals, the search for names in the lexicon the first time (its pages are checked on
 * the way) and once more, all facts, and their lines; then the lines.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ground/fact_text.h"
#include "ground/label_search.h"
#include "ground/retrieve.h"

static error_context err;

static void require(qn_status status, const char *what) {
    if (status < 0) {
        fprintf(stderr, "bench_ground: %s: %s\n", what, error_text(&err));
        exit(1);
    }
}

static void tell(const char *what, double begin) {
    printf("%-28s %9.3f ms\n", what, (clock_seconds() - begin) * 1e3);
}

int main(int argc, char **argv) {
    static label_matches matches;
    static prompt_words words;
    graph_volume *volume;
    ground_volume gv;
    fact_set facts = fact_set_empty();
    fact_lines lines;
    if (argc < 3) {
        fputs("usage: bench_ground VOLUME PROMPT [FACTS]\n", stderr);
        return 2;
    }
    double begin = clock_seconds();
    const fact_rules rules = {.now_ms = 1};
    require(graph_volume_open(argv[1], FMT_MODE_DEFAULT, TERMS_AUTO, &volume, &err), argv[1]);
    require(ground_volume_open(volume, &rules, 0, &gv, &err), argv[1]);
    tell("open", begin);
    prompt_words_read(&words, argv[2], strlen(argv[2]));
    for (int i = 0; i < 2; i++) {
        begin = clock_seconds();
        require(label_search(&gv, &words, &matches, &err), "names");
        tell(i == 0 ? "names, pages checked" : "names, once more", begin);
    }
    printf("%" PRIu64 " terms, %u named\n", matches.n_terms, matches.n);
    const retrieve_options options = {
        .prompt = argv[2], .prompt_bytes = strlen(argv[2]), .n_facts = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 16};
    begin = clock_seconds();
    require(ground_facts(&gv, 1, &options, &facts, NULL, &err), "facts");
    tell("facts, names among it", begin);
    begin = clock_seconds();
    require(fact_lines_write(&gv, 1, &facts, &lines, &err), "lines");
    tell("lines", begin);
    fwrite(lines.text.text, 1, lines.text.size, stdout);
    fact_lines_free(&lines);
    fact_set_free(&facts);
    ground_volume_close(&gv);
    graph_volume_close(volume);
    return 0;
}
