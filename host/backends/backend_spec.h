/* backend_spec.h — one alternative of a backend request, as the user wrote it.
 *
 *     NAME[/ISA][:DEVICE][,key=value]…[,help]      cpu   cpu/avx2   opencl:#0,cache=off   vulkan:0000:03:00.0   vulkan,help
 *
 * NAME/ISA is short for NAME,isa=ISA. DEVICE is an id (a PCI address, uuid=…), #N for the N-th, or software. `help` asks for the
 * backend's options. Nothing may be empty, and no key may come twice. Which keys a backend has is its
 * own business: choose.c asks it.
 *
 * Threading: pure.
 * Memory:    a value without pointers.
 * Errors:    QN_BAD_INPUT names the column, counted in bytes from 1.
 */
#ifndef HOST_BACKEND_SPEC_H
#define HOST_BACKEND_SPEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BACKEND_NAME_SIZE 64
#define BACKEND_DEVICE_SIZE 64
#define BACKEND_KEY_SIZE 32
#define BACKEND_VALUE_SIZE 128
#define BACKEND_MAX_OPTIONS 16

typedef struct backend_spec {
    char name[BACKEND_NAME_SIZE];
    char device[BACKEND_DEVICE_SIZE]; /* "" = any that is no software device */
    bool wants_help;
    uint32_t n_options;
    char keys[BACKEND_MAX_OPTIONS][BACKEND_KEY_SIZE];
    char values[BACKEND_MAX_OPTIONS][BACKEND_VALUE_SIZE];
} backend_spec;

/* Parses text[0..length). *out is unspecified on error. */
qn_status backend_spec_parse(const char *text, size_t length, backend_spec *out, error_context *err);

/* Adds one option unless the key is there already; QN_BAD_INPUT when there is no room for it. */
qn_status backend_spec_add(backend_spec *spec, const char *key, const char *value, error_context *err);

#endif
