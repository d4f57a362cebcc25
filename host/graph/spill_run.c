/* spill_run.c — a growing array. */
#include "graph/spill_run.h"

#include <stdlib.h>

bool run_list_add(run_list *list, const sorted_run *run) {
    if (list->n == list->capacity) {
        const uint32_t capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        sorted_run *items = realloc(list->items, capacity * sizeof *items);
        if (items == NULL) {
            return false;
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = *run;
    return true;
}

void run_list_free(run_list *list) {
    free(list->items);
    *list = (run_list){0};
}
