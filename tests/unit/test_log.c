/* The log: whole lines, no control bytes, levels, a closed or broken stderr, errno and SIGPIPE left as they were. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "runner.h"

static int saved = -1, pipe_read = -1;

static void catch_stderr(void)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    saved = dup(2);
    ck_assert_int_ge(dup2(ends[1], 2), 0);
    close(ends[1]);
    pipe_read = ends[0];
}

static size_t caught(char *buf, size_t size)
{
    ck_assert_int_ge(dup2(saved, 2), 0);
    close(saved);
    size_t used = 0;
    ssize_t got;
    while (used < size - 1 && (got = read(pipe_read, buf + used, size - 1 - used)) > 0)
        used += (size_t)got;
    buf[used] = '\0';
    close(pipe_read);
    return used;
}

START_TEST(one_line_each)
{
    char buf[8192];
    catch_stderr();
    espi_log_set_level(ESPI_LOG_INFO);
    espi_log(ESPI_LOG_ERROR, "a %d", 1);
    espi_log(ESPI_LOG_WARN, "two\nlines\tand \x1b[31m");
    espi_log(ESPI_LOG_INFO, "plain");
    espi_log(ESPI_LOG_DEBUG, "not shown");
    espi_log_set_level(ESPI_LOG_ERROR);
    espi_log(ESPI_LOG_WARN, "not shown");
    espi_log_set_level(ESPI_LOG_DEBUG);
    espi_log(ESPI_LOG_DEBUG, "shown");
    caught(buf, sizeof buf);
    ck_assert_str_eq(buf, "espalier: error: a 1\nespalier: warning: two?lines?and ?[31m\nespalier: plain\n"
                          "espalier: debug: shown\n");
}
END_TEST

START_TEST(long_lines_are_cut)
{
    char buf[8192], text[4 * ESPI_LOG_LINE];
    memset(text, 'y', sizeof text);
    text[sizeof text - 1] = '\0';
    catch_stderr();
    espi_log_set_level(ESPI_LOG_WARN);
    espi_log(ESPI_LOG_WARN, "%s", text);
    size_t len = caught(buf, sizeof buf);
    ck_assert_uint_eq(len, ESPI_LOG_LINE - 1);
    ck_assert_str_eq(buf + len - 5, "y...\n");
}
END_TEST

START_TEST(broken_pipe_is_survived)
{
    struct sigaction before, after;
    sigset_t mask_before, mask_after;
    sigaction(SIGPIPE, NULL, &before);
    ck_assert(before.sa_handler == SIG_DFL);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
    catch_stderr();
    close(pipe_read);
    errno = 4711;
    espi_log(ESPI_LOG_ERROR, "nobody reads this");
    ck_assert_int_eq(errno, 4711);
    dup2(saved, 2);
    sigaction(SIGPIPE, NULL, &after);
    ck_assert(after.sa_handler == SIG_DFL);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    ck_assert_int_eq(sigismember(&mask_before, SIGPIPE), sigismember(&mask_after, SIGPIPE));
}
END_TEST

START_TEST(closed_stderr_is_survived)
{
    saved = dup(2);
    close(2);
    errno = 4711;
    espi_log(ESPI_LOG_ERROR, "nobody reads this");
    ck_assert_int_eq(errno, 4711);
    dup2(saved, 2);
}
END_TEST

static void *talk(void *arg)
{
    for (int i = 0; i < 200; i++)
        espi_log(ESPI_LOG_ERROR, "thread %d says a sentence of some length, again and again", *(int *)arg);
    return NULL;
}

START_TEST(threads_do_not_mix_lines)
{
    static char buf[1 << 17];
    char name[] = "/tmp/espalier-log-XXXXXX";
    int file = mkstemp(name);
    ck_assert_int_ge(file, 0);
    saved = dup(2);
    int append = open(name, O_WRONLY | O_APPEND);
    dup2(append, 2);
    close(append);
    pthread_t thread[4];
    int id[4] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, talk, &id[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    dup2(saved, 2);
    ssize_t len = read(file, buf, sizeof buf - 1);
    unlink(name);
    close(file);
    ck_assert_int_gt(len, 0);
    buf[len] = '\0';
    int lines = 0;
    for (char *line = strtok(buf, "\n"); line; line = strtok(NULL, "\n"), lines++)
        ck_assert_msg(strncmp(line, "espalier: error: thread ", 24) == 0 &&
                          strcmp(line + 25, " says a sentence of some length, again and again") == 0, "'%s'", line);
    ck_assert_int_eq(lines, 800);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-log", 4, NULL, NULL, one_line_each, long_lines_are_cut, broken_pipe_is_survived,
                     closed_stderr_is_survived, threads_do_not_mix_lines);
}
