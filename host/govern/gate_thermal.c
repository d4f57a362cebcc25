/* gate_thermal.c — a hot machine does only what cannot wait. */
#include <string.h>

#include "govern/gate.h"

void gate_thermal(request *r, gate_result *out) {
    thermal_monitor *heat = r->world.heat;
    r->is_critical = r->intent != NULL && policy_words_have(&r->rules->is.intent.critical, r->intent);
    if (heat == NULL) {
        gate_say(out, VERDICT_NOTE, CODE_NONE, "temperature unknown: no sensor is looked at");
        return;
    }
    heat->is_critical_intent = r->is_critical;
    const thermal_state state = thermal_look(heat);
    if (!heat->is_known) {
        gate_say(out, VERDICT_NOTE, CODE_NONE, "temperature unknown: no sensor can be read; taken as cool");
    } else if (state == THERMAL_COOL) {
        gate_say(out, VERDICT_PASS, CODE_NONE, "%.1f C, cool", heat->celsius);
    } else if (state == THERMAL_WARM) {
        gate_say(out, VERDICT_NOTE, CODE_NONE, "%.1f C, warm: rests between tokens", heat->celsius);
    } else if (r->is_critical) {
        gate_say(out, VERDICT_NOTE, CODE_NONE, "%.1f C, critical, and so is the intent %s", heat->celsius, r->intent);
    } else {
        gate_say(out, VERDICT_BLOCK, CODE_THERMAL, "%.1f C is above %.1f C", heat->celsius, heat->critical);
    }
}
