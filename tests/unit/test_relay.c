/* The relay between library and launcher (src/job/relay.c), byte for byte: what is not its own it passes on
   untouched, however it comes in pieces, and what is, nobody sees. At scale: test_roll.c. */
#include <check.h>
#include <config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/relay.h"
#include "random.h"
#include "runner.h"

enum { ROOM = 1 << 17 };

static struct espi_relay relay;
static struct espi_roll roll;
static char up[ROOM], down[ROOM]; /* all that has come out, with ends */
static size_t up_used, down_used;

static void begin(void)
{
    roll = (struct espi_roll){.rank = 1, .size = 5, .level = ESPI_ROLL_PRESENT, .hash = 5};
    espi_relay_begin(&relay, &roll);
    up_used = down_used = 0;
    up[0] = down[0] = '\0';
}

static void append(char *all, size_t *used, const char *bytes, size_t length)
{
    ck_assert_uint_lt(*used + length, ROOM);
    memcpy(all + *used, bytes, length);
    *used += length;
    all[*used] = '\0';
}

/* Says bytes in pieces of at most `piece`; all room that the relay may want is there, and no more. */
static void says(bool library, const char *bytes, size_t length, size_t piece)
{
    for (size_t at = 0; at < length;) {
        const size_t n = length - at < piece ? length - at : (size_t)random_in(1, (int64_t)piece);
        char *a = malloc(n + ESPI_RELAY_ADDS), *b = malloc(n + ESPI_RELAY_ADDS);
        struct espi_relay_out launcher = {a, 0, n + ESPI_RELAY_ADDS}, other = {b, 0, n + ESPI_RELAY_ADDS};
        if (library)
            espi_relay_said(&relay, bytes + at, n, &launcher);
        else
            espi_relay_answered(&relay, bytes + at, n, &launcher, &other);
        at += n;
        append(up, &up_used, a, launcher.used);
        append(down, &down_used, b, other.used);
        free(a);
        free(b);
    }
}

static size_t piece_now = 1 << 16;

static void library(const char *text)
{
    says(true, text, strlen(text), piece_now);
}

static void launcher(const char *text)
{
    says(false, text, strlen(text), piece_now);
}

/* What has come out since the last time. */
static void came(const char *to_launcher, const char *to_library)
{
    ck_assert_str_eq(up, to_launcher);
    ck_assert_str_eq(down, to_library);
    up_used = down_used = 0;
    up[0] = down[0] = '\0';
}

static void passes(const char *question, const char *answer)
{
    library(question);
    came(question, "");
    launcher(answer);
    came("", answer);
    ck_assert(espi_relay_is_quiet(&relay));
}

#define INIT_1 "cmd=init pmi_version=1 pmi_subversion=1\n"
#define INIT_2 "cmd=init pmi_version=2 pmi_subversion=0\n"
#define GOOD_1 "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
#define GOOD_2 "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"

