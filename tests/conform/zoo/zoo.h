/* zoo.h — what the files of a faulty backend share: which fault it has, and the honest backend below it.
 *
 * Threading: as the verbs of <quoin/abi.h> ask; the globals belong to one plugin in one process.
 */
#ifndef ZOO_H
#define ZOO_H
#include <quoin/glue.h>

#define ZOO_TEXT(word) ZOO_TEXT_(word)
#define ZOO_TEXT_(word) #word
#define ZOO_JOIN(a, b) ZOO_JOIN_(a, b)
#define ZOO_JOIN_(a, b) a##b
#define IS(fault) (ZOO_JOIN(FAULT_, FAULT) == ZOO_JOIN(FAULT_, fault))

/* One number a fault. FAULT_NUMBERS comes from CMakeLists.txt. */
enum { FAULT_none, FAULT_NUMBERS };

extern const qn_plugin *zoo_honest; /* the reference backend's verbs */
extern qn_host zoo_host;            /* the host's table of the last start */

extern float zoo_blob_factor;       /* believes_any_blob: a constant that was computed once and kept in the host's store */

/* The program of the steps to come; copied. */
void zoo_note_program(const qn_program *program, const qn_limits *limits);

/* The program with its fault put in, until the next call; program itself when it has none that this program could show. */
const qn_program *zoo_bend_program(const qn_program *program, const qn_compile_options *options);

/* zoo_device.c and zoo_step.c put their verbs into the table. */
void zoo_fill_device(qn_plugin *verbs);
void zoo_fill_step(qn_plugin *verbs);
void zoo_fill_lost(qn_plugin *verbs); /* last */

#endif
