#define _GNU_SOURCE
#include "player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int receive(int from)
{
    int descriptor = -1;
    char byte;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof descriptor)];
    } control;
    struct iovec room = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &room, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(from, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != NULL)
        memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    return descriptor;
}

pid_t player_start(const char *program, int *wire, bool datagrams)
{
    char socket[16];
    int ends[2], good = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
    pid_t pid = good ? fork() : -1;
    if (pid == 0) {
        snprintf(socket, sizeof socket, "%d", dup(ends[1]));
        execl(program, program, datagrams ? "datagrams" : "stream", socket, NULL);
        _exit(127);
    }
    close(ends[1]);
    if (pid < 0 || (*wire = receive(ends[0])) < 0) {
        printf("%s does not play\n", program);
        exit(EXIT_FAILURE);
    }
    return pid;
}

static void set(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

void player_environment(int wire, int rank, int size, int ranks_here)
{
    set("PMI_FD", wire);
    set("PMI_RANK", rank);
    set("PMI_SIZE", size);
    unsetenv("MPI_LOCALNRANKS");
    unsetenv("MPI_LOCALRANKID");
    if (ranks_here >= 0) {
        set("MPI_LOCALNRANKS", ranks_here);
        set("MPI_LOCALRANKID", rank < ranks_here ? rank : 0);
    }
}