static void open_1(void)
{
    passes(INIT_1, GOOD_1);
    passes("cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    passes("cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=kvs_1\n");
}

#define OWN "cmd=put kvsname=kvs_1 key=espalier-1 value=espalier-world-" PACKAGE_VERSION "-0000000000000005-1\n"
#include <config.h>

START_TEST(conversation_1)
{
    static const char found[] = "cmd=get_result rc=0 value=espalier-world-" PACKAGE_VERSION "-0000000000000007-2\n";
    for (piece_now = 1; piece_now < 200; piece_now = piece_now * 3 + 1) {
        begin();
        open_1();
        library("cmd=barrier_in\n");
        came(OWN, "");
        ck_assert(!espi_relay_is_quiet(&relay));
        launcher("cmd=put_result rc=0 msg=success\n");
        came("cmd=barrier_in\n", "");
        ck_assert(!espi_relay_is_quiet(&relay));
        launcher("cmd=barrier_out\n");
        came("", "cmd=barrier_out\n");
        passes("cmd=barrier_in\n", "cmd=barrier_out rc=0\n"); /* this rank leads no group */
        passes("cmd=get kvsname=kvs_1 key=x\n", "cmd=get_result rc=-1 msg=barrier_out value=unknown\n");
        library("cmd=barrier_in\n");
        came("cmd=get kvsname=kvs_1 key=espalier-all\n", "");
        launcher(found);
        came("cmd=barrier_in\n", "");
        launcher("cmd=barrier_out\n");
        came("", "cmd=barrier_out\n");
        ck_assert_int_eq(relay.talk.ask.keys, ESPI_ROLL_DONE);
        ck_assert_int_eq(relay.talk.ask.level, ESPI_ROLL_ON_NODE);
        ck_assert(relay.talk.ask.first_known && relay.talk.ask.first_hash == 7);
        passes("cmd=barrier_in\n", "cmd=barrier_out\n");
        passes("cmd=finalize\n", "cmd=finalize_ack\n");
    }
}
END_TEST

/* The library's question after the nodes of all ranks is none of ours; the first answer that has them is noted. */
START_TEST(mapping_1)
{
    for (piece_now = 1; piece_now < 200; piece_now = piece_now * 3 + 1) {
        begin();
        open_1();
        ck_assert_str_eq(relay.mapping, "");
        passes("cmd=get kvsname=kvs_1 key=other\n", "cmd=get_result rc=0 msg=success value=vector,(0,9,9)\n");
        ck_assert_str_eq(relay.mapping, "");
        passes("cmd=get kvsname=kvs_1 key=PMI_process_mapping\n",
               "cmd=get_result rc=0 msg=success value=(vector,(0,2,16))\n");
        ck_assert_str_eq(relay.mapping, "(vector,(0,2,16))");
        passes("cmd=get kvsname=kvs_1 key=mine\n", "cmd=get_result rc=0 msg=success value=(vector,(0,9,9))\n");
        ck_assert_str_eq(relay.mapping, "(vector,(0,2,16))");
    }
}
END_TEST

/* With its length in front, blanks where ranks or launchers have them. */
static const char *rank_2(const char *text)
{
    static char all[256];
    snprintf(all, sizeof all, "%6zu%s", strlen(text), text);
    return all;
}

static const char *launcher_2(const char *text)
{
    static char all[256];
    snprintf(all, sizeof all, "%-6zu%s", strlen(text), text);
    return all;
}

START_TEST(conversation_2)
{
    for (piece_now = 1; piece_now < 200; piece_now = piece_now * 3 + 1) {
        begin();
        passes(INIT_2, GOOD_2);
        passes(rank_2("cmd=fullinit;pmijobid=7;pmirank=1;threaded=0;"),
               launcher_2("cmd=fullinit-response;rc=0;pmi-version=2;rank=1;size=5;"));
        passes(rank_2("cmd=job-getid;"), launcher_2("cmd=job-getid-response;jobid=7.0;rc=0;"));
        library(rank_2("cmd=kvs-fence;"));
        came(rank_2("cmd=kvs-put;key=espalier-1;value=espalier-world-" PACKAGE_VERSION "-0000000000000005-1;"), "");
        launcher(launcher_2("cmd=kvs-put-response;rc=0;"));
        came(rank_2("cmd=kvs-fence;"), "");
        launcher(launcher_2("cmd=kvs-fence-response;rc=0;"));
        came("", launcher_2("cmd=kvs-fence-response;rc=0;"));
        passes(rank_2("cmd=kvs-fence;thrid=0x1f3;"), launcher_2("cmd=kvs-fence-response;thrid=0x1f3;rc=0;"));
        library(rank_2("cmd=kvs-fence;"));
        came(rank_2("cmd=kvs-get;jobid=7.0;srcid=-1;key=espalier-all;"), "");
        launcher(launcher_2("cmd=kvs-get-response;rc=0;found=FALSE;"));
        came(rank_2("cmd=kvs-fence;"), "");
        launcher(launcher_2("cmd=kvs-fence-response;rc=0;"));
        came("", launcher_2("cmd=kvs-fence-response;rc=0;"));
        ck_assert_int_eq(relay.talk.ask.keys, ESPI_ROLL_GROUPS); /* to be asked for behind MPI_Init */
    }
}
END_TEST

/* What only looks like a barrier. */
START_TEST(mapping_2)
{
    begin();
    passes(INIT_2, GOOD_2);
    library(rank_2("cmd=info-getjobattr;key=PMI_process_mapping;"));
    up_used = 0;
    launcher(launcher_2("cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,4,2),(4,1,1));"));
    ck_assert_str_eq(relay.mapping, "(vector,(0,4,2),(4,1,1))");
    begin();
    passes(INIT_2, GOOD_2);
    library(rank_2("cmd=info-getjobattr;key=PMI_process_mapping;"));
    launcher(launcher_2("cmd=info-getjobattr-response;rc=0;found=FALSE;"));
    ck_assert_str_eq(relay.mapping, "");
}
END_TEST

START_TEST(no_barriers)
{
    static const char *const lines[] = {"cmd=barrier_inn\n", "cmd=barrier_i\n", "cmd=barrier_in x=y\n", "\n",
                                        "barrier_in\n", " cmd=barrier_in\n", "c\n", "mcm=barrier_in\n"};
    for (piece_now = 1; piece_now < 100; piece_now += 30)
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            begin();
            open_1();
            passes(lines[i], "cmd=what\n");
            library("cmd=barrier_in\n");
            came(OWN, "");
        }
}
END_TEST

