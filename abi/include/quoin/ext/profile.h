/* ext/profile.h — optional plugin extension "quoin.profile/1": how long each op of the last steps took.
 *
 * get_ext("quoin.profile/1") answers a constant qn_profile, or null. Ops that a plugin runs as one are told under the first of
 * them; the others then have 0. Measuring may slow a step down; it never changes its results.
 *
 * Since: 0.0
 */
#ifndef QUOIN_EXT_PROFILE_H
#define QUOIN_EXT_PROFILE_H
#include <quoin/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QN_EXT_PROFILE "quoin.profile/1"

typedef struct qn_profile {
    uint32_t size;
    uint32_t reserved;
    /* Starts (on = 1, all times zero) or ends (0) measuring for this session. [ses] */
    qn_status (QN_CALL *enable)(qn_session *session, uint32_t on, qn_error *err);
    /* Writes nanoseconds summed over the steps since enable, by op number; at most `room` of them. Returns how many ops there are. [ses] */
    uint32_t (QN_CALL *read)(qn_session *session, uint64_t *nanoseconds, uint32_t room);
} qn_profile;

#ifdef __cplusplus
}
#endif
#endif
