/* Statistics of many ranks: in any order of merging the same, bounded whatever the number of ranks, and no rank waits
   for a message that never comes, also where memory is short. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_stats_scale.h"

enum { MOST = 64 };

/* ---- the tree, played in one process ---- */

struct letter {
    struct letter *next;
    size_t len;
    bool last;
    char data[];
};
struct post {
    struct letter **first; /* of each rank that has sent */
    int rank;              /* whose turn it is */
    int closed;            /* ranks that have said their last word */
};

static void send_letter(void *with, int to, bool last, const void *data, size_t len)
{
    struct post *post = with;
    const unsigned kept = refuse;
    refuse = 0; /* of what Check asks for */
    ck_assert_int_eq(to, post->rank & (post->rank - 1));
    ck_assert_uint_le(len, ESPI_REPORT_BYTES);
    struct letter *letter = __real_malloc(sizeof *letter + len), **end = &post->first[post->rank];
    ck_assert_ptr_nonnull(letter);
    *letter = (struct letter){NULL, len, last};
    memcpy(letter->data, data, len);
    while (*end != NULL) {
        ck_assert(!(*end)->last); /* nothing comes after the last */
        end = &(*end)->next;
    }
    *end = letter;
    post->closed += last;
    refuse = kept;
}

static size_t receive_letter(void *with, int from, bool *last, void *data, size_t size)
{
    struct post *post = with;
    struct letter *letter = post->first[from];
    const unsigned kept = refuse;
    refuse = 0;
    ck_assert_msg(letter != NULL, "rank %d waits for a message of %d that never comes", post->rank, from);
    size_t len = letter->len;
    ck_assert_uint_le(len, size);
    memcpy(data, letter->data, len);
    *last = letter->last;
    post->first[from] = letter->next;
    __real_free(letter);
    refuse = kept;
    return len;
}

/* All ranks, those first that others wait for; returns whether rank 0 has a report. `fails`: rank whose every request
   for memory is refused, -1: none, -2: requests are refused at random on all but rank 0, -3: on all. */
static bool play_tree(const struct job *job, const struct espi_sketch *sketch, int fails, struct espi_report *out,
                      size_t *most_live)
{
    struct post post = {calloc((size_t)job->ranks, sizeof *post.first), 0, 0};
    const struct espi_report_link link = {&post, send_letter, receive_letter};
    bool have = false;
    *most_live = 0;
    for (int rank = job->ranks - 1; rank >= 0; rank--) {
        struct espi_report report;
        const size_t before = live;
        bool random = fails == -3 || (fails == -2 && rank > 0);
        peak = live;
        post.rank = rank;
        make_report(&report, job, rank);
        have = rank != fails && !(random && below(&state, 8) == 0);
        if (!have)
            espi_report_release(&report);
        else
            espi_report_order(&report, sketch);
        refuse = rank == fails ? 1 : random ? 1 + (unsigned)below(&state, 300) : 0;
        have = espi_report_tree(&report, have, rank, job->ranks, sketch, &link);
        refuse = 0;
        *most_live = peak - before > *most_live ? peak - before : *most_live;
        if (rank == 0)
            *out = report;
        else
            espi_report_release(&report);
    }
    ck_assert_int_eq(post.closed, job->ranks - 1);
    for (int rank = 0; rank < job->ranks; rank++)
        ck_assert_msg(post.first[rank] == NULL, "a message of rank %d is left", rank);
    free(post.first);
    return have;
}

static void expect_same(const struct espi_report *got, const struct espi_report *want, const char *how)
{
    struct espi_buffer a = ESPI_BUFFER_INIT, b = ESPI_BUFFER_INIT;
    ck_assert_int_eq(espi_report_json(got, &a), ESPI_OK);
    ck_assert_int_eq(espi_report_json(want, &b), ESPI_OK);
    espi_buffer_add(&a, "", 1);
    espi_buffer_add(&b, "", 1);
    if (strcmp(a.data, b.data) != 0) {
        size_t at = 0;
        while (a.data[at] == b.data[at])
            at++;
        at = at > 200 ? at - 200 : 0;
        ck_abort_msg("%s: got ...%.400s\nwant ...%.400s", how, a.data + at, b.data + at);
    }
    espi_buffer_release(&a);
    espi_buffer_release(&b);
}

