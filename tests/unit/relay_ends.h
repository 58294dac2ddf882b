/* What tests of src/job/relay_thread.c share: the test is the library on one side and the launcher on the other. */
#ifndef ESPI_TESTS_RELAY_ENDS_H
#define ESPI_TESTS_RELAY_ENDS_H

#include <config.h>
#include <stdbool.h>

#include "job/relay_thread.h"

#define INIT "cmd=init pmi_version=1 pmi_subversion=1\n"
#define GOOD "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
#define NAME "cmd=my_kvsname kvsname=kvs_1\n"
#define OWN "cmd=put kvsname=kvs_1 key=espalier-1 value=espalier-world-" PACKAGE_VERSION "-0000000000000005-1\n"

extern const struct espi_roll roll; /* of rank 1 of 3 */
extern int wire, other;             /* the library's number, the launcher */
extern struct espi_relay_ended ended;

struct state {
    int descriptors, threads, mappings, flags, status;
};
extern struct state before;

int count_in(const char *folder);
/* What there is now, once there is one thread. */
struct state look(void);
/* Whether it is what there was `before`. */
void check_untouched(void);

/* A new wire, and `before`; and a relay on it. */
void begin(void);
void start(void);

void say(int from, const char *text);
void hear(int at, const char *text);
/* The library says and hears something, the launcher the same. */
void passes(const char *question, const char *answer);
void open_conversation(void);
void barrier(void);
/* Whether there is nothing more to be read there. */
bool ends_at(int fd);
/* That nobody stands between. */
void check_direct(void);

#endif
