/* destination.c — descriptors and addresses. */
#include "govern/destination.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

const char *destination_name(destination where) {
    static const char *const names[] = {"local", "lan", "remote"};
    return names[where < 3 ? where : DESTINATION_REMOTE];
}

static destination judge_ipv4(uint32_t a) {
    if (a >> 24 == 127) {
        return DESTINATION_LOCAL;
    }
    const bool is_private = a >> 24 == 10 || a >> 20 == 0xAC1 || a >> 16 == 0xC0A8 || a >> 16 == 0xA9FE;
    return is_private ? DESTINATION_LAN : DESTINATION_REMOTE;
}

static destination judge_ipv6(const struct in6_addr *a) {
    uint32_t last;
    memcpy(&last, a->s6_addr + 12, sizeof last);
    if (IN6_IS_ADDR_V4MAPPED(a)) {
        return judge_ipv4(ntohl(last));
    }
    if (IN6_IS_ADDR_LOOPBACK(a)) {
        return DESTINATION_LOCAL;
    }
    return IN6_IS_ADDR_LINKLOCAL(a) || (a->s6_addr[0] & 0xFE) == 0xFC ? DESTINATION_LAN : DESTINATION_REMOTE;
}

destination destination_of_address(const struct sockaddr *address) {
    switch (address->sa_family) {
    case AF_UNIX: return DESTINATION_LOCAL;
    case AF_INET: return judge_ipv4(ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
    case AF_INET6: return judge_ipv6(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    default: return DESTINATION_REMOTE;
    }
}

destination destination_of_descriptor(int fd) {
    struct stat facts;
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    if (fstat(fd, &facts) != 0) {
        return DESTINATION_REMOTE;
    }
    if (!S_ISSOCK(facts.st_mode)) {
        return DESTINATION_LOCAL;
    }
    memset(&peer, 0, sizeof peer);
    return getpeername(fd, (struct sockaddr *)&peer, &size) == 0 ? destination_of_address((const struct sockaddr *)&peer)
                                                                 : DESTINATION_REMOTE;
}