static struct job random_job(void)
{
    struct job job = {next_random(&state), 1 + (int)below(&state, MOST), (int)below(&state, 100),
                      (int)below(&state, 12), 1 + (int)below(&state, 3)};
    return job;
}

static struct espi_sketch sketch;

/* Any two, whichever, become one, until one is left. */
START_TEST(any_order_is_alike)
{
    const size_t at_first = live;
    for (int round = 0; round < 60; round++) {
        const struct job job = random_job();
        struct espi_report plain, list[MOST];
        weigh_job(&job, &sketch);
        plain_report(&plain, &job, &sketch);
        for (int order = 0; order < 3; order++) {
            for (int rank = 0; rank < job.ranks; rank++) {
                make_report(&list[rank], &job, rank);
                espi_report_order(&list[rank], &sketch);
            }
            for (int n = job.ranks; n > 1; n--) {
                int a = (int)below(&state, (uint64_t)n), b = (int)below(&state, (uint64_t)n - 1);
                b += b >= a;
                ck_assert_int_eq(espi_report_merge(&list[a], &list[b]), ESPI_OK);
                if (b != n - 1)
                    list[b] = list[n - 1]; /* a is never moved onto itself */
            }
            espi_report_finish(&list[0]);
            expect_same(&list[0], &plain, "any order");
            espi_report_release(&list[0]);
        }
        espi_report_release(&plain);
    }
    ck_assert_uint_eq(live, at_first);
}
END_TEST

START_TEST(tree_is_alike)
{
    const size_t at_first = live;
    for (int round = 0; round < 100; round++) {
        struct job job = random_job();
        struct espi_report plain, got;
        size_t most;
        job.ranks = round < MOST ? round + 1 : job.ranks;
        weigh_job(&job, &sketch);
        plain_report(&plain, &job, &sketch);
        ck_assert(play_tree(&job, &sketch, -1, &got, &most));
        espi_report_finish(&got);
        expect_same(&got, &plain, "tree");
        espi_report_release(&got);
        espi_report_release(&plain);
    }
    ck_assert_uint_eq(live, at_first);
}
END_TEST

/* A rank without any memory loses its own part alone, and rank 0 the file. */
START_TEST(one_rank_without_memory)
{
    const size_t at_first = live;
    for (int ranks = 2; ranks <= 33; ranks++) {
        const struct job job = {next_random(&state), ranks, 5, 2, 2};
        weigh_job(&job, &sketch);
        for (int fails = 0; fails < ranks; fails++) {
            struct espi_report got = ESPI_REPORT_INIT;
            size_t most;
            bool have = play_tree(&job, &sketch, fails, &got, &most);
            ck_assert(have == (fails > 0));
            if (have) {
                ck_assert_uint_eq(got.reporting, (uint64_t)ranks - 1);
                ck_assert_uint_eq(got.counter[0].sum, ((UINT64_C(1) << ranks) - 1) & ~(UINT64_C(1) << fails));
            }
            espi_report_release(&got);
        }
    }
    ck_assert_uint_eq(live, at_first);
}
END_TEST

/* However requests fail, each message comes, and the file counts each of its ranks once. */
START_TEST(memory_short_at_random)
{
    const size_t at_first = live;
    uint64_t lost = 0;
    for (int round = 0; round < 400; round++) {
        struct job job = random_job();
        struct espi_report got = ESPI_REPORT_INIT;
        size_t most;
        job.common %= 6;
        job.own %= 3;
        weigh_job(&job, &sketch);
        bool everywhere = round % 2;
        if (play_tree(&job, &sketch, everywhere ? -3 : -2, &got, &most)) {
            ck_assert_int_eq(__builtin_popcountll(got.counter[0].sum), (int)got.reporting);
            ck_assert_uint_eq(got.rank, (uint32_t)__builtin_ctzll(got.counter[0].sum)); /* whose header it is */
            lost += (uint64_t)job.ranks - got.reporting;
            struct espi_buffer out = ESPI_BUFFER_INIT;
            ck_assert_int_eq(espi_report_json(&got, &out), ESPI_OK);
            espi_buffer_release(&out);
        } else {
            ck_assert(everywhere);
        }
        espi_report_release(&got);
    }
    ck_assert_uint_gt(lost, 0);
    ck_assert_uint_eq(live, at_first);
}
END_TEST