/* A message that may become a barrier is held back no longer than that, and the first bytes never. */
START_TEST(at_once)
{
    begin();
    library("cmd=init pmi");
    came("cmd=init pmi", "");
    library("_version=1 pmi_subversion=1\n");
    came("_version=1 pmi_subversion=1\n", "");
    launcher(GOOD_1);
    came("", GOOD_1);
    library("cmd=b");
    came("", "");
    library("a");
    came("", "");
    library("d");
    came("cmd=bad", "");
    library("news\n");
    came("news\n", "");
    launcher("cmd=");
    came("", "cmd=");
}
END_TEST

/* Whatever is said that is not known, it passes. */
START_TEST(unknown_protocols)
{
    static const char *const firsts[] = {
        "hello\n", "\n", "cmd=init\n", "cmd=init pmi_version=3 pmi_subversion=0\n", "cmd=init pmi_version=11 x\n",
        "cmd=initack pmiid=1\n", "\x16\x03\x01", "    43cmd=fullinit;", "cmd=init pmi_version=\n", "mcmd=spawn\n"};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        begin();
        library(firsts[i]);
        came(firsts[i], "");
        if (strchr(firsts[i], '\n') == NULL) {
            library("\n");
            came("\n", "");
        }
        for (int turn = 0; turn < 3; turn++) {
            library("cmd=barrier_in\n    14cmd=kvs-fence;cmd=b");
            came("cmd=barrier_in\n    14cmd=kvs-fence;cmd=b", "");
            launcher("cmd=my_kvsname kvsname=kvs_1\nxyz");
            came("", "cmd=my_kvsname kvsname=kvs_1\nxyz");
        }
        ck_assert(espi_relay_is_quiet(&relay));
    }
}
END_TEST

/* Any bytes at all, from both sides, in any order: as long as no known protocol is spoken all of them come through.
   */
START_TEST(garbage)
{
    static char said[2][ROOM];
    for (int round = 0; round < 300; round++) {
        size_t used[2] = {0, 0};
        const bool known = round % 3 > 0;
        begin();
        piece_now = 1 << 16;
        if (known)
            open_1();
        for (int turn = 0; turn < 40; turn++) {
            char bytes[300];
            const int side = (int)random_in(0, 1);
            const size_t length = (size_t)random_in(1, sizeof bytes);
            for (size_t i = 0; i < length; i++)
                bytes[i] = random_in(0, 9) ? (char)random_in(1, 255) : '\n';
            says(side == 0, bytes, length, (size_t)random_in(1, 300));
            append(said[side], &used[side], bytes, length);
        }
        struct espi_relay_out rest = {up, up_used, sizeof up};
        espi_relay_only_passes(&relay, &rest); /* of a line that begins as a barrier does */
        ck_assert_uint_eq(rest.used, used[0]);
        ck_assert_mem_eq(up, said[0], used[0]);
        ck_assert_uint_eq(down_used, used[1]);
        ck_assert_mem_eq(down, said[1], used[1]);
    }
}
END_TEST

