/* contract_guard.h — a table of verbs around a plugin's own, which looks at both sides of every call. For those who write plugins,
 * and for tests: slow, and silent as long as everybody keeps the contract.
 *
 *     before   handles are alive and of the right kind; no session or plugin is in two calls at once; parents outlive children
 *     after    a failure has a known code, the same in the record, and words; a success has a result; verdicts, devices and plans
 *              are complete; inputs of a step are as they were, and nothing was written behind an output; after a refusal with
 *              BAD_ARG nothing was written at all; order as in abi/doc/threads.md; the process is as it was (process_guard.h);
 *              after stop no memory of the host is left
 *
 * Each breach is one line in the log at level error and is counted. Status and results are passed on as they are. Extensions are not
 * offered through the guard, since their handles would be the wrong ones.
 *
 * Threading: as the verbs.
 * Memory:    one small object for each handle, and in a step a copy of the outputs.
 */
#ifndef HOST_CONTRACT_GUARD_H
#define HOST_CONTRACT_GUARD_H
#include <quoin/abi.h>

/* The table to use in place of `plugin`. The next start through it starts `plugin`; both must outlive what is started. `name` is
 * borrowed. [owner-thread] */
const qn_plugin *contract_guard_wrap(const qn_plugin *plugin, const char *name);

/* Breaches so far, in this process. [any-thread] */
uint32_t contract_guard_breaches(void);

#endif
