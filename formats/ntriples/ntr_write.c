/* ntr_write.c — canonical statements. */
#include <string.h>

#include <quoin/ntriples.h>

uint64_t ntriples_write_statement(const fmt_str *terms, uint32_t n_terms, char *out) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < n_terms; i++) {
        memcpy(out + n, terms[i].data, terms[i].size);
        n += terms[i].size;
        out[n++] = ' ';
    }
    out[n++] = '.';
    out[n++] = '\n';
    return n;
}
