/* session_scrub.h — a session forgets: everything in it that came of a text is overwritten, on the host and on the device.
 *
 * K and V through state_move, only the cells that were ever written; what steps leave besides through the extension quoin.scrub/1; and
 * the session's own arrays. Afterwards the session is as a new one, and may be used or destroyed.
 *
 * Threading: as the session's other calls.
 * Memory:    none is taken.
 */
#ifndef HOST_SESSION_SCRUB_H
#define HOST_SESSION_SCRUB_H
#include "base/scrub.h"
#include "decode/session.h"

/* Adds to *report. Whatever cannot be overwritten is noted there (a backend without the verb, a device that is lost), and everything
 * else is. */
void session_scrub(session *s, scrub_report *report);

#endif
