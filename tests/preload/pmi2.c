/*
 * A rank that speaks PMI-2 with its launcher, as an MPI library built for it does, and looks whether the others run
 * under Espalier (src/job/all_present.h). MPICH as Debian builds it speaks PMI-1 only.
 *
 *     pmi2 FENCES [ABSENT]
 *
 * Rank ABSENT does without Espalier. Each rank prints what it has come to; 0: nothing went wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/all_present.h"

enum { TEXT = 2500, ANSWER = 4096 };

static int wire;
static char answer[ANSWER];

static int number_of(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? atoi(text) : -1;
}

static void hear(char *bytes, size_t length)
{
    for (size_t used = 0; used < length;) {
        ssize_t got = read(wire, bytes + used, length - used);
        if (got <= 0)
            exit(2);
        used += (size_t)got;
    }
}

static void say(const char *bytes)
{
    if (write(wire, bytes, strlen(bytes)) != (ssize_t)strlen(bytes))
        exit(2);
}

static void ask(const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%6zu%s", strlen(text), text);
    say(whole);
    hear(answer, ESPI_PMI_DIGITS);
    long length = espi_pmi_length(answer);
    if (length < 0 || length >= ANSWER)
        exit(3);
    hear(answer, (size_t)length);
    answer[length] = '\0';
}

static void init(int rank, int size, int fences)
{
    char text[256], byte;
    const char *job = getenv("PMI_JOBID");
    say("cmd=init pmi_version=2 pmi_subversion=0\n");
    do
        hear(&byte, 1);
    while (byte != '\n');
    snprintf(text, sizeof text, "cmd=fullinit;pmijobid=%.99s;pmirank=%d;threaded=FALSE;", job != NULL ? job : "0",
             rank);
    ask(text);
    ask("cmd=job-getid;");
    for (int i = 0; i < fences; i++) {
        snprintf(text, sizeof text, "cmd=kvs-put;key=card-%d-%d;value=of-%d;", i, rank, rank);
        ask(text);
        ask("cmd=kvs-fence;");
        const int next = (rank + 1) % size;
        snprintf(text, sizeof text, "cmd=kvs-get;key=card-%d-%d;", i, next);
        ask(text);
        snprintf(text, sizeof text, "value=of-%d;", next);
        if (strstr(answer, text) == NULL)
            exit(4);
    }
}

int main(int argc, char **argv)
{
    static char text[TEXT], settings[ESPI_ALL_PRESENT_TEXT];
    const int rank = number_of("PMI_RANK"), size = number_of("PMI_SIZE");
    size_t length = 0;
    wire = number_of("PMI_FD");
    if (argc < 2 || wire < 0 || rank < 0)
        return 1;
    for (int i = 0; i < TEXT; i++)
        text[i] = (char)i;
    if (argc < 3 || atoi(argv[2]) != rank)
        espi_all_present_announce(&wire, rank == 0 ? 7 : 5, text, rank == 0 ? TEXT : 0, NULL);
    init(rank, size, atoi(argv[1]));
    espi_all_present_announced();
    const bool other = espi_all_present_settings(rank, settings, sizeof settings, &length);
    const bool good = !other || (length == TEXT && memcmp(settings, text, TEXT) == 0);
    const bool all = espi_all_present(size);
    printf("all %d, on one node %d, other settings %d\n", all, espi_all_present_on_node(), other);
    fflush(stdout);
    ask("cmd=finalize;");
    return good ? 0 : 5;
}
