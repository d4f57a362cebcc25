/* pci.h — what stands on the PCI bus, as the system lists it.
 *
 * Threading: pure but for what it reads.
 */
#ifndef HOST_PCI_H
#define HOST_PCI_H
#include <stdbool.h>

/* Is there a display controller of a vendor whose GPUs compute (NVIDIA, AMD, Intel)? Every server has some other one. `folder` is
 * /sys/bus/pci/devices, or null for that. */
bool pci_has_gpu(const char *folder);

#endif
