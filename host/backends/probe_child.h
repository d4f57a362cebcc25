/* probe_child.h — the process that has nothing to lose: it loads one plugin, asks it, and writes what it found to a pipe.
 *
 *     program PROBE_COMMAND FD PARENT NAME PATH THREADS LEVEL DEVICES FORMATS [key=value]…
 *
 *       FD       descriptor of the answer (probe_answer.h), private to this process
 *       PARENT   process id of the host: when it dies, so does the child
 *       LEVEL    1 devices, 2 known answer, 3 timing
 *       DEVICES  "" all that are no software, "all", or one as in a backend request
 *       FORMATS  numbers of weight formats that level 2 and 3 look at, joined by commas; "" none
 *
 * Hidden: it stands in no help text, and its form may change with every build, since host and child are the same file.
 *
 * Threading: the whole process.
 * Errors:    told in the answer; the exit status says nothing.
 */
#ifndef HOST_PROBE_CHILD_H
#define HOST_PROBE_CHILD_H

#define PROBE_COMMAND "probe-plugin"

/* Runs the child; argv is what stands behind PROBE_COMMAND. Returns the exit status. */
int probe_child_run(int argc, char *const *argv);

#endif
