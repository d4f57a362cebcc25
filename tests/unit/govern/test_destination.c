/* test_destination.c — where descriptors lead. */
#include "govern_fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct address_row {
    const char *text;
    destination wanted;
} address_row;

static void an_address_is_local_private_or_far(void **state) {
    static const address_row rows[] = {
        {"127.0.0.1", DESTINATION_LOCAL},   {"127.255.3.4", DESTINATION_LOCAL}, {"10.1.2.3", DESTINATION_LAN},
        {"172.16.0.1", DESTINATION_LAN},    {"172.31.255.255", DESTINATION_LAN}, {"172.32.0.1", DESTINATION_REMOTE},
        {"172.15.0.1", DESTINATION_REMOTE}, {"192.168.4.4", DESTINATION_LAN},   {"192.169.0.1", DESTINATION_REMOTE},
        {"169.254.9.9", DESTINATION_LAN},   {"8.8.8.8", DESTINATION_REMOTE},    {"11.0.0.1", DESTINATION_REMOTE},
        {"::1", DESTINATION_LOCAL},         {"fe80::1", DESTINATION_LAN},       {"fd12::1", DESTINATION_LAN},
        {"2001:db8::1", DESTINATION_REMOTE}, {"::ffff:10.0.0.1", DESTINATION_LAN}, {"::ffff:9.9.9.9", DESTINATION_REMOTE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sockaddr_in v4 = {.sin_family = AF_INET};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
        const bool is_v4 = inet_pton(AF_INET, rows[i].text, &v4.sin_addr) == 1;
        assert_true(is_v4 || inet_pton(AF_INET6, rows[i].text, &v6.sin6_addr) == 1);
        const destination found = destination_of_address(is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6);
        if (found != rows[i].wanted) {
            fail_msg("%s is %s", rows[i].text, destination_name(found));
        }
    }
}

static void files_pipes_and_sockets_of_this_machine_are_local(void **state) {
    int pipes[2], pair[2];
    (void)state;
    const int file = open("/dev/null", O_WRONLY);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(destination_of_descriptor(file), DESTINATION_LOCAL);
    assert_int_equal(destination_of_descriptor(pipes[1]), DESTINATION_LOCAL);
    assert_int_equal(destination_of_descriptor(pair[0]), DESTINATION_LOCAL);
    const int opened[] = {file, pipes[0], pipes[1], pair[0], pair[1]};
    for (size_t i = 0; i < 5; i++) {
        close(opened[i]);
    }
}

static void a_socket_without_a_peer_and_no_descriptor_at_all_are_far(void **state) {
    (void)state;
    const int lonely = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(destination_of_descriptor(lonely), DESTINATION_REMOTE);
    close(lonely);
    assert_int_equal(destination_of_descriptor(-1), DESTINATION_REMOTE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_local_private_or_far),
        cmocka_unit_test(files_pipes_and_sockets_of_this_machine_are_local),
        cmocka_unit_test(a_socket_without_a_peer_and_no_descriptor_at_all_are_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
