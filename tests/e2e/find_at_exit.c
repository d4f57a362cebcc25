/* find_at_exit.c — looks through all memory that a process could have written, when it ends, for what should be forgotten. For LD_PRELOAD.
 *
 * FIND_AT_EXIT is what to look for, as hexadecimal digits, so that the variable itself is no find; FIND_AT_EXIT_REPORT a file that gets one
 * line for each place, with what is mapped there and the bytes around it, and an empty file when there is none. Blocks that were freed are
 * looked through like others. Without the variables nothing happens.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FINDS 20
#define SHOWN 24 /* bytes before a find, and from it on */

typedef struct find {
    const unsigned char *at, *begin, *end; /* of the mapping */
    char name[64];
} find;

static find finds[MAX_FINDS];
static size_t n_finds;

static int digit(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The bytes are compared one at a time: nothing here holds them all, and would be found in turn. */
static bool stands_at(const unsigned char *at, const unsigned char *end, const char *hex) {
    for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2, at++) {
        if (at == end || *at != digit(hex[0]) * 16 + digit(hex[1])) {
            return false;
        }
    }
    return true;
}

static void look_through(const unsigned char *begin, const unsigned char *end, const char *hex, const char *name) {
    const int first = digit(hex[0]) * 16 + digit(hex[1]);
    for (const unsigned char *at = begin; n_finds < MAX_FINDS && (at = memchr(at, first, (size_t)(end - at))) != NULL; at++) {
        if (stands_at(at, end, hex)) {
            find *found = &finds[n_finds++];
            *found = (find){.at = at, .begin = begin, .end = end};
            snprintf(found->name, sizeof found->name, "%s", name);
        }
    }
}

static void look_everywhere(FILE *maps, const char *hex) {
    static char line[1024];
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        char access[5];
        if (sscanf(line, "%lx-%lx %4s", &begin, &end, access) == 3 && strncmp(access, "rw", 2) == 0) {
            line[strcspn(line, "\n")] = '\0';
            const char *name = strchr(line, '/') != NULL ? strrchr(line, '/') : strchr(line, '[');
            look_through((const unsigned char *)begin, (const unsigned char *)end, hex, name != NULL ? name : "a mapping");
        }
    }
}

static void show(FILE *report, const find *found) {
    fprintf(report, "%p %s: ", (const void *)found->at, found->name);
    for (const unsigned char *p = found->at - found->begin > SHOWN ? found->at - SHOWN : found->begin; p < found->end && p < found->at + SHOWN; p++) {
        fputc(isprint(*p) ? *p : '.', report);
    }
    fputc('\n', report);
}

/* All places first, the report then: what is written for one would be found as the next. */
__attribute__((destructor)) static void find_at_exit(void) {
    const char *hex = getenv("FIND_AT_EXIT"), *path = getenv("FIND_AT_EXIT_REPORT");
    FILE *maps = hex != NULL && path != NULL ? fopen("/proc/self/maps", "re") : NULL;
    if (maps == NULL) {
        return;
    }
    look_everywhere(maps, hex);
    fclose(maps);
    static char buffer[4096]; /* not from the heap, where the finds are */
    FILE *report = fopen(path, "we");
    if (report != NULL) {
        setvbuf(report, buffer, _IOFBF, sizeof buffer);
    }
    for (size_t i = 0; report != NULL && i < n_finds; i++) {
        show(report, &finds[i]);
    }
    if (report != NULL) {
        fclose(report);
    }
}
