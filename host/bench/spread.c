/* spread.c — sorting a few numbers. */
#include "bench/spread.h"

#include <stdlib.h>

void spread_add(spread *s, double value) {
    if (s->n < SPREAD_MOST) {
        s->values[s->n++] = value;
    }
}

static int compare_doubles(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

double spread_median(spread *s) {
    if (s->n == 0) {
        return 0.0;
    }
    qsort(s->values, s->n, sizeof s->values[0], compare_doubles);
    return s->n % 2 == 1 ? s->values[s->n / 2] : (s->values[s->n / 2 - 1] + s->values[s->n / 2]) / 2.0;
}