/* Lines longer than any that is looked at, in both directions. */
START_TEST(long_lines)
{
    static char line[60000];
    for (piece_now = 1; piece_now < 70000; piece_now = piece_now * 20 + 7) {
        begin();
        open_1();
        memset(line, 'x', sizeof line - 2);
        memcpy(line, "cmd=put kvsname=kvs_1 key=k value=", 34);
        line[sizeof line - 2] = '\n';
        passes(line, "cmd=put_result rc=0\n");
        passes("cmd=get kvsname=kvs_1 key=k\n", line);
        library("cmd=barrier_in\n");
        came(OWN, "");
        launcher(line); /* for an answer to our put: none */
        came("cmd=barrier_in\n", "");
        ck_assert(espi_relay_is_quiet(&relay));
    }
}
END_TEST

/* A launcher that answers ours with something else: from there all is passed on, and nothing is said any more. */
START_TEST(astray)
{
    static const char *const answers[] = {"\n", "what?\n", "cmd=barrier_out\n", "cmd=get_result rc=0 value=1\n"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        begin();
        open_1();
        library("cmd=barrier_in\n");
        came(OWN, "");
        launcher(answers[i]);
        came("cmd=barrier_in\n", "");
        launcher("cmd=barrier_out\ncmd=more\n");
        came("", "cmd=barrier_out\ncmd=more\n");
        roll.rank = 0;
        library("cmd=barrier_in\ncmd=barrier_in\n");
        came("cmd=barrier_in\ncmd=barrier_in\n", "");
    }
}
END_TEST

/* What a leader reads: a line for each member. */
START_TEST(leader)
{
    begin();
    roll.rank = 0;
    open_1();
    library("cmd=barrier_in\n");
    ck_assert(strstr(up, "key=espalier-0 ") != NULL);
    launcher("cmd=put_result rc=0\n");
    launcher("cmd=barrier_out\n");
    up_used = down_used = 0;
    up[0] = '\0';
    library("cmd=barrier_in\n");
    came("cmd=get kvsname=kvs_1 key=espalier-1\n", "");
    launcher("cmd=get_result rc=0 msg=success value=espalier-world-" PACKAGE_VERSION "-0000000000000005-1\n");
    came("cmd=get kvsname=kvs_1 key=espalier-2\n", "");
    launcher("cmd=get_result rc=-1 msg=key_espalier-2_not_found value=unknown\n");
    came("cmd=put kvsname=kvs_1 key=espalier-all value=espalier-world-" PACKAGE_VERSION "-0000000000000005-0\n", "");
    launcher("cmd=put_result rc=0\n");
    came("cmd=barrier_in\n", "");
    launcher("cmd=barrier_out\n");
    came("", "cmd=barrier_out\n");
}
END_TEST

/* A library that does not say the name of the space before its barrier, one that asks two things at once, and one
   that does not wait for its barrier. */
START_TEST(other_libraries)
{
    begin();
    passes(INIT_1, GOOD_1);
    passes("cmd=barrier_in\n", "cmd=barrier_out\n");
    begin();
    open_1();
    library("cmd=get_maxes\ncmd=barrier_in\n");
    came("cmd=get_maxes\ncmd=barrier_in\n", "");
    launcher("cmd=maxes\n");
    launcher("cmd=barrier_out\n");
    came("", "cmd=maxes\ncmd=barrier_out\n");
    begin();
    open_1();
    library("cmd=barrier_in\ncmd=get_maxes\n");
    ck_assert(strstr(up, "cmd=barrier_in\ncmd=get_maxes\n") != NULL);
    begin();
    open_1();
    library("mcmd=spawn\nnprocs=1\ncmd=barrier_in\nendcmd\n");
    came("mcmd=spawn\nnprocs=1\ncmd=barrier_in\nendcmd\n", "");
}
END_TEST

/* PMI-2 with lengths that are none. */
START_TEST(wrong_lengths)
{
    static const char *const lengths[] = {"      ", "abcdef", "-    5", "1 2   ", "     x"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        begin();
        passes(INIT_2, GOOD_2);
        library(lengths[i]);
        library("cmd=kvs-fence;");
        ck_assert_uint_eq(up_used, 20);
        begin();
        passes(INIT_2, GOOD_2);
        library("    14cmd=kvs-fence;");
        up_used = 0;
        up[0] = '\0';
        launcher(lengths[i]);
        launcher("abc");
        ck_assert_str_eq(up, "    14cmd=kvs-fence;");
    }
    begin();
    passes(INIT_2, GOOD_2);
    passes("0     ", "     0");
    passes("     1;", "1     ;");
}
END_TEST

