/* ext/scrub.h — optional plugin extension "quoin.scrub/1": nothing of a text is left in what a session computed with.
 *
 * A host zeroes the cells of a session's states with state_move. What steps leave besides (act buffers, scratch of kernels, copies of
 * inputs and outputs on their way to and from a device) is the plugin's own, and this is how it is overwritten:
 *
 *     const qn_scrub *scrub = table->get_ext(QN_EXT_SCRUB);
 *     if (scrub != NULL) {
 *         uint64_t bytes = 0;
 *         status = scrub->scratch(session, &bytes, &error);
 *     }
 *
 * get_ext answers a constant qn_scrub, or null.
 * Since: 0.0
 */
#ifndef QUOIN_EXT_SCRUB_H
#define QUOIN_EXT_SCRUB_H
#include <quoin/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QN_EXT_SCRUB "quoin.scrub/1"

typedef struct qn_scrub {
    uint32_t size;
    uint32_t reserved;
    /* Overwrites with zeros everything of this session that a step writes, its states excepted, on the host and on the device, and
     * returns when that is done; *out_bytes: how many. States, weights and whatever is the same for every text stay as they are: the next
     * step gives what it would have given. Until then tap shows act buffers of zeros. [ses] */
    qn_status (QN_CALL *scratch)(qn_session *session, uint64_t *out_bytes, qn_error *err);
} qn_scrub;

#ifdef __cplusplus
}
#endif
#endif
