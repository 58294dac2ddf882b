/* Where ranks are (src/job/nodes.h). Whether the environment says that all are on one node: by Hydra's count of ranks
   here, by Slurm's count of nodes, and by nothing else. And the mapping of ranks to nodes that a launcher tells. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "job/nodes.h"
#include "job/pmi_message.h"
#include "runner.h"

static bool on_one_node(const char *ranks_here, const char *nodes, int size)
{
    static const char *const name[2] = {"MPI_LOCALNRANKS", "SLURM_STEP_NUM_NODES"};
    const char *const value[2] = {ranks_here, nodes};

    for (int i = 0; i < 2; i++)
        if (value[i] != NULL)
            setenv(name[i], value[i], 1);
        else
            unsetenv(name[i]);
    return espi_job_on_one_node(size);
}

START_TEST(said)
{
    ck_assert(on_one_node("4", NULL, 4));
    ck_assert(on_one_node("1", NULL, 1));
    ck_assert(!on_one_node("2", NULL, 4));
    ck_assert(!on_one_node("1", NULL, 4));
    ck_assert(!on_one_node("5", NULL, 4));
    ck_assert(on_one_node(NULL, "1", 4));
    ck_assert(!on_one_node(NULL, "2", 4));
    ck_assert(!on_one_node(NULL, "0", 4));
}
END_TEST

/* One rank is where it is, if nothing says that there are more; of several nothing is known. */
START_TEST(not_said)
{
    ck_assert(on_one_node(NULL, NULL, 1));
    ck_assert(!on_one_node(NULL, NULL, 2));
    ck_assert(on_one_node(NULL, "2", 1));
}
END_TEST

/* Hydra's launcher may itself run in a step of Slurm's. */
START_TEST(both)
{
    ck_assert(!on_one_node("2", "1", 4));
    ck_assert(on_one_node("4", "2", 4));
    ck_assert(!on_one_node("", "1", 4));
}
END_TEST

START_TEST(nonsense)
{
    static const char *const wrong[] = {"", " ", "x", "4x", "4 ", " 4", "0x4", "4.0", "-4", "four", "4,4", "4(x2)",
                                        "99999999999999999999", "18446744073709551620", "4294967300"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(!on_one_node(wrong[i], NULL, 4), "'%s'", wrong[i]);
        ck_assert_msg(!on_one_node(NULL, wrong[i], 4), "'%s'", wrong[i]);
    }
    static const char *const not_one[] = {"1x", "1 ", " 1", "1.0", "-1", "18446744073709551617", "4294967297"};
    for (size_t i = 0; i < sizeof not_one / sizeof *not_one; i++)
        ck_assert_msg(!on_one_node(NULL, not_one[i], 4), "'%s'", not_one[i]);
}
END_TEST

/* Blocks of nodes with some ranks each, over and over. */
START_TEST(mappings)
{
    static const struct {
        const char *mapping;
        int node[12]; /* of ranks 0, 1, ... */
    } told[] = {
        {"(vector,(0,1,12))", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
        {"(vector,(0,3,4))", {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}},
        {"(vector,(0,4,1))", {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}},
        {"(vector,(0,2,1),(0,2,2))", {0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1}},
        {"(vector,(7,1,2),(3,2,5))", {7, 7, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4}},
        {"(vector,(0,2147483647,2147483647))", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        espi_job_nodes_learn(told[i].mapping);
        for (int rank = 0; rank < 12; rank++)
            ck_assert_msg(espi_job_node_of(rank) == told[i].node[rank], "%s, rank %d: %d", told[i].mapping, rank,
                          espi_job_node_of(rank));
        ck_assert_int_eq(espi_job_node_of(-1), -1);
    }
    espi_job_nodes_learn("(vector,(1,1000,16))");
    ck_assert_int_eq(espi_job_node_of(15999), 1000);
    ck_assert_int_eq(espi_job_node_of(16000), 1);
}
END_TEST

/* Then nothing is known, whatever was before. */
START_TEST(no_mappings)
{
    static const char *const wrong[] = {
        NULL, "", "(vector", "(vector)", "(vector,)", "(vector,(0,1,2)", "(vector,(0,1,2)) ", "(vector,(0,1,2),)",
        "(vector,(0,1))", "(vector,(0,1,2,3))", "(vector,(0,0,2))", "(vector,(0,1,0))", "(vector,(-1,1,2))",
        "(vector,(0,1,x))", "(vector,(0,1,99999999999))", "(vector,(0,1,2)(0,1,2))", "(block,(0,1,2))",
        "vector,(0,1,2)", " (vector,(0,1,2))", "(vector,(0,1,2),(0,1", "(vector,(0 ,1,2))"};
    char many[2000] = "(vector";

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        espi_job_nodes_learn("(vector,(0,1,2))");
        ck_assert_int_eq(espi_job_node_of(0), 0);
        espi_job_nodes_learn(wrong[i]);
        ck_assert_msg(espi_job_node_of(0) == -1, "%s", wrong[i]);
    }
    for (int i = 0; i < 64; i++)
        strcat(many, ",(0,1,2)");
    strcat(many, ")");
    espi_job_nodes_learn(many);
    ck_assert_int_eq(espi_job_node_of(127), 0);
    many[strlen(many) - 1] = '\0';
    strcat(many, ",(0,1,2))");
    espi_job_nodes_learn(many);
    ck_assert_int_eq(espi_job_node_of(0), -1);
}
END_TEST

/* A mapping too long to be heard whole is none: what there is of it would be another one. */
START_TEST(too_long)
{
    static char answer[4096] = "cmd=get_result rc=0 msg=success value=(vector", mapping[ESPI_PMI_MAPPING];

    ck_assert(espi_pmi_tells_mapping(ESPI_PMI_1, "cmd=get_result value=(vector,(0,1,2)) rc=0", mapping));
    ck_assert_str_eq(mapping, "(vector,(0,1,2))");
    ck_assert(!espi_pmi_tells_mapping(ESPI_PMI_UNKNOWN, "cmd=get_result value=(vector,(0,1,2)) rc=0", mapping));
    for (int i = 0; i < 150; i++)
        strcat(answer, ",(0,1,2)");
    strcat(answer, ")");
    ck_assert(!espi_pmi_tells_mapping(ESPI_PMI_1, answer, mapping));
    for (size_t length = strlen(answer) - 2; length > 60; length--) { /* as the relay cuts it */
        answer[length] = '\0';
        espi_job_nodes_learn(espi_pmi_tells_mapping(ESPI_PMI_1, answer, mapping) ? mapping : NULL);
        ck_assert_int_eq(espi_job_node_of(0), -1);
    }
}
END_TEST

int main(void)
{
    return RUN_SUITE("nodes", 10, NULL, NULL, said, not_said, both, nonsense, mappings, no_mappings, too_long);
}