/* Who exits in the middle: what was held back goes on its way. */
START_TEST(given_up)
{
    struct espi_relay_out rest = {up, 0, sizeof up};
    begin();
    open_1();
    library("cmd=barrier_in\n");
    espi_relay_only_passes(&relay, &rest);
    ck_assert_uint_eq(rest.used, 15);
    ck_assert_mem_eq(up, "cmd=barrier_in\n", 15);
    up_used = 0;
    library("cmd=abort exitcode=1\n");
    ck_assert_str_eq(up, "cmd=abort exitcode=1\n");
}
END_TEST

/* Without a roll it says nothing. */
START_TEST(silent)
{
    begin();
    espi_relay_begin(&relay, NULL);
    passes(INIT_1, GOOD_1);
    passes("cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=kvs_1\n");
    passes("cmd=barrier_in\n", "cmd=barrier_out\n");
}
END_TEST

/* Questions that do not fit are not asked. */
START_TEST(questions)
{
    char to[ESPI_PMI_QUESTION], space[ESPI_PMI_QUESTION], value[ESPI_PMI_VALUE];
    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = '\0';
    for (size_t length = 1; length < 400; length++) {
        memset(space, 's', sizeof space);
        space[length] = '\0';
        const size_t whole = strlen("cmd=put kvsname= key=k value=\n") + length + strlen(value);
        ck_assert_uint_eq(espi_pmi_question(ESPI_PMI_1, space, "k", value, to), whole < sizeof to ? whole : 0);
    }
    ck_assert_uint_eq(espi_pmi_question(ESPI_PMI_1, "", "k", "v", to), 0);
    ck_assert_uint_eq(espi_pmi_question(ESPI_PMI_UNKNOWN, "s", "k", "v", to), 0);
    ck_assert_uint_eq(espi_pmi_question(ESPI_PMI_2, "", "k", NULL, to), strlen("    18cmd=kvs-get;key=k;"));
    ck_assert_mem_eq(to, "    18cmd=kvs-get;key=k;", 24);
    ck_assert_uint_eq(espi_pmi_question(ESPI_PMI_2, "7.0", "k", NULL, to),
                      strlen("      cmd=kvs-get;jobid=7.0;srcid=-1;key=k;"));
}
END_TEST

/* Fields with names like those that count, and blanks. */
START_TEST(decoys)
{
    char value[8];
    ck_assert(espi_pmi_field(ESPI_PMI_1, "  cmdx=x rcx=7  xrc=7 =0 rc value valued=no r=0 rc=0", "rc", value, 8));
    ck_assert_str_eq(value, "0");
    ck_assert(!espi_pmi_field(ESPI_PMI_1, "cmd=x;rc=0;", "rc", value, 8));
    ck_assert(espi_pmi_field(ESPI_PMI_2, "cmd=x;xrc=7;rc=0;", "rc", value, 8));
    ck_assert(!espi_pmi_field(ESPI_PMI_2, "cmd=x;rc=12345678;", "rc", value, 8)); /* does not fit */
    ck_assert(espi_pmi_field(ESPI_PMI_2, "cmd=x;rc=1234567", "rc", value, 8));
    ck_assert_int_eq(espi_pmi_found(ESPI_PMI_2, "cmd=kvs-get-response;found=FALSE;value=x;rc=0;", value, 8),
                     ESPI_PMI_NO);
    ck_assert_int_eq(espi_pmi_found(ESPI_PMI_2, "cmd=kvs-get-response;found=TRUE;value=x;rc=0;", value, 8),
                     ESPI_PMI_YES);
    ck_assert_int_eq(espi_pmi_found(ESPI_PMI_1, "cmd=get_result rc=0 value=longer_than_that", value, 8), ESPI_PMI_NO);
    ck_assert_int_eq(espi_pmi_found(ESPI_PMI_1, "cmd=put_result rc=0 value=x", value, 8), ESPI_PMI_ASTRAY);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-relay", 120, NULL, NULL, conversation_1, conversation_2, mapping_1, mapping_2,
                     no_barriers, at_once, unknown_protocols, garbage, long_lines, astray, leader,
                     other_libraries, wrong_lengths, given_up, silent, questions, decoys);
}
