/*
 * Random traffic of derived types between two ranks for some seconds: random types, counts, ways to send and to
 * receive, persistent requests, cancelled and freed ones, collective calls, MPI_Pack and MPI_Unpack. What is received
 * is compared with what the type maps say, written down while the types were made (typegen.h); no engine has a part
 * in that.
 *   packed_stress SECONDS [THREADS]
 * Some messages and blocks are of more than 8,255 bytes, which MPI sends in other ways (stream_type.h).
 * All types of a run have one base type, which the seed chooses. Types that MPICH 4.0.2 fails with are passed over,
 * as the library does now and then what Espalier mostly does: pairs and several base types, where a message is cut
 * within them; structs of which a part has no data, which end the process; and types that MPI's own MPI_Pack and
 * MPI_Unpack get wrong (some with negative extents).
 * With several threads each has its own communicator, and frees types that another one made and used. The seed is
 * ESPALIER_TEST_SEED. Prints `N passed, N failed` on rank 0.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packed_stress.h"

enum { THREADS = 8, MESSAGES = 8, SHARED = 16, BUFFER = 1 << 26, CELL = 8255 };

int me, threads = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what is below, and the output */
static struct family *used[SHARED];

/* Another family that somebody is done with, in the place of this one. */
static struct family *exchange(struct family *family, int at)
{
    pthread_mutex_lock(&lock);
    struct family *other = used[at];
    used[at] = family;
    pthread_mutex_unlock(&lock);
    return other;
}

static void let_go(struct family *family)
{
    if (family)
        family_free(family);
    free(family);
}

void compare(struct worker *w, const struct family *f, const struct side *s, const char *what)
{
    if (memcmp(s->mem, s->want, s->size) == 0) {
        w->passed++;
        return;
    }
    pthread_mutex_lock(&lock);
    if (w->failed++ < 5)
        fprintf(stderr, "wrong: rank %d, seed %llu, family %llu (%s): %s of %dx %.200s\n", me,
                (unsigned long long)w->seed, (unsigned long long)f->seed, tg_kind_name[f->kind], what, f->count[0],
                f->t[0].text);
    pthread_mutex_unlock(&lock);
}

void must(struct worker *w, bool good, const char *what)
{
    if (good) {
        w->passed++;
        return;
    }
    pthread_mutex_lock(&lock);
    if (w->failed++ < 5)
        fprintf(stderr, "wrong: rank %d, seed %llu: %s\n", me, (unsigned long long)w->seed, what);
    pthread_mutex_unlock(&lock);
}

/* One message, drawn by both ranks alike. */
struct message {
    const struct family *f;
    int from_type, to_type; /* variants of the family */
    int sent, room;         /* blocks */
    int how, way;
    bool large, packed; /* sent as what MPI_Pack made */
    int sender;
};

static struct message draw(struct worker *w, const struct family *f)
{
    struct message m = {.f = f, .from_type = (int)tg_below(&w->state, FAMILY),
                        .to_type = 1 + (int)tg_below(&w->state, FAMILY - 1),
                        .room = 1 + (int)tg_below(&w->state, BLOCKS), .how = (int)tg_below(&w->state, 6),
                        .way = (int)tg_below(&w->state, 8), .large = tg_below(&w->state, 3) == 0,
                        .packed = tg_below(&w->state, 8) == 0, .sender = (int)tg_below(&w->state, 2)};
    m.sent = tg_below(&w->state, 4) ? m.room : (int)tg_below(&w->state, (uint64_t)m.room + 1);
    return m;
}

#define C(name, ...) (m->large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

