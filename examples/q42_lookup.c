/* q42_lookup.c — the smallest program that asks a Q42 volume: all statements about one subject, as ids and texts.
 *
 *     cc q42_lookup.c $(pkg-config --cflags --libs quoin-formats) -o q42_lookup
 *     ./q42_lookup data.q42 '<http://e.example/s>'
 *
 * The library opens and allocates nothing: this program maps the file and gives the room for one decoded block.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <quoin/ntriples.h>
#include <quoin/q42.h>

static fmt_span map_file(const char *path) {
    fmt_span span = {NULL, 0};
    struct stat info;
    const int fd = open(path, O_RDONLY);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            span = (fmt_span){data, (uint64_t)info.st_size};
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return span;
}

/* An object may hold its value itself; everything else is in the lexicon. */
static void print_term(const q42_volume *volume, uint64_t id) {
    q42_term term;
    fmt_diag diag;
    char text[NTRIPLES_INLINE_ROOM];
    if (q42_lexicon_find(&volume->lexicon, id, &term, &diag) == FMT_OK && term.kind == Q42_TERM_STRING) {
        printf(" %.*s%.*s", (int)term.prefix.size, term.prefix.data, (int)term.text.size, term.text.data);
    } else {
        const uint32_t size = ntriples_inline_text(id, NTRIPLES_DECIMAL_CANONICAL, text);
        if (size > 0) {
            printf(" %.*s", (int)size, text);
        } else {
            printf(" %016" PRIx64, id);
        }
    }
}

int main(int argc, char **argv) {
    static uint8_t room[Q42_BLOCK_BYTES];
    q42_volume volume;
    q42_scan scan;
    q42_quin quin;
    fmt_diag diag;
    fmt_status status;
    if (argc != 3) {
        fprintf(stderr, "usage: q42_lookup VOLUME '<IRI>'\n");
        return 2;
    }
    if (q42_open(map_file(argv[1]), FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag) != FMT_OK) {
        fprintf(stderr, "%s: byte %" PRIu64 ": %s\n", argv[1], diag.offset, diag.text);
        return 1;
    }
    const q42_pattern pattern = {.bound = Q42_BOUND_SUBJECT, .subject = q42_hash(argv[2], strlen(argv[2]))};
    q42_scan_begin(&scan, &volume, &pattern, room);
    while ((status = q42_scan_next(&scan, &quin, &diag)) == FMT_OK) {
        printf("%s", argv[2]);
        print_term(&volume, quin.predicate);
        print_term(&volume, quin.object);
        printf("\n");
    }
    if (status != FMT_NOT_FOUND) {
        fprintf(stderr, "%s: byte %" PRIu64 ": %s\n", argv[1], diag.offset, diag.text);
        return 1;
    }
    fprintf(stderr, "%" PRIu64 " statements; %" PRIu64 " of %" PRIu64 " blocks decoded\n", scan.n_found, scan.stats.n_decoded,
            volume.header.block_count);
    return 0;
}
