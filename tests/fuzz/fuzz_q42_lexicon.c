/* fuzz_q42_lexicon.c — lexicons of any bytes, as a file of their own. */
#include "fuzz_q42.h"

static uint64_t checksum; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    q42_lexicon lexicon;
    fmt_diag diag;
    if (q42_lexicon_open((fmt_span){data, size}, 0, &lexicon, &diag) != FMT_OK) {
        require_diag(&diag, size);
        return 0;
    }
    checksum += visit_lexicon(&lexicon, size);
    return 0;
}