static void send_one(struct worker *w, const struct message *m)
{
    struct side s;
    MPI_Request request;
    MPI_Datatype type = m->f->t[m->from_type].type;
    int count = m->f->count[m->from_type] * m->sent, at = 3, code, flag = 0;
    void *data, *stream = NULL;
    side_send(&s, m->f, m->from_type, BLOCKS, m->sender);
    data = s.origin;
    if (m->packed && m->f->bytes > 0 && m->sent > 0) {
        const int room = (int)m->f->bytes * m->sent + 3;
        stream = malloc((size_t)room);
        must(w, MPI_Pack(data, count, type, stream, room, &at, w->comm) == MPI_SUCCESS && at == room, "MPI_Pack");
        data = (char *)stream + 3;
        count = at - 3;
        type = MPI_PACKED;
    }
    switch (m->how) {
    case 0:
        code = C(Send, data, count, type, 1 - me, TAG, w->comm);
        break;
    case 1:
        code = C(Ssend, data, count, type, 1 - me, TAG, w->comm);
        break;
    case 2:
        code = C(Isend, data, count, type, 1 - me, TAG, w->comm, &request);
        code |= MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 3:
        code = C(Issend, data, count, type, 1 - me, TAG, w->comm, &request);
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        break;
    case 4:
        code = C(Bsend, data, count, type, 1 - me, TAG, w->comm);
        break;
    default:
        code = C(Sendrecv, data, count, type, 1 - me, TAG, &flag, 0, MPI_INT, MPI_PROC_NULL, TAG, w->comm,
                 MPI_STATUS_IGNORE);
    }
    must(w, code == MPI_SUCCESS, "a send");
    compare(w, m->f, &s, "what was sent changed");
    free(stream);
    side_free(&s);
}

static void receive_one(struct worker *w, const struct message *m)
{
    struct side r;
    MPI_Status status, probed;
    MPI_Message message;
    MPI_Request request;
    MPI_Datatype type = m->f->t[m->to_type].type;
    unsigned char *bytes = malloc(m->f->bytes + 1);
    const int count = m->f->count[m->to_type] * m->room, other = 1 - me;
    int code, got = -1, flag = 0;
    side_recv(&r, m->f, m->to_type, BLOCKS, 1 - m->sender);
    for (int b = 0; b < m->sent; b++) {
        wire(m->f, m->from_type, BLOCKS, m->sender, b, bytes);
        expect(&r, m->f, m->to_type, block_at(m->f, m->to_type, b), bytes);
    }
    switch (m->way) {
    case 0:
        code = C(Recv, r.origin, count, type, other, TAG, w->comm, &status);
        break;
    case 1:
        code = C(Recv, r.origin, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, &status);
        break;
    case 2:
        code = MPI_Probe(other, MPI_ANY_TAG, w->comm, &probed);
        code |= C(Recv, r.origin, count, type, probed.MPI_SOURCE, TAG, w->comm, &status);
        break;
    case 3:
        code = MPI_Mprobe(MPI_ANY_SOURCE, TAG, w->comm, &message, &probed);
        code |= C(Mrecv, r.origin, count, type, &message, &status);
        break;
    case 4:
        code = C(Irecv, r.origin, count, type, other, TAG, w->comm, &request);
        code |= MPI_Wait(&request, &status);
        break;
    case 5:
        code = C(Irecv, r.origin, count, type, other, TAG, w->comm, &request);
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Testall(1, &request, &flag, &status);
        break;
    case 6:
        code = MPI_SUCCESS;
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Improbe(other, MPI_ANY_TAG, w->comm, &flag, &message, &probed);
        code |= C(Imrecv, r.origin, count, type, &message, &request);
        code |= MPI_Wait(&request, &status);
        break;
    default:
        code = C(Sendrecv, &flag, 0, MPI_INT, MPI_PROC_NULL, TAG, r.origin, count, type, other, MPI_ANY_TAG, w->comm,
                 &status);
    }
    must(w, code == MPI_SUCCESS, "a receive");
    MPI_Get_count(&status, MPI_BYTE, &got);
    must(w, status.MPI_SOURCE == other && status.MPI_TAG == TAG && got == (int)m->f->bytes * m->sent, "a status");
    compare(w, m->f, &r, "what was received");
    free(bytes);
    side_free(&r);
}

