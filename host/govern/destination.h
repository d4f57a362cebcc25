/* destination.h — where an answer really goes, as far as the kernel can say it.
 *
 *     terminal, file, pipe, socket of this machine   local
 *     peer 127.0.0.0/8, ::1                          local
 *     peer in a private range                        lan     10/8, 172.16/12, 192.168/16, 169.254/16, fc00::/7, fe80::/10
 *     any other peer                                 remote
 *
 * Threading: pure but for the descriptor.
 */
#ifndef HOST_DESTINATION_H
#define HOST_DESTINATION_H
#include <stdint.h>

typedef uint32_t destination;
enum { DESTINATION_LOCAL = 0, DESTINATION_LAN = 1, DESTINATION_REMOTE = 2 };
const char *destination_name(destination where); /* "local", "lan", "remote" */

/* Of an open descriptor. What cannot be told is remote. */
destination destination_of_descriptor(int fd);

struct sockaddr;
destination destination_of_address(const struct sockaddr *address);

#endif