static void at_scale(int ranks, size_t *most_live, size_t *bytes)
{
    const struct job job = {next_random(&state), ranks, 3, 2, 50};
    struct espi_report got;
    struct espi_buffer out = ESPI_BUFFER_INIT;
    weigh_job(&job, &sketch);
    ck_assert(play_tree(&job, &sketch, -1, &got, most_live));
    espi_report_finish(&got);
    ck_assert_uint_eq(got.reporting, (uint64_t)ranks);
    uint64_t on_hosts = 0, of_types = got.other_types, common = 0;
    for (size_t i = 0; i < got.hosts; i++)
        on_hosts += got.host[i].ranks;
    ck_assert_uint_eq(on_hosts, got.hosts * 50);
    for (size_t i = 0; i < got.types; i++) {
        of_types += got.type[i].ranks;
        common += got.type[i].key >> 32 < 3;
    }
    ck_assert_uint_eq(common, 3); /* found among 200,000 that one rank has each */
    for (int i = 0; i < 3; i++)
        ck_assert_uint_gt(got.type[i].ranks, (uint64_t)ranks / 2);
    uint64_t of_ranks = 0;
    for (int rank = 0; rank < ranks; rank++) {
        struct espi_report one;
        make_report(&one, &job, rank);
        of_ranks += one.types + one.other_types;
        espi_report_release(&one);
    }
    ck_assert_uint_eq(of_types, of_ranks);
    ck_assert_int_eq(espi_report_json(&got, &out), ESPI_OK);
    *bytes = out.len;
    printf("%d ranks: %zu bytes in the file, %zu bytes of memory at most on a rank\n", ranks, *bytes, *most_live);
    espi_buffer_release(&out);
    espi_report_release(&got);
}

START_TEST(many_ranks)
{
    const size_t at_first = live;
    size_t memory[2], bytes[2];
    at_scale(20000, &memory[0], &bytes[0]); /* as full as it gets: hosts, too */
    at_scale(100000, &memory[1], &bytes[1]);
    ck_assert_uint_lt(bytes[1], 128 << 10);
    ck_assert_uint_lt(memory[1], 512 << 10);
    ck_assert_uint_lt(memory[1], memory[0] + (memory[0] >> 2));
    ck_assert_uint_lt(bytes[1], bytes[0] + (bytes[0] >> 2));
    ck_assert_uint_eq(live, at_first);
}
END_TEST

/* The longest texts, the most records: what a message and a file may come to. */
START_TEST(the_fullest_report)
{
    static char room[ESPI_REPORT_BYTES], text[ESPI_STATS_TYPE_TEXT + 1], command[65536 + 4096], name[256];
    static char value[ESPI_SETTING_TEXT];
    const struct job job = {1, 1, 64, 0, 1};
    struct espi_report report, copy;
    struct espi_buffer bytes = espi_buffer_over(room, sizeof room), out = ESPI_BUFFER_INIT;
    make_report(&report, &job, 0);
    memset(text, '\x01', sizeof text - 1); /* six bytes each in JSON */
    memset(command, '\x01', sizeof command - 1);
    memset(name, 'n', sizeof name - 1);
    memset(value, 'v', sizeof value - 1);
    for (int i = 0; i < ESPI_SETTING_COUNT; i++)
        if (espi_setting_table[i].kind == ESPI_SETTING_TEXT_VALUE)
            ck_assert_int_eq(espi_settings_set(&report.settings, (enum espi_setting)i, value), ESPI_OK);
    free(report.command);
    report.command = malloc(sizeof command);
    memcpy(report.command, command, sizeof command);
    report.command_len = sizeof command;
    free(report.calls);
    report.calls = calloc(ESPI_STATS_FUNCTIONS + 1, sizeof *report.calls);
    report.functions = ESPI_STATS_FUNCTIONS;
    for (size_t i = 0; i < report.types; i++)
        espi_report_type_release(&report.type[i]);
    free(report.host[0].name);
    free(report.type);
    free(report.host);
    free(report.collective);
    report.types = ESPI_REPORT_TYPES;
    report.hosts = ESPI_REPORT_HOSTS;
    report.collectives = ESPI_REPORT_COLLECTIVES;
    report.type = calloc(report.types, sizeof *report.type);
    report.host = calloc(report.hosts, sizeof *report.host);
    report.collective = calloc(report.collectives, sizeof *report.collective);
    for (size_t i = 0; i < report.types; i++) {
        report.type[i].facts = (struct espi_type_facts){.before = text, .after = text, .emission = text, .why = text};
        ck_assert_int_eq(espi_report_type_own(&report.type[i]), ESPI_OK);
    }
    for (size_t i = 0; i < report.hosts; i++)
        report.host[i] = (struct espi_report_host){strdup(name), 1};
    report.reporting = ESPI_REPORT_HOSTS;
    for (size_t i = 0; i < report.collectives; i++)
        memset(report.collective[i].facts.why, 'w', sizeof report.collective[i].facts.why - 1);
    ck_assert_int_eq(espi_report_pack(&report, &bytes), ESPI_OK);
    printf("the fullest report: %zu bytes in a message of at most %zu\n", bytes.len, ESPI_REPORT_BYTES);
    ck_assert_int_eq(espi_report_unpack(&copy, bytes.data, bytes.len), ESPI_OK);
    report.function_name = NULL;
    copy.settings = report.settings; /* what is unpacked tells of another source */
    expect_same(&copy, &report, "the fullest");
    ck_assert_int_eq(espi_report_json(&report, &out), ESPI_OK);
    printf("and %zu in a file\n", out.len);
    ck_assert_uint_lt(out.len, 2 << 20);
    bytes = espi_buffer_over(room, bytes.len - 1); /* a place that is too small is not left */
    ck_assert_int_eq(espi_report_pack(&report, &bytes), ESPI_ERR_MEMORY);
    ck_assert_uint_le(bytes.len, bytes.capacity);
    espi_buffer_release(&out);
    espi_report_release(&report);
    espi_report_release(&copy);
}
END_TEST

