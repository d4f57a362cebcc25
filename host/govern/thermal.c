/* thermal.c — bands of temperature with hysteresis, and rests between tokens. */
#include "govern/thermal.h"

#include <time.h>

#include "base/clock.h"

#define LONGEST_PAUSE 1.0 /* seconds */

const char *thermal_state_name(thermal_state state) {
    static const char *const names[] = {"cool", "warm", "critical"};
    return names[state <= THERMAL_CRITICAL ? state : THERMAL_CRITICAL];
}

/* Up at the threshold, down only below it by the hysteresis. */
static thermal_state step_state(const thermal_monitor *m, double celsius) {
    const double critical = m->critical - (m->state == THERMAL_CRITICAL ? m->hysteresis : 0.0);
    const double warm = m->warm - (m->state >= THERMAL_WARM ? m->hysteresis : 0.0);
    return celsius > critical ? THERMAL_CRITICAL : celsius > warm ? THERMAL_WARM : THERMAL_COOL;
}

thermal_state thermal_look(thermal_monitor *monitor) {
    monitor->is_known = monitor->read != NULL && monitor->read(monitor->ctx, &monitor->celsius);
    monitor->state = monitor->is_known ? step_state(monitor, monitor->celsius) : THERMAL_COOL;
    return monitor->state;
}

static double read_clock(const thermal_monitor *m) {
    return m->seconds != NULL ? m->seconds(m->clock_ctx) : clock_seconds();
}

static void rest(thermal_monitor *m, double seconds) {
    const double bounded = seconds < LONGEST_PAUSE ? seconds : LONGEST_PAUSE;
    m->n_pauses++;
    if (m->pause != NULL) {
        m->pause(m->clock_ctx, bounded);
        return;
    }
    const struct timespec time = {(time_t)bounded, (long)((bounded - (double)(time_t)bounded) * 1e9)};
    nanosleep(&time, NULL); /* an interrupt ends the rest, and is seen before the next token */
}

bool thermal_go_on(void *ctx, uint32_t step) {
    thermal_monitor *m = ctx;
    const double now = read_clock(m);
    (void)step;
    const thermal_state state = thermal_look(m);
    if (state == THERMAL_CRITICAL && !m->is_critical_intent) {
        m->has_stopped = true;
        return false;
    }
    if (state != THERMAL_COOL) {
        rest(m, m->last_seconds >= 0.0 && now > m->last_seconds ? now - m->last_seconds : LONGEST_PAUSE / 10);
    }
    m->last_seconds = read_clock(m);
    return true;
}
