/* The roll call at scale (src/job/roll.c, src/job/relay.c). Whatever is missing, all ranks that ask come to the same
   verdict, and it is the right one; none asks more often than it may. */
#include <check.h>
#include <config.h>
#include <stdio.h>
#include <string.h>

#include "random.h"
#include "roll_job.h"
#include "runner.h"

/* Where each would have to read the keys of all, no more than 1,024 do. */
static enum espi_roll_level expected(const struct job *which)
{
    if (which->barriers == 0 || (which->barriers == 1 && which->size > ESPI_ROLL_EACH_MOST))
        return ESPI_ROLL_ABSENT;
    if (which->fault != NONE && which->fault_barrier <= 1)
        return ESPI_ROLL_ABSENT;
    return which->off_node >= 0 ? ESPI_ROLL_PRESENT : ESPI_ROLL_ON_NODE;
}

static struct job plain(int size, enum espi_pmi_version version, int barriers)
{
    return (struct job){.size = size, .version = version, .barriers = barriers, .faulty = -1, .off_node = -1};
}

/* Ranks where something is about to end or to begin. */
static int odd_rank(int size, int which)
{
    const int root = roll_job_group(size);
    const int ranks[] = {0, size - 1, root, root - 1, random_in(0, size - 1), (size - 1) / root * root};
    const int rank = ranks[which % 6];
    return rank < size ? rank : size - 1;
}

static void all_faults(int size, enum espi_pmi_version version, int barriers, int ranks)
{
    struct job which = plain(size, version, barriers);
    which.early = random_in(0, 1);
    which.chunk = size <= 300 ? random_in(0, 9) : 0;
    which.settings = (size_t)(random_in(0, 1) ? random_in(1, ESPI_ROLL_TEXT) : 0);
    roll_job(&which, expected(&which));
    for (int i = 0; i < ranks; i++) {
        which.off_node = odd_rank(size, i);
        roll_job(&which, expected(&which));
        which.off_node = -1;
        which.fault_barrier = 1;
        which.faulty = odd_rank(size, i);
        for (which.fault = NO_CORE; which.fault <= ALONE; which.fault++)
            roll_job(&which, expected(&which));
        which.fault = NONE;
        which.faulty = -1;
    }
}

START_TEST(few)
{
    static const int sizes[] = {2, 3, 4, 5, 15, 16, 17, 32, 33, 255, 256, 257, 300};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (enum espi_pmi_version version = ESPI_PMI_1; version <= ESPI_PMI_2; version++)
            for (int barriers = 1; barriers <= 4; barriers++)
                all_faults(sizes[i], version, barriers, sizes[i] < 20 ? 6 : 3);
}
END_TEST

/* What a rank makes of the first key that it gets. */
static enum espi_roll_level of_value(const char *behind, char said[ESPI_ROLL_SAID])
{
    char value[256], key[ESPI_PMI_KEY];
    struct espi_roll_ask ask = {0};
    snprintf(value, sizeof value, "espalier-world-" PACKAGE_VERSION "-00000000000000ab-%s", behind);
    ck_assert(espi_roll_ask_next(&ask, 2, key));
    espi_roll_ask_heard(&ask, 2, value);
    strcpy(said, ask.first_said);
    return ask.first_known && ask.first_hash == 0xab ? ask.level : ESPI_ROLL_ABSENT;
}

START_TEST(what_is_said)
{
    static const char *const said_is[][2] = {{"2", ""}, {"1-a", "a"}, {"2-a-b", "a-b"}};
    char said[ESPI_ROLL_SAID], longest[ESPI_ROLL_SAID + 3] = "2-";
    for (size_t i = 0; i < sizeof said_is / sizeof *said_is; i++) {
        ck_assert_int_eq(of_value(said_is[i][0], said), said_is[i][0][0] - '0');
        ck_assert_str_eq(said, said_is[i][1]);
    }
    memset(longest + 2, 'x', ESPI_ROLL_SAID - 1);
    ck_assert_int_eq(of_value(longest, said), ESPI_ROLL_ON_NODE);
    ck_assert_str_eq(said, longest + 2);
    longest[ESPI_ROLL_SAID + 1] = 'x';
    ck_assert_int_eq(of_value(longest, said), ESPI_ROLL_ABSENT);
}
END_TEST

START_TEST(at_1024)
{
    for (enum espi_pmi_version version = ESPI_PMI_1; version <= ESPI_PMI_2; version++)
        for (int barriers = 1; barriers <= 3; barriers++)
            all_faults(1024, version, barriers, 2);
    all_faults(1025, ESPI_PMI_1, 1, 1);
    all_faults(1025, ESPI_PMI_1, 2, 1);
}
END_TEST

START_TEST(at_16384)
{
    struct job which = plain(16384, ESPI_PMI_1, 3);
    roll_job(&which, ESPI_ROLL_ON_NODE);
    all_faults(16384, ESPI_PMI_2, 2, 1);
}
END_TEST

START_TEST(at_100000)
{
    struct job which = plain(100000, ESPI_PMI_1, 3);
    roll_job(&which, ESPI_ROLL_ON_NODE);
    which.barriers = 2;
    which.fault = NO_CORE;
    which.fault_barrier = 1;
    which.faulty = random_in(0, which.size - 1);
    roll_job(&which, ESPI_ROLL_ABSENT);
}
END_TEST