/* In one buffer, from its third byte on, and out of it. */
static void pack_one(struct worker *w, const struct message *m)
{
    const struct family *f = m->f;
    const int sent = f->count[m->from_type], received = f->count[m->to_type], room = 2 * (int)f->bytes + 9;
    struct side s, r;
    unsigned char *stream = malloc((size_t)room), *bytes = malloc(f->bytes + 1);
    int at = 3, from;
    side_send(&s, f, m->from_type, BLOCKS, me);
    side_recv(&r, f, m->to_type, BLOCKS, me);
    for (int b = 0; b < 2; b++) {
        must(w, MPI_Pack(s.origin + block_at(f, m->from_type, b), sent, f->t[m->from_type].type, stream, room, &at,
                         w->comm) == MPI_SUCCESS && at == 3 + (b + 1) * (int)f->bytes, "MPI_Pack");
        wire(f, m->from_type, BLOCKS, me, b, bytes);
        must(w, memcmp(bytes, stream + at - f->bytes, f->bytes) == 0, "what was packed");
        from = at - (int)f->bytes;
        must(w, MPI_Unpack(stream, room, &from, r.origin + block_at(f, m->to_type, b), received,
                           f->t[m->to_type].type, w->comm) == MPI_SUCCESS && from == at, "MPI_Unpack");
        expect(&r, f, m->to_type, block_at(f, m->to_type, b), bytes);
    }
    compare(w, f, &r, "what was unpacked");
    free(stream);
    free(bytes);
    side_free(&s);
    side_free(&r);
}

/* ---- types that MPI itself fails with ---- */

