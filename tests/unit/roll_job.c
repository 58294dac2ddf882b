#include "roll_job.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job/relay.h"
#include "job/roll.h"
#include "random.h"

enum { ROOM = ESPI_RELAY_ADDS + ESPI_PMI_QUESTION, ASKERS = 300 };

/* Check's own assertions write to a file each time they hold, and of these there are millions. */
#define need_told(condition, ...)                                                                                    \
    do {                                                                                                             \
        if (!(condition))                                                                                            \
            ck_abort_msg(__VA_ARGS__);                                                                               \
    } while (0)
#define need(condition) need_told(condition, "line %d: not %s", __LINE__, #condition)

struct key {
    char name[ESPI_PMI_KEY];
    char *value;
};
static struct key *store;
static size_t slots, stored, staged_from;
static size_t *staged; /* slots that come with the next barrier */
static bool *visible;

static size_t slot_of(const char *name)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t at = (size_t)(hash % slots);
    while (store[at].name[0] != '\0' && strcmp(store[at].name, name) != 0)
        at = (at + 1) % slots;
    return at;
}

static void put(const char *name, const char *value, bool early)
{
    size_t at = slot_of(name);
    need_told(store[at].name[0] == '\0', "%s is put twice", name);
    need(strlen(name) < sizeof store->name && strlen(value) < ESPI_PMI_VALUE && stored < slots);
    strcpy(store[at].name, name);
    store[at].value = strdup(value);
    visible[at] = early;
    staged[stored++] = at;
}

static const char *get(const char *name)
{
    size_t at = slot_of(name);
    return store[at].name[0] != '\0' && visible[at] ? store[at].value : NULL;
}

static void open_store(int size)
{
    slots = 2 * (size_t)size + 4096;
    store = calloc(slots, sizeof *store);
    staged = calloc(slots, sizeof *staged);
    visible = calloc(slots, sizeof *visible);
    need(store != NULL && staged != NULL && visible != NULL);
    stored = staged_from = 0;
}

static void close_store(void)
{
    for (size_t i = 0; i < stored; i++)
        free(store[staged[i]].value);
    free(store);
    free(staged);
    free(visible);
}

/* ---- the job ---- */

static const struct job *job;
static struct espi_relay *relays;
static struct espi_roll *rolls;
static long *gets;      /* of each rank */
static long messages;   /* that the launcher has got of relays, beside those of libraries */
static int in_barrier, round_now;
static char settings[ESPI_ROLL_TEXT];

static bool has_relay(int rank)
{
    return rank != job->faulty || (job->fault != NO_CORE && job->fault != OTHER_VERSION && job->fault != ALONE);
}

static void frame(char *to, const char *text)
{
    if (job->version == ESPI_PMI_2 && strncmp(text, "cmd=response_to_init", 20) != 0)
        sprintf(to, "%-6zu%s", strlen(text), text);
    else
        sprintf(to, "%s\n", text);
}