/* A launcher that fails later, in what is said for others: what is in the store then decides for all. */
START_TEST(later_faults)
{
    static const int sizes[] = {2, 4, 5, 16, 17, 40, 300};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int barriers = 2; barriers <= 4; barriers++)
            for (int at = 2; at <= 3; at++)
                for (int fault = REFUSED; fault <= ASTRAY; fault++)
                    for (int rank = 0; rank < 2; rank++) {
                        struct job which = plain(sizes[i], ESPI_PMI_1 + rank % 2, barriers);
                        const int root = roll_job_group(which.size);
                        const bool has_group = rank * root < which.size, groups = which.size > root;
                        which.faulty = has_group ? rank * root : 0;
                        which.fault = (enum fault)fault;
                        which.fault_barrier = at;
                        /* A group other than the first one is given up, and so are all; what rank 0 does not say is
                           read elsewhere. */
                        const bool gone = at == 2 && which.faulty > 0 && groups;
                        roll_job(&which, gone ? ESPI_ROLL_ABSENT : ESPI_ROLL_ON_NODE);
                        which.fault = LOST; /* a rank that is a group by itself gets nothing before barrier 2 */
                        const bool gets = which.faulty < which.size - 1;
                        roll_job(&which, gone && gets ? ESPI_ROLL_ABSENT : ESPI_ROLL_ON_NODE);
                    }
}
END_TEST

/* What a rank of a small job does not hear in MPI_Init it asks for later, with the answer of those who have heard. */
START_TEST(lost_verdicts)
{
    static const int sizes[] = {2, 3, 4, 5, 16, 17};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int rank = 0; rank < sizes[i]; rank++)
            for (enum espi_pmi_version version = ESPI_PMI_1; version <= ESPI_PMI_2; version++) {
                struct job which = plain(sizes[i], version, 3);
                which.fault = LOST;
                which.fault_barrier = sizes[i] <= 4 ? 2 : 3; /* before which it asks */
                which.faulty = rank;
                which.off_node = rank % 3 - 1;
                which.chunk = rank % 5;
                roll_job(&which, which.off_node < 0 ? ESPI_ROLL_ON_NODE : ESPI_ROLL_PRESENT);
            }
}
END_TEST

/* Whoever has put the keys: what is not of this version counts for nothing. */
START_TEST(foreign_values)
{
    static const char good[] = "espalier-world-" PACKAGE_VERSION "-00000000000000ff-2";
    static const char *const wrong[] = {"", "yes", "espalier-world-0.0-00000000000000ff-2",
                                        "espalier-world-" PACKAGE_VERSION "-00000000000000ff-3",
                                        "espalier-world-" PACKAGE_VERSION "-00000000000000ff-",
                                        "espalier-world-" PACKAGE_VERSION "-00000000000000ff",
                                        "espalier-world-" PACKAGE_VERSION "-00000000000000ff-22",
                                        "espalier-world-" PACKAGE_VERSION "-00000000000000ff-2-",
                                        "espalier-world-" PACKAGE_VERSION "-00000000000000ff-2a",
                                        "espalier-world-" PACKAGE_VERSION "-00000000000000ff--1",
                                        "espalier-world-" PACKAGE_VERSION "-",
                                        "espalier-world-" PACKAGE_VERSION "-x-1"};
    for (size_t w = 0; w <= sizeof wrong / sizeof *wrong; w++) {
        const char *value = w < sizeof wrong / sizeof *wrong ? wrong[w] : good;
        for (int gap = 0; gap < 4; gap++) {
            struct espi_roll_ask state = {0};
            char key[ESPI_PMI_KEY];
            int asked = 0;
            while (espi_roll_ask_next(&state, 4, key)) {
                int number = key[strlen(key) - 1] - '0';
                const bool rank = strncmp(key, "espalier-", 9) == 0 && number >= 0 && number < 4 && key[10] == '\0';
                espi_roll_ask_heard(&state, 4, !rank ? NULL : number == gap ? value : good);
                asked++;
            }
            ck_assert_msg((state.level == ESPI_ROLL_ON_NODE) == (value == good), "'%s' for rank %d", value, gap);
            ck_assert_int_le(asked, 6);
            if (state.first_known)
                ck_assert_uint_eq(state.first_hash, 255);
        }
    }
}
END_TEST

START_TEST(foreign_settings)
{
    static const char *const numbers[] = {"", "0", "-1", "x", "2x", "99", "99999999999", " "};
    static const char *const pieces[] = {"zz", "a", "616", "61z"};
    char text[4] = "";
    size_t length = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ck_assert_int_eq(espi_roll_pieces(numbers[i]), -1);
    ck_assert_int_eq(espi_roll_pieces("1"), 1);
    ck_assert_int_eq(espi_roll_pieces("21"), 21);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        length = 0;
        ck_assert_msg(!espi_roll_piece(pieces[i], text, sizeof text, &length), "%s", pieces[i]);
    }
    length = 0;
    ck_assert(espi_roll_piece("6162", text, sizeof text, &length));
    ck_assert(espi_roll_piece("63", text, sizeof text, &length));
    ck_assert(length == 3 && memcmp(text, "abc", 3) == 0);
    ck_assert(espi_roll_piece("64", text, sizeof text, &length));
    ck_assert(!espi_roll_piece("65", text, sizeof text, &length));
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-roll", 300, NULL, NULL, few, at_1024, at_16384, at_100000, later_faults, lost_verdicts,
                     what_is_said, foreign_values, foreign_settings);
}
