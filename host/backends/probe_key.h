/* probe_key.h — on what an answer of a plugin depends: the plugin's file, this program, and the drivers of this machine.
 *
 * Path, inode, size, time and build id of the plugin; program, version, compiler and ABI minor of the host; versions of the kernel
 * modules that drive GPUs; the manifests that name OpenCL and Vulkan drivers, with their times; user, machine (or container) name;
 * variables that drivers read; CPU features, threads and options. When one of them changes, the key does.
 *
 * Threading: pure but for what it reads from the system.
 */
#ifndef HOST_PROBE_KEY_H
#define HOST_PROBE_KEY_H
#include <quoin/abi.h>

#include "backends/backend_spec.h"
#include "backends/registry.h"

#define PROBE_KEY_SIZE 17 /* 16 hexadecimal digits */

/* The key of this plugin with these options (the device of the spec does not count). */
void probe_key_make(const registry_entry *entry, const backend_spec *spec, const qn_machine *machine, uint32_t threads,
                    char out[PROBE_KEY_SIZE]);

#endif
