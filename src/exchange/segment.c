#define _GNU_SOURCE
#include "exchange/segment.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

#define NAME "espalier"
enum { PAGE = 4096, HEAD = 3 * PAGE };

/* The first pages. */
struct head {
    uint64_t word;
    struct {
        int64_t id;
        uintptr_t at;
    } process[ESPI_SEGMENT_PROCESSES];
    atomic_uchar said[ESPI_SEGMENT_PROCESSES]; /* enum espi_segment_word */
    _Alignas(64) atomic_uchar marks[ESPI_SEGMENT_PROCESSES][ESPI_SEGMENT_MARKS];
    _Alignas(64) _Atomic uint64_t notes[ESPI_SEGMENT_PROCESSES][ESPI_SEGMENT_NOTES];
    _Alignas(64) _Atomic uint64_t round;
};
_Static_assert(sizeof(struct head) <= HEAD, "it is three pages");

/* As much as stays in the nearest caches of two processes. Of many each has less, which so many pairs share. */
static int64_t room_of(int processes)
{
    return processes <= 8 ? 32768 : processes <= 16 ? 16384 : 8192;
}

static size_t channel_size(int64_t room)
{
    return (espi_channel_size(room) + PAGE - 1) / PAGE * PAGE;
}

static size_t segment_size(int processes)
{
    return HEAD + (size_t)processes * (size_t)processes * channel_size(room_of(processes));
}

static bool map(struct espi_segment *segment, int processes, int file)
{
    void *memory = mmap(NULL, segment_size(processes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (memory == MAP_FAILED)
        return false;
    *segment = (struct espi_segment){memory, processes, room_of(processes), -1};
    return true;
}

/* The library opens more in MPI_Init, to the last that it may have. */
static bool leaves_enough(int file)
{
    enum { ENOUGH = 64 };
    struct rlimit most;

    return getrlimit(RLIMIT_NOFILE, &most) == 0 &&
           (most.rlim_cur == RLIM_INFINITY || most.rlim_cur > (rlim_t)file + ENOUGH);
}

/* Whether the process may have a file of that size: the signal for one that is longer would end it. */
static bool is_allowed(size_t size)
{
    struct rlimit most;

    return getrlimit(RLIMIT_FSIZE, &most) == 0 && (most.rlim_cur == RLIM_INFINITY || size <= most.rlim_cur);
}

bool espi_segment_make(struct espi_segment *segment, int processes, struct espi_segment_key *key)
{
    const int file = memfd_create(NAME, MFD_CLOEXEC);

    *segment = (struct espi_segment){NULL, 0, 0, -1};
    *key = (struct espi_segment_key){0, getpid(), file};
    if (file < 0)
        return false;
    if (!leaves_enough(file) || !is_allowed(segment_size(processes)) ||
        ftruncate(file, (off_t)segment_size(processes)) != 0 ||
        getrandom(&key->word, sizeof key->word, GRND_NONBLOCK) != sizeof key->word || key->word == 0 ||
        !map(segment, processes, file)) {
        key->word = 0;
        close(file);
        return false;
    }
    segment->file = file;
    ((struct head *)segment->memory)->word = key->word;
    return true;
}

/* Whether the descriptor of the process still is what it was: to open another file might do something. */
static bool is_ours(const char *path)
{
    char target[64];
    const ssize_t length = readlink(path, target, sizeof target);

    return length > 0 && (size_t)length < sizeof target &&
           strncmp(target, "/memfd:" NAME, sizeof "/memfd:" NAME - 1) == 0;
}

bool espi_segment_open(struct espi_segment *segment, int processes, const struct espi_segment_key *key)
{
    char path[64];
    struct stat found;

    *segment = (struct espi_segment){NULL, 0, 0, -1};
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)key->process, (long long)key->file);
    if (key->word == 0 || !is_ours(path))
        return false;
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return false;
    const bool good = fstat(file, &found) == 0 && found.st_size == (off_t)segment_size(processes) &&
                      map(segment, processes, file);
    close(file);
    if (good && ((struct head *)segment->memory)->word == key->word)
        return true;
    espi_segment_close(segment);
    return false;
}

/* Of one that was never made the descriptor may say 0, which is the program's. */
void espi_segment_shared(struct espi_segment *segment)
{
    if (segment->memory != NULL && segment->file >= 0)
        close(segment->file);
    segment->file = -1;
}

void espi_segment_close(struct espi_segment *segment)
{
    espi_segment_shared(segment);
    if (segment->memory != NULL)
        munmap(segment->memory, segment_size(segment->processes));
    segment->memory = NULL;
}

atomic_uchar *espi_segment_marks(const struct espi_segment *segment, int process)
{
    return ((struct head *)segment->memory)->marks[process];
}

_Atomic uint64_t *espi_segment_notes(const struct espi_segment *segment, int process)
{
    return ((struct head *)segment->memory)->notes[process];
}

_Atomic uint64_t *espi_segment_round(const struct espi_segment *segment)
{
    return &((struct head *)segment->memory)->round;
}

/* What a process has in its own memory. */
static uint64_t word_of(const struct head *head, int process)
{
    return espi_mix(head->word, (uint64_t)process);
}

void espi_segment_say(const struct espi_segment *segment, int process, enum espi_segment_word word)
{
    static uint64_t own;
    struct head *head = segment->memory;

    if (word == ESPI_SEGMENT_HERE) {
        own = word_of(head, process);
        head->process[process].id = getpid();
        head->process[process].at = (uintptr_t)&own;
    }
    atomic_store_explicit(&head->said[process], word, memory_order_release);
}

enum espi_segment_word espi_segment_said(const struct espi_segment *segment, int process)
{
    const struct head *head = segment->memory;

    return (enum espi_segment_word)atomic_load_explicit(&head->said[process], memory_order_acquire);
}

struct espi_process espi_segment_process(const struct espi_segment *segment, int process)
{
    const struct head *head = segment->memory;

    return (struct espi_process){head->process[process].id, head->process[process].at, word_of(head, process),
                                 ESPI_PROCESS_UNSEEN};
}

struct espi_channel_end espi_segment_channel(const struct espi_segment *segment, int from, int to)
{
    char *first = (char *)segment->memory + HEAD;
    const size_t at = (size_t)from * (size_t)segment->processes + (size_t)to;

    return (struct espi_channel_end){(void *)(first + at * channel_size(segment->room)), segment->room,
                                     0, 0, from, false};
}
