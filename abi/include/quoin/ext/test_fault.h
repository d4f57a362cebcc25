/* ext/test_fault.h — optional plugin extension "quoin.test-fault/1": makes a device fail when it is asked to, for tests.
 *
 * get_ext("quoin.test-fault/1") answers a constant qn_test_fault, or null. A plugin that drives a device of its own offers it, so that
 * what can hardly be brought about from outside (memory of the device that runs out, a kernel that cannot be built, a device that
 * falls off the bus) can be tested on every machine. A host that is no test never arms anything; unarmed, it changes nothing.
 *
 * Each kind counts its own events on one open device, and one of them fails:
 *
 *     arm(device, QN_FAULT_STEP, 3, err)      the third step from now fails; those before and after it run
 *     arm(device, QN_FAULT_STEP, 0, err)      none does
 *
 *   kind                 an event is                                      the verb that meets the n-th answers
 *   QN_FAULT_ALLOC       one allocation of device memory                  NO_DEVICE_MEM; nothing of that verb is left allocated
 *   QN_FAULT_COMPILE     one kernel, module or pipeline that is built,    INTERNAL; the program is not made
 *                        or one compile where the plugin builds none
 *   QN_FAULT_STEP        one step, somewhere behind its first write       INTERNAL; as CANCELLED: cells and outputs of the step are
 *                        and before its last                              undefined, all other cells intact, the next step is legal
 *   QN_FAULT_LOSE        one piece of work given to the driver: a         DEVICE_LOST; from then on every verb on the device and its
 *                        submission, a launch or a copy                   children but the destroy verbs answers DEVICE_LOST, within
 *                                                                         two seconds, until the device is closed
 *
 * A fault happens once and is then disarmed; a loss lasts. Another device that the same plugin opens, and the same one opened again,
 * are whole.
 *
 * Since: 0.0
 */
#ifndef QUOIN_EXT_TEST_FAULT_H
#define QUOIN_EXT_TEST_FAULT_H
#include <quoin/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QN_EXT_TEST_FAULT "quoin.test-fault/1"

enum { QN_FAULT_ALLOC = 1, QN_FAULT_COMPILE = 2, QN_FAULT_STEP = 3, QN_FAULT_LOSE = 4 };

typedef struct qn_test_fault {
    uint32_t size;
    uint32_t reserved;
    /* The n-th event of this kind (QN_FAULT_*) from now fails; n = 1 is the next, 0 disarms. UNSUPPORTED for a kind that the plugin has no
     * events of, BAD_ARG for an unknown one. [ctl] */
    qn_status (QN_CALL *arm)(qn_device *device, uint32_t kind, uint64_t n, qn_error *err);
    /* Events of this kind since the device was opened, those that failed among them; 0 for a kind that there is none of. [ctl] */
    uint64_t (QN_CALL *count)(qn_device *device, uint32_t kind);
} qn_test_fault;

#ifdef __cplusplus
}
#endif
#endif