/* Answers one text of a rank; an empty answer comes later. */
static void answer(int rank, const char *text, char *reply)
{
    char value[ESPI_PMI_VALUE], name[ESPI_PMI_KEY], command[64], say[ESPI_PMI_QUESTION];
    const enum espi_pmi_version v = job->version;
    const bool two = v == ESPI_PMI_2;
    reply[0] = '\0';
    need_told(espi_pmi_field(v, text, "cmd", command, sizeof command) || strncmp(text, "cmd=init", 8) == 0, "%s",
                  text);
    if (strncmp(text, "cmd=init", 8) == 0) {
        sprintf(say, "cmd=response_to_init pmi_version=%d pmi_subversion=%d rc=0", two ? 2 : 1, two ? 0 : 1);
    } else if (strcmp(command, two ? "job-getid" : "get_my_kvsname") == 0) {
        sprintf(say, two ? "cmd=job-getid-response;jobid=7.0;rc=0;" : "cmd=my_kvsname kvsname=7.0");
    } else if (strcmp(command, two ? "kvs-fence" : "barrier_in") == 0) {
        in_barrier++;
        return;
    } else if (strcmp(command, two ? "kvs-put" : "put") == 0) {
        const bool hit = rank == job->faulty && round_now == job->fault_barrier;
        const bool ours = espi_pmi_field(v, text, "key", name, sizeof name) && strncmp(name, "espalier", 8) == 0;
        need(espi_pmi_field(v, text, "value", value, sizeof value));
        messages += ours;
        if (ours && hit && job->fault == ASTRAY) {
            sprintf(say, two ? "cmd=unknown;rc=9;" : "cmd=unknown rc=9");
        } else if (ours && hit && job->fault == REFUSED) {
            sprintf(say, two ? "cmd=kvs-put-response;rc=1;errmsg=x;" : "cmd=put_result rc=1 msg=x");
        } else {
            if (ours)
                put(name, value, job->early);
            sprintf(say, two ? "cmd=kvs-put-response;rc=0;" : "cmd=put_result rc=0 msg=success");
        }
    } else if (strcmp(command, two ? "kvs-get" : "get") == 0) {
        need(espi_pmi_field(v, text, "key", name, sizeof name));
        const char *found = get(name);
        gets[rank]++;
        messages++;
        if (rank == job->faulty && job->fault == LOST && round_now == job->fault_barrier)
            sprintf(say, two ? "cmd=unknown;rc=9;" : "cmd=unknown rc=9");
        else if (found != NULL)
            sprintf(say, two ? "cmd=kvs-get-response;rc=0;found=TRUE;value=%s;" : "cmd=get_result rc=0 value=%s",
                    found);
        else
            sprintf(say, two ? "cmd=kvs-get-response;rc=0;found=FALSE;" : "cmd=get_result rc=1");
    } else {
        ck_abort_msg("rank %d says '%s'", rank, text);
    }
    frame(reply, say);
}

/* Gives bytes in portions. */
static size_t portion(size_t left)
{
    size_t most = job->chunk > 0 ? (size_t)job->chunk : left;
    return left < most ? left : most;
}

/* The launcher says something to a rank: what its library hears is in `heard`, and the launcher hears what follows.
   */
static void hear_rank(int rank, const char *bytes, size_t length, char *heard);

static void tell_rank(int rank, const char *bytes, char *heard)
{
    if (!has_relay(rank)) {
        strcat(heard, bytes);
        return;
    }
    const size_t length = strlen(bytes);
    for (size_t at = 0; at < length;) {
        char up[ROOM], down[ROOM];
        struct espi_relay_out launcher = {up, 0, sizeof up}, library = {down, 0, sizeof down};
        const size_t n = portion(length - at);
        espi_relay_answered(&relays[rank], bytes + at, n, &launcher, &library);
        at += n;
        strncat(heard, down, library.used);
        if (launcher.used > 0) {
            need(at == length); /* it says nothing into an answer */
            hear_rank(rank, up, launcher.used, heard);
        }
    }
}

/* One message; it comes at once, or the launcher would be right to be confused. */
static void hear_rank(int rank, const char *bytes, size_t length, char *heard)
{
    char text[ESPI_PMI_QUESTION + 1], reply[ROOM];
    need(length <= ESPI_PMI_QUESTION);
    memcpy(text, bytes, length);
    text[length] = '\0';
    if (bytes[0] == 'c') {
        need(strchr(text, '\n') == text + length - 1);
        text[length - 1] = '\0';
        answer(rank, text, reply);
    } else {
        need(espi_pmi_length(text) == (long)length - ESPI_PMI_DIGITS);
        answer(rank, text + ESPI_PMI_DIGITS, reply);
    }
    if (reply[0] != '\0')
        tell_rank(rank, reply, heard);
}

/* The library of a rank says something; what it hears must be the answer to that, or nothing where one comes later.
   */
