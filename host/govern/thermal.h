/* thermal.h — how hot the machine is: sensors of the kernel and of NVIDIA's library, the worst of them, and what that means.
 *
 *     Cool ──► Warm ──► Critical         above 65 °C, above 85 °C (a policy says others); exactly 65 and 85 belong to the lower band
 *          ◄──      ◄──                  and back only 5 °C below
 *
 * Without a sensor that can be read the state is Cool and the temperature unknown: both are told.
 *
 * Threading: one thread at a time per monitor.
 * Memory:    files and library are opened by thermal_open; reading takes no memory.
 * Errors:    a sensor that cannot be read counts as not there.
 */
#ifndef HOST_THERMAL_H
#define HOST_THERMAL_H
#include <stdbool.h>
#include <stdint.h>

#include "govern/policy.h"

#define THERMAL_MAX_SENSORS 64u

typedef uint32_t thermal_state;
enum { THERMAL_COOL = 0, THERMAL_WARM = 1, THERMAL_CRITICAL = 2 };
const char *thermal_state_name(thermal_state state); /* "cool", "warm", "critical" */

/* The hottest of all sensors, in degrees Celsius; false when none could be read. */
typedef bool thermal_read_fn(void *ctx, double *out_celsius);

typedef struct thermal_sensors thermal_sensors;

/* Opens the sensors of the policy's folders whose name is one of its words, and the devices of the NVML library ("none" for no folder and no
 * library). Null without memory. */
thermal_sensors *thermal_sensors_open(const char *hwmon, const char *zones, const char *nvml, const policy_words *names);
void thermal_sensors_close(thermal_sensors *sensors); /* null is legal */
uint32_t thermal_sensors_count(const thermal_sensors *sensors);
thermal_read_fn thermal_sensors_read; /* ctx is a thermal_sensors */

typedef struct thermal_monitor {
    thermal_read_fn *read;
    void *ctx;
    double warm, critical, hysteresis; /* degrees */
    /* filled by thermal_look */
    thermal_state state;
    bool is_known;
    double celsius;
    /* for thermal_go_on */
    void (*pause)(void *ctx, double seconds); /* null: the system's */
    double (*seconds)(void *ctx);             /* null: the system's */
    void *clock_ctx;
    bool is_critical_intent;
    double last_seconds;                      /* of the last look; negative: none */
    uint32_t n_pauses;
    bool has_stopped;
} thermal_monitor;

/* One look: a new state. [no-alloc] */
thermal_state thermal_look(thermal_monitor *monitor);

/* A token_watch: Warm sleeps as long as the tokens since the last look took, at most a second, so that half of the time is rest; Critical ends
 * the run unless the intent is critical. `ctx` is a thermal_monitor. [no-alloc] */
bool thermal_go_on(void *ctx, uint32_t step);

#endif
