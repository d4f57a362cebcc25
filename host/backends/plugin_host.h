/* plugin_host.h — the table of host services that one plugin sees: those of host_services.h, and a blob store where it meets only what it
 * put there itself, in this build, for this device with this driver.
 *
 * Threading: made, told of its device and destroyed on one thread; the services carry the tags of abi.h.
 * Memory:    the plugin reads the table until it is stopped; it borrows the services.
 */
#ifndef HOST_PLUGIN_HOST_H
#define HOST_PLUGIN_HOST_H
#include "backends/host_services.h"
#include "backends/registry.h"

typedef struct plugin_host {
    host_context context; /* first: what every service finds through its ctx */
    qn_host table;
    char plugin[256];     /* name and build */
    char scope[640];      /* and device and driver, once they are known */
} plugin_host;

/* Null without memory. */
plugin_host *plugin_host_create(host_services *services, const registry_entry *entry);
void plugin_host_destroy(plugin_host *host);

/* What the plugin keeps from now on is for this device. */
void plugin_host_choose_device(plugin_host *host, const qn_device_info *info);

#endif
