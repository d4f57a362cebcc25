/* conform_child.h — one test in a process of its own, and the process itself.
 *
 *     quoin-conform CONFORM_CHILD PARENT ID SEED CASE <the user's own arguments>
 *
 * Hidden: it stands in no help text. Descriptor 3 takes the lines of core/cf_run.h; a test that has passed ends the process as any
 * program ends, so that what goes wrong at the very end is seen as well; after any other result it ends at once.
 *
 * Threading: the whole process.
 */
#ifndef CONFORM_CHILD_H
#define CONFORM_CHILD_H
#include <signal.h>

#include "program/conform_plan.h"
#include "program/conform_result.h"

#define CONFORM_CHILD "run-test"
#define CONFORM_OPENING "0.frame.opens" /* id of the opening that is tried before all tests */

/* Runs the child; argv is what stands behind CONFORM_CHILD. Returns the exit status. */
int conform_child_main(int argc, char *const *argv);

/* Set by a signal handler: the test that runs is killed, and no further one begins. */
extern volatile sig_atomic_t conform_is_interrupted;

/* What a run needs besides the request: the user's arguments as they came. */
typedef struct conform_runner {
    const conform_request *request;
    char *const *argv;
    int argc;
    conform_facts facts;
} conform_runner;

/* Runs one test in a child, or here with --in-process. *out is always filled; the caller frees it. */
void conform_run_one(conform_runner *runner, const conform_entry *entry, conform_result *out);

/* Opens and closes the plugin, as every test does: learns the facts, and whether there is anything to test. */
void conform_run_opening(conform_runner *runner, conform_result *out);

#endif
