#define _GNU_SOURCE
#include "all_present_job.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STORE = 256 };

struct rank *ranks;
int barriers; /* of the library */
bool refuses; /* the launcher, rank 0's puts */
bool speaks;  /* rank 0 has something to say */
static struct {
    char key[64], value[1024];
} store[STORE];
static int stored;

void setup(void)
{
    ranks = mmap(NULL, RANKS * sizeof *ranks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(ranks != MAP_FAILED);
}

void teardown(void)
{
    munmap(ranks, RANKS * sizeof *ranks);
}

/* All on one node with the same settings, not the defaults. */
void begin(void)
{
    stored = 0;
    barriers = 3;
    refuses = false;
    speaks = true;
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = (struct rank){.here = RANKS, .size = RANKS, .number = i, .hash = 5};
        ranks[i].length = (size_t)sprintf(ranks[i].text, "settings of rank %d", i);
    }
}

/* ---- the launcher ---- */

void put(const char *key, const char *value)
{
    ck_assert_int_lt(stored, STORE);
    snprintf(store[stored].key, sizeof store->key, "%s", key);
    snprintf(store[stored++].value, sizeof store->value, "%s", value);
}

/* The first one counts. */
static const char *get(const char *key)
{
    for (int i = 0; i < stored; i++)
        if (strcmp(store[i].key, key) == 0)
            return store[i].value;
    return NULL;
}

static int in_barrier;