typedef int pack_function(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
typedef int unpack_function(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);

/* MPI's own, past whatever is preloaded. */
static void *of_mpi(const char *name)
{
    void *library = dlopen("libmpich.so.12", RTLD_NOW | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

/* Whether MPI packs all blocks of this variant as its type map says, and unpacks them so, too, but for the first. */
static bool is_mpi_right(const struct family *f, int v, pack_function *pack, unpack_function *unpack, MPI_Comm comm)
{
    const int all = BLOCKS * (int)f->bytes, count = BLOCKS * f->count[v];
    unsigned char *want = malloc((size_t)all), *stream = calloc((size_t)all, 1);
    struct side s, r;
    int at = 0, from = 0;
    side_send(&s, f, v, BLOCKS, me);
    side_recv(&r, f, v, BLOCKS, me);
    for (int b = 0; b < BLOCKS; b++)
        wire(f, v, BLOCKS, me, b, want + (size_t)b * f->bytes);
    bool right = pack(s.origin, count, f->t[v].type, stream, all, &at, comm) == MPI_SUCCESS && at == all &&
                 memcmp(stream, want, (size_t)all) == 0;
    for (int b = 0; b < BLOCKS && v > 0; b++)
        expect(&r, f, v, block_at(f, v, b), want + (size_t)b * f->bytes);
    right = right && (v == 0 || (unpack(want, all, &from, r.origin, count, f->t[v].type, comm) == MPI_SUCCESS &&
                                 memcmp(r.mem, r.want, r.size) == 0));
    side_free(&s);
    side_free(&r);
    free(want);
    free(stream);
    return right;
}

/* Or may have one: a long text is cut. */
static bool has_struct(const struct tg_type *t)
{
    return strstr(t->text, "struct") || strlen(t->text) >= 300;
}

/* The second variant does not come from the first one. */
static void replace_struct(struct family *f)
{
    if (!has_struct(&f->t[1]))
        return;
    tg_free(&f->t[1]);
    tg_make_spread(mix(f->seed, 5), &f->t[0], 1, &f->t[1]);
    f->count[1] = f->count[0];
}

/* Alike on both ranks. */
static bool is_safe(struct worker *w, const struct family *f)
{
    union {
        void *object;
        pack_function *pack;
        unpack_function *unpack;
    } pack = {of_mpi("MPI_Pack")}, unpack = {of_mpi("MPI_Unpack")};
    int safe = !has_struct(&f->t[0]) && !has_struct(&f->t[1]);
    if (!safe || !pack.object || !unpack.object)
        return safe;
    for (int v = 0; v < FAMILY && f->bytes > 0; v++)
        safe = safe && is_mpi_right(f, v, pack.pack, unpack.unpack, w->comm);
    MPI_Allreduce(MPI_IN_PLACE, &safe, 1, MPI_INT, MPI_LAND, w->comm);
    w->passed_over += !safe;
    return safe;
}

/* ---- */

/* A block of the family becomes longer than a cell of shared memory, where that takes `most` of its own and no
   more. */
static void lengthen(struct family *f, int most)
{
    const int n = f->bytes == 0 || f->bytes > CELL ? 1 : 1 + CELL / (int)f->bytes;
    for (int v = 0; v < FAMILY && n <= most; v++)
        f->count[v] *= n;
    f->bytes *= n <= most ? (size_t)n : 1;
}

static void *work(void *of)
{
    struct worker *w = of;
    for (int go_on = 1, step = 0;; step++) {
        if (me == 0)
            go_on = MPI_Wtime() < w->until;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, w->comm);
        if (!go_on)
            return NULL;
        struct family *f = malloc(sizeof *f);
        const int kind = TG_DUP + (int)tg_below(&w->state, TG_KINDS - TG_DUP);
        const int blocks = tg_below(&w->state, 12) ? 1 : 200;
        family_make(f, mix(w->seed, (uint64_t)step), kind, tg_below(&w->state, 6) ? 80 : 2000, BLOCKS * blocks);
        replace_struct(f);
        lengthen(f, blocks);
        const bool safe = is_safe(w, f);
        for (int i = 0; i < MESSAGES && safe; i++) {
            const struct message m = draw(w, f);
            if (m.sender == me)
                send_one(w, &m);
            else
                receive_one(w, &m);
            if (f->bytes > 0)
                pack_one(w, &m);
            if (f->bytes > 0 && i % 2 == 0)
                collectives(w, f);
            if (f->bytes > 0 && i % 4 == 0) {
                channels(w, f);
                replace_one(w, f);
                cancel_one(w, f);
            }
        }
        let_go(exchange(f, step % SHARED));
    }
}

int main(int argc, char **argv)
{
    struct worker worker[THREADS];
    pthread_t thread[THREADS];
    const char *seed = getenv("ESPALIER_TEST_SEED");
    long have[3] = {0, 0, 0}, all[3];
    int level, size;
    void *buffer = malloc(BUFFER); /* for MPI_Bsend */
    threads = argc > 2 ? atoi(argv[2]) : 1;
    threads = threads < 1 ? 1 : threads > THREADS ? THREADS : threads;
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    prog.comm = MPI_COMM_WORLD; /* of the types' makers */
    prog.only_base = (int)(mix(seed ? strtoull(seed, NULL, 0) : 1, 99) % (uint64_t)tg_bases());
    if (size != 2 || argc < 2) {
        fprintf(stderr, "packed_stress SECONDS [THREADS], with two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Buffer_attach(buffer, BUFFER);
    for (int i = 0; i < threads; i++) {
        const uint64_t own = mix(seed ? strtoull(seed, NULL, 0) : 1, (uint64_t)i);
        worker[i] = (struct worker){.seed = own, .state = own, .own = mix(own, (uint64_t)me),
                                    .until = MPI_Wtime() + atof(argv[1])};
        MPI_Comm_dup(MPI_COMM_WORLD, &worker[i].comm);
        worker[i].graph = graph_of(worker[i].comm);
    }
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread[i], NULL, work, &worker[i]))
            MPI_Abort(MPI_COMM_WORLD, 2);
    work(&worker[0]);
    for (int i = 0; i < threads; i++) {
        if (i > 0)
            pthread_join(thread[i], NULL);
        have[0] += worker[i].passed;
        have[1] += worker[i].failed;
        have[2] += worker[i].passed_over;
        MPI_Comm_free(&worker[i].comm);
        MPI_Comm_free(&worker[i].graph);
    }
    for (int i = 0; i < SHARED; i++)
        let_go(used[i]);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
    MPI_Allreduce(have, all, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0 && all[2] > 0)
        printf("%ld families of types passed over, as MPI packs them wrongly\n", all[2] / 2);
    if (me == 0)
        printf("%ld passed, %ld failed\n", all[0], all[1]);
    MPI_Finalize();
    return all[1] != 0;
}
