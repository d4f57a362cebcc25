/* fake_nvml.c — two devices whose temperatures are in $FAKE_NVML_CELSIUS, such as "41 97"; none without it. With a + in front the first one gets
 * a degree hotter each time it is asked. */
#include <stdlib.h>

static unsigned read_number(const char **at) {
    unsigned value = 0;
    while (**at == ' ') {
        (*at)++;
    }
    while (**at >= '0' && **at <= '9') {
        value = value * 10 + (unsigned)(*(*at)++ - '0');
    }
    return value;
}

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *out);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out);

int nvmlInit_v2(void) {
    return getenv("FAKE_NVML_CELSIUS") != NULL ? 0 : 9;
}

int nvmlShutdown(void) {
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *out) {
    *out = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    static unsigned numbers[] = {0, 1};
    *out = &numbers[index];
    return 0;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out) {
    static unsigned n_asked;
    const char *text = getenv("FAKE_NVML_CELSIUS");
    if (text == NULL || sensor != 0) {
        return 3;
    }
    const unsigned more = *text == '+' ? n_asked : 0;
    text += *text == '+';
    *out = read_number(&text) + more;
    n_asked += *(unsigned *)device == 0;
    if (*(unsigned *)device == 1) {
        *out = read_number(&text);
    }
    return 0;
}