static void answer(struct rank *rank, int wire, const char *line, const int *wires, int count)
{
    char say[2048] = "", key[64], value[1024];
    if (strncmp(line, "cmd=init ", 9) == 0) {
        sprintf(say, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    } else if (strcmp(line, "cmd=get_my_kvsname") == 0) {
        sprintf(say, "cmd=my_kvsname kvsname=space_1\n");
    } else if (strcmp(line, "cmd=barrier_in") == 0) {
        if (++in_barrier < count)
            return;
        in_barrier = 0;
        for (int i = 0; i < count; i++)
            ck_assert_int_eq(write(wires[i], "cmd=barrier_out\n", 16), 16);
        return;
    } else if (sscanf(line, "cmd=put kvsname=space_1 key=%63s value=%1023s", key, value) == 2) {
        const bool taken = !refuses || rank != &ranks[0];
        if (taken)
            put(key, value);
        sprintf(say, "cmd=put_result rc=%d msg=x\n", taken ? 0 : -1);
    } else if (sscanf(line, "cmd=get kvsname=space_1 key=%63s", key) == 1) {
        const char *found = get(key);
        rank->gets++;
        sprintf(say, "cmd=get_result rc=%d msg=x value=%s\n", found ? 0 : -1, found ? found : "unknown");
    } else {
        ck_abort_msg("'%s'", line);
    }
    ck_assert_int_eq(write(wire, say, strlen(say)), (ssize_t)strlen(say));
}

static void serve(const int *wires, int count)
{
    struct pollfd fds[RANKS];
    char line[4096];
    in_barrier = 0;
    for (int i = 0; i < count; i++)
        fds[i] = (struct pollfd){wires[i], POLLIN, 0};
    for (int open = count; open > 0;) {
        ck_assert_int_gt(poll(fds, (nfds_t)count, 60000), 0);
        for (int i = 0; i < count; i++) {
            if (fds[i].fd < 0 || fds[i].revents == 0)
                continue;
            ssize_t got = read(wires[i], line, sizeof line - 1);
            if (got <= 0) {
                fds[i].fd = -1;
                open--;
                continue;
            }
            line[got] = '\0';
            ck_assert_ptr_eq(strchr(line, '\n'), line + got - 1); /* one at a time */
            line[got - 1] = '\0';
            answer(&ranks[i], wires[i], line, wires, count);
        }
    }
}

/* ---- the ranks ---- */

static void ask(int wire, const char *line)
{
    char bytes[1024];
    if (write(wire, line, strlen(line)) != (ssize_t)strlen(line) || read(wire, bytes, sizeof bytes) <= 0)
        _exit(2);
}

static void init(int wire)
{
    ask(wire, "cmd=init pmi_version=1 pmi_subversion=1\n");
    ask(wire, "cmd=get_my_kvsname\n");
    for (int i = 0; i < barriers; i++)
        ask(wire, "cmd=barrier_in\n");
}

static void init_late(int wire)
{
    ask(wire, "cmd=init pmi_version=1 pmi_subversion=1\n");
    ask(wire, "cmd=get_my_kvsname\n");
    if (write(wire, "cmd=barrier_in\n", 15) != 15)
        _exit(2);
}

static bool hear_late(int wire)
{
    char bytes[64];
    return read(wire, bytes, sizeof bytes) == 16 && memcmp(bytes, "cmd=barrier_out\n", 16) == 0;
}

static void set(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    if (value >= 0)
        setenv(name, text, 1);
    else
        unsetenv(name);
}

static struct rank *self;

static void say_to_all(int size, char said[ESPI_ROLL_SAID])
{
    snprintf(said, ESPI_ROLL_SAID, "to.%d", size);
}

static void meet(int number, int size, const char *said)
{
    char wanted[ESPI_ROLL_SAID];
    say_to_all(size, wanted);
    self->met += number == self->number && size == self->size && strcmp(said, wanted) == 0 ? 1 : 100;
}

int have_met(void)
{
    int n = 0;
    for (int i = 0; i < RANKS; i++)
        n += ranks[i].met > 0;
    return n;
}

static void be(struct rank *rank, int wire)
{
    static const struct espi_meeting meeting = {say_to_all, meet}, heard_only = {NULL, meet};
    self = rank;
    set("PMI_FD", rank->no_wire ? -1 : wire);
    set("PMI_RANK", rank->number);
    set("PMI_SIZE", rank->size);
    set("MPI_LOCALNRANKS", rank->here);
    unsetenv("SLURM_STEP_NUM_NODES");
    if (!rank->absent) {
        espi_all_present_announce(&barriers, rank->hash, rank->text, rank->length,
                                 speaks ? &meeting : &heard_only);
        if (rank->again)
            espi_all_present_announce(&barriers, rank->hash + 1, rank->text, rank->length, &meeting);
    }
    if (rank->late)
        init_late(wire);
    else
        init(wire);
    espi_all_present_announced();
    rank->seen = have_met();
    if (rank->late && (!hear_late(wire) || espi_all_present(rank->size)))
        _exit(4);
    if (rank->late)
        _exit(0);
    const int number = rank->number;
    rank->known = espi_all_present_is_heard() && espi_all_present_is_local();
    rank->other = espi_all_present_settings(number, rank->settings, ESPI_ALL_PRESENT_TEXT, &rank->settings_length);
    rank->local = espi_all_present_is_local();
    rank->heard = espi_all_present_is_heard();
    rank->all = espi_all_present(rank->size);
    if (!espi_all_present_is_local() || espi_all_present(rank->size) != rank->all || espi_all_present(7))
        _exit(3);
    rank->on_node = espi_all_present_on_node();
    _exit(0);
}

void run(int count)
{
    int wires[RANKS] = {0}, status;
    pid_t pids[RANKS];
    const pid_t parent = getpid();
    fflush(NULL);
    for (int i = 0; i < count; i++) {
        int pair[2];
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        wires[i] = pair[0];
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (int j = 0; j <= i; j++)
                close(wires[j]);
            if (getppid() == parent)
                be(&ranks[i], pair[1]);
            _exit(1);
        }
        close(pair[1]);
    }
    serve(wires, count);
    for (int i = 0; i < count; i++) {
        ck_assert(waitpid(pids[i], &status, 0) == pids[i]);
        ck_assert_msg(status == 0, "rank %d ends with %x", i, status);
        close(wires[i]);
        for (int j = 0; j < BEHIND; j++)
            ck_assert_int_eq(ranks[i].settings[ESPI_ALL_PRESENT_TEXT + j], 0);
    }
    for (int i = 0; i < count; i++) { /* nobody comes late */
        ck_assert_int_le(ranks[i].met, 1);
        ck_assert(ranks[i].met == 0 || ranks[i].seen == have_met());
        ck_assert(ranks[i].met == 0 || ranks[i].late || ranks[i].on_node);
    }
}

void check_alone(int count)
{
    for (int i = 0; i < count; i++)
        ck_assert_msg(!ranks[i].all && !ranks[i].on_node, "rank %d: all %d", i, ranks[i].all);
}
