/*
 * The process of player.h:
 *
 *     hydra_pmi_proxy stream|datagrams SOCKET
 *
 * Makes a wire and passes the rank's end to whoever holds the other end of SOCKET, a descriptor.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool pass(int to, int descriptor)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof descriptor)];
    } control = {.head = {CMSG_LEN(sizeof descriptor), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec byte = {"", 1};
    struct msghdr message = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    return sendmsg(to, &message, 0) == 1;
}

int main(int argc, char **argv)
{
    int ends[2];
    char byte;
    if (argc != 3)
        return 6;
    const int kind = strcmp(argv[1], "datagrams") == 0 ? SOCK_DGRAM : SOCK_STREAM, to = atoi(argv[2]);
    alarm(300); /* never for longer than a test */
    if (socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, ends) != 0 || !pass(to, ends[1]))
        return 7;
    close(ends[1]);
    return read(to, &byte, 1) != 0; /* until nobody listens to it */
}
