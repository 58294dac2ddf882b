/* A wire between the test's main thread, which is the library, with this program its object, and another thread, the
   launcher. */
#ifndef ESPI_TESTS_RELAY_WIRE_H
#define ESPI_TESTS_RELAY_WIRE_H

#include <config.h>

#include <stdatomic.h>
#include <stddef.h>

#define INIT "cmd=init pmi_version=1 pmi_subversion=1\n"
#define GOOD "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
#define ASK_NAME "cmd=get_my_kvsname\n"
#define NAME "cmd=my_kvsname kvsname=kvs_1\n"
#define OWN "cmd=put kvsname=kvs_1 key=espalier-1 value=espalier-world-" PACKAGE_VERSION "-0000000000000005-1\n"
#define PUT_2 "cmd=put kvsname=kvs_1 key=espalier-1 value=espalier-world-" PACKAGE_VERSION "-0000000000000005-2\n"
#define STORED "cmd=put_result rc=0\n"
#define IN "cmd=barrier_in\n"
#define OUT "cmd=barrier_out\n"

extern int wire, other; /* the library's end, the launcher's */

void begin(void);
void finish(void);

struct step {
    const char *hears, *says; /* NULL: nothing */
};
void launcher_does(int n, const struct step *does);
#define LAUNCHER(...) \
    launcher_does((int)(sizeof((struct step[]){__VA_ARGS__}) / sizeof(struct step)), (struct step[]){__VA_ARGS__})
void launcher_ends(void);
extern _Atomic(int) times_heard; /* what the launcher has heard, in steps */

void say(const char *text);
/* In pieces of so many bytes at most; 0: of any size. */
void hear_by(size_t piece, const char *text);
void asks_by(size_t piece, const char *question, const char *answer);
void asks(const char *question, const char *answer);
void opens(void);
/* Nobody stands between. */
void check_direct(void);

#endif
