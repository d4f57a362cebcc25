/* crash_report.h — when the process dies in a plugin's code, the last line says in which plugin and which verb.
 *
 *     crash_report_enter(name, "step");
 *     status = plugin->step(…);
 *     crash_report_leave();
 *
 * Threading: enter and leave on the thread that calls plugins; a worker of the team may be the one that dies.
 * Memory:    name and verb are borrowed until the next enter or leave.
 */
#ifndef HOST_CRASH_REPORT_H
#define HOST_CRASH_REPORT_H

/* Handlers of SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT, on a stack of their own; the signal then ends the process as it would
 * have. For a whole program, never for a library; does nothing in a build with sanitizers, which have handlers of their own. */
void crash_report_install(void);

void crash_report_enter(const char *name, const char *verb);
void crash_report_leave(void);

#endif