/* Never less than the sum; exact for few keys; a heavy key stands out among many light ones. */
START_TEST(estimates)
{
    static uint64_t key[5000], sum[5000];
    int exact = 0;
    sketch = (struct espi_sketch){0};
    for (int i = 0; i < 5000; i++) {
        key[i] = i < 1000 ? (uint64_t)i : next_random(&state);
        sum[i] = i == 77 ? 100000 : 1 + below(&state, 10);
        espi_sketch_add(&sketch, ESPI_WEIGHT_BYTES, key[i], sum[i]);
        if (i == 19)
            for (int k = 0; k < 20; k++)
                exact += espi_sketch_estimate(&sketch, ESPI_WEIGHT_BYTES, key[k]) == sum[k];
    }
    ck_assert_int_eq(exact, 20);
    int above = 0;
    for (int i = 0; i < 5000; i++) {
        uint64_t estimate = espi_sketch_estimate(&sketch, ESPI_WEIGHT_BYTES, key[i]);
        ck_assert_uint_ge(estimate, sum[i]);
        ck_assert_uint_eq(espi_sketch_estimate(&sketch, ESPI_WEIGHT_USES, key[i]), 0);
        above += estimate >= 100000;
    }
    ck_assert_int_le(above, 3); /* one in 512^3 / 5000 shares all its cells with that key, but for bad luck */
    espi_sketch_add(&sketch, ESPI_WEIGHT_SAVED, 5, UINT64_MAX - 1);
    espi_sketch_add(&sketch, ESPI_WEIGHT_SAVED, 5, 7);
    ck_assert(espi_sketch_estimate(&sketch, ESPI_WEIGHT_SAVED, 5) == UINT64_MAX);
    espi_sketch_bound(&sketch, 100000);
    ck_assert_uint_le(espi_sketch_estimate(&sketch, ESPI_WEIGHT_SAVED, 5), UINT64_MAX / 100000);
}
END_TEST

int main(void)
{
    const char *given = getenv("ESPALIER_TEST_SEED");
    unsigned long long seed = given != NULL ? strtoull(given, NULL, 0) : (unsigned long long)getpid() * 2654435761u;
    printf("ESPALIER_TEST_SEED=%llu\n", seed);
    fflush(stdout);
    state = seed | 1;

    Suite *suite = suite_create("statistics at scale");
    TCase *all = tcase_create("statistics at scale");
    tcase_set_timeout(all, 300);
    tcase_add_test(all, estimates);
    tcase_add_test(all, any_order_is_alike);
    tcase_add_test(all, tree_is_alike);
    tcase_add_test(all, one_rank_without_memory);
    tcase_add_test(all, memory_short_at_random);
    tcase_add_test(all, the_fullest_report);
    tcase_add_test(all, many_ranks);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