static void say(int rank, const char *text, const char *wanted)
{
    char bytes[ESPI_PMI_QUESTION], heard[ROOM], whole[ESPI_PMI_QUESTION];
    heard[0] = whole[0] = '\0';
    if (job->version == ESPI_PMI_2 && strncmp(text, "cmd=init", 8) != 0)
        sprintf(bytes, "%6zu%s", strlen(text), text);
    else
        sprintf(bytes, "%s\n", text);
    const size_t length = strlen(bytes);
    if (!has_relay(rank)) {
        hear_rank(rank, bytes, length, heard);
    } else {
        size_t used = 0;
        char up[ROOM];
        struct espi_relay_out launcher = {up, 0, sizeof up};
        while (used < length) {
            const size_t n = portion(length - used);
            espi_relay_said(&relays[rank], bytes + used, n, &launcher);
            used += n;
        }
        hear_rank(rank, up, launcher.used, heard);
    }
    if (wanted != NULL)
        frame(whole, wanted);
    need_told(strcmp(heard, whole) == 0, "rank %d said '%s', heard '%s' for '%s'", rank, text, heard, whole);
}

/* What the library says between its barriers. */
static void converse(int rank)
{
    char text[128];
    const bool two = job->version == ESPI_PMI_2;
    if (round_now == 1) {
        say(rank, two ? "cmd=init pmi_version=2 pmi_subversion=0" : "cmd=init pmi_version=1 pmi_subversion=1",
            two ? "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0"
                : "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
        say(rank, two ? "cmd=job-getid;" : "cmd=get_my_kvsname",
            two ? "cmd=job-getid-response;jobid=7.0;rc=0;" : "cmd=my_kvsname kvsname=7.0");
    }
    sprintf(text, two ? "cmd=kvs-put;key=card-%d-%d;value=xyz;" : "cmd=put kvsname=7.0 key=card-%d-%d value=xyz",
            round_now, rank);
    say(rank, text, two ? "cmd=kvs-put-response;rc=0;" : "cmd=put_result rc=0 msg=success");
    say(rank, two ? "cmd=kvs-fence;" : "cmd=barrier_in", NULL);
}

#define SAID "0123456789abcdef.0123456789abcdef.0123456789abcdef.rank.0.says" /* as long as it may be */

static void start(int rank)
{
    const bool first = rank == 0 && job->settings > 0;
    rolls[rank] = (struct espi_roll){.rank = rank,
                                     .size = job->size,
                                     .level = rank == job->off_node ? ESPI_ROLL_PRESENT : ESPI_ROLL_ON_NODE,
                                     .hash = rank == 0 ? 77 : 5,
                                     .text = first ? settings : NULL,
                                     .length = first ? job->settings : 0};
    snprintf(rolls[rank].said, ESPI_ROLL_SAID, "%s", rank == 0 ? SAID : "");
    espi_relay_begin(&relays[rank], &rolls[rank]);
}

/* MPI_Init on all ranks, in an order of its own in each round. */
static void init(void)
{
    char foreign[ESPI_PMI_KEY], heard[ROOM];
    for (int rank = 0; rank < job->size; rank++)
        start(rank);
    if (job->fault == OTHER_VERSION) {
        sprintf(foreign, "espalier-%d", job->faulty);
        put(foreign, "espalier-world-0.0-0000000000000005-2", true);
    }
    for (round_now = 1; round_now <= job->barriers; round_now++) {
        const int first = random_in(0, job->size - 1);
        in_barrier = 0;
        for (int i = 0; i < job->size; i++)
            converse((first + i) % job->size);
        need(in_barrier == job->size);
        for (; staged_from < stored; staged_from++)
            visible[staged[staged_from]] = true;
        char out[64];
        frame(out, job->version == ESPI_PMI_2 ? "cmd=kvs-fence-response;rc=0;" : "cmd=barrier_out");
        for (int rank = 0; rank < job->size; rank++) {
            heard[0] = '\0';
            tell_rank(rank, out, heard);
            need(strcmp(heard, out) == 0);
        }
    }
    for (int rank = 0; rank < job->size; rank++)
        need(!has_relay(rank) || espi_relay_is_quiet(&relays[rank]));
}

int roll_job_group(int size)
{
    int root = 1;
    while ((long)root * root < size)
        root++;
    return root < 16 ? 16 : root;
}

/* What a rank comes to, from where it was left in MPI_Init. */
static enum espi_roll_level ask(int rank, uint64_t *first_hash, bool *first_known)
{
    struct espi_roll_ask state = relays[rank].talk.ask;
    char key[ESPI_PMI_KEY];
    int early = 0;
    while (espi_roll_ask_next(&state, job->size, key)) {
        espi_roll_ask_heard(&state, job->size, get(key));
        gets[rank]++;
        early += !state.first_known;
    }
    need(early <= 3);
    need(!state.first_known || strcmp(state.first_said, SAID) == 0);
    *first_hash = state.first_hash;
    *first_known = state.first_known;
    return state.level;
}

/* Rank 0's settings are all there as soon as it is known to have others. */
static void check_settings(void)
{
    char key[ESPI_PMI_KEY], text[ESPI_ROLL_TEXT];
    size_t length = 0;
    const char *number = get(ESPI_ROLL_SETTINGS);
    need(number != NULL);
    const int pieces = espi_roll_pieces(number);
    for (int piece = 0; piece < pieces; piece++) {
        espi_roll_piece_key(piece, key);
        need(get(key) != NULL && espi_roll_piece(get(key), text, sizeof text, &length));
    }
    need(length == job->settings);
    need(memcmp(text, settings, length) == 0);
}

static void check(enum espi_roll_level wanted)
{
    long in_init = 0, behind = 0, sum = 0;
    uint64_t hash;
    bool known;
    const int root = roll_job_group(job->size), groups = (job->size - 1) / root + 1;
    const bool in_init_all = job->size <= 64; /* who may share memory knows all when MPI_Init is over */
    const long each = job->barriers > 2                    ? !in_init_all
                      : groups == 1 && job->barriers == 2 ? 1
                      : job->barriers == 2                ? groups + 1
                                                          : job->size + 2;
    for (int rank = 0; rank < job->size; rank++) {
        in_init = gets[rank] > in_init ? gets[rank] : in_init;
        sum += gets[rank];
        const bool reads_groups = rank == 0 || (in_init_all && groups > 1);
        need_told(gets[rank] <= root + (reads_groups ? groups : 0), "rank %d of %d asks %ld times", rank, job->size,
                  gets[rank]);
    }
    for (int i = 0; i < ASKERS && i < job->size; i++) {
        const int rank = job->size <= ASKERS ? i : i < 2 ? i * (job->size - 1) : (int)random_in(0, job->size - 1);
        if (!has_relay(rank))
            continue; /* asks nobody, as it knows that it is not there */
        const long before = gets[rank];
        enum espi_roll_level level = ask(rank, &hash, &known);
        const long asked = gets[rank] - before;
        behind = asked > behind ? asked : behind;
        need_told(level == wanted, "rank %d of %d, %d barriers, fault %d of rank %d before %d: %d for %d", rank,
                      job->size, job->barriers, job->fault, job->faulty, job->fault_barrier, level, wanted);
        need(!known || hash == 77);
        need(known || wanted == ESPI_ROLL_ABSENT);
        if (known && job->settings > 0 && job->faulty != 0)
            check_settings();
        need(asked <= ((job->fault != NONE || wanted == ESPI_ROLL_ABSENT) && each < job->size ? each + job->size + 2
                                                                                              : each));
    }
    if (job->size >= 1024 || job->size == 16)
        printf("%6d ranks, PMI-%d, %d barriers, fault %d: verdict %d; a rank gets %.2f in MPI_Init, at most %ld, "
               "and behind it at most %ld; messages of ours in MPI_Init for each %.2f",
               job->size, job->version == ESPI_PMI_2 ? 2 : 1, job->barriers, job->fault, wanted,
               (double)sum / job->size, in_init, behind, (double)messages / job->size);
}

void roll_job(const struct job *which, enum espi_roll_level wanted)
{
    const size_t count = (size_t)which->size;
    struct timespec begin, end;
    job = which;
    open_store(job->size);
    relays = calloc(count, sizeof *relays);
    rolls = calloc(count, sizeof *rolls);
    gets = calloc(count, sizeof *gets);
    need(relays != NULL && rolls != NULL && gets != NULL);
    messages = 0;
    for (size_t i = 0; i < sizeof settings; i++)
        settings[i] = (char)random_in(0, 255);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    init();
    check(wanted);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (job->size >= 1024 || job->size == 16)
        printf("; %.2f s\n", (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    free(relays);
    free(rolls);
    free(gets);
    close_store();
}
