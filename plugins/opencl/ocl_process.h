/* ocl_process.h — what drivers change in the process while they are loaded, put back.
 *
 * A driver brings a compiler with it, and compilers install signal handlers (PoCL with LLVM: fifteen, Ctrl-C among them) and set
 * environment variables. A plugin leaves the process as it found it, so it looks before and after.
 *
 *     ocl_process before;
 *     ocl_process_take(&before);
 *     … calls into drivers …
 *     ocl_process_restore(&before);
 *
 * Threading: like the environment itself: nobody else changes handlers or variables meanwhile.
 * Memory:    fixed storage; borrows the strings of the environment.
 */
#ifndef OCL_PROCESS_H
#define OCL_PROCESS_H
#include <stdint.h>

#define OCL_SIGNALS 65
#define OCL_MOST_VARIABLES 1024

typedef struct ocl_process {
    uint64_t actions[OCL_SIGNALS][4]; /* by signal number, as the kernel has them */
    uint8_t is_known[OCL_SIGNALS];
    char *variables[OCL_MOST_VARIABLES];
    uint32_t n_variables;             /* OCL_MOST_VARIABLES: too many, left alone */
} ocl_process;

void ocl_process_take(ocl_process *process);
void ocl_process_restore(const ocl_process *process);

#endif
