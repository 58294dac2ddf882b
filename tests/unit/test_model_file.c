/* The model file and the fits, against values by hand and plain evaluation. */
#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "commtree/model_file.h"
#include "commtree/model_fit.h"
#include "random.h"
#include "runner.h"

static espi_status parse(const char *text, struct espi_level_models *models, struct espi_model_file_error *error)
{
    return espi_model_file_parse(text, strlen(text), models, error);
}

START_TEST(levels)
{
    struct espi_level_models m;
    struct espi_model_file_error e;
    ck_assert_int_eq(parse("alpha = 2e-6 # all\nnode.alpha=1e-7\r\n\n  node.beta = .5e-9\nnet.beta = 8E-9\n"
                           "net.latency = 3", &m, &e), ESPI_OK);
    ck_assert(m.have[ESPI_LEVEL_NODE] && m.have[ESPI_LEVEL_NET]);
    ck_assert_double_eq(m.level[ESPI_LEVEL_NODE].alpha, 1e-7);
    ck_assert_double_eq(m.level[ESPI_LEVEL_NODE].beta, .5e-9);
    ck_assert_double_eq(m.level[ESPI_LEVEL_NODE].latency, 0);
    ck_assert_double_eq(m.level[ESPI_LEVEL_NET].alpha, 2e-6);
    ck_assert_double_eq(m.level[ESPI_LEVEL_NET].beta, 8e-9);
    ck_assert_double_eq(m.level[ESPI_LEVEL_NET].latency, 3);
    ck_assert(m.level[ESPI_LEVEL_NET].early_copy);
    /* Plain names alone hold for both; a level of its own leaves the other out. */
    ck_assert_int_eq(parse("beta = 1\nalpha = 2\n", &m, &e), ESPI_OK);
    ck_assert(m.have[ESPI_LEVEL_NODE] && m.have[ESPI_LEVEL_NET]);
    ck_assert_int_eq(parse("net.alpha = 1\nnet.beta = 2\ngamma = 0\n", &m, &e), ESPI_OK);
    ck_assert(!m.have[ESPI_LEVEL_NODE] && m.have[ESPI_LEVEL_NET]);
}
END_TEST

START_TEST(refused)
{
    static const struct {
        const char *text;
        int line;
        const char *says;
    } bad[] = {
        {"", 0, "expected alpha and beta"},
        {"alpha = 1\n", 0, "expected alpha and beta"},
        {"node.alpha = 1\nbeta = 1\nnet.gamma = 1", 0, "net.alpha"},
        {"alpha 1", 1, "NAME = VALUE"},
        {"\n\nalpha = ", 3, "found ''"},
        {"alpha = -1", 1, "from 0"},
        {"alpha = nan", 1, "found 'nan'"},
        {"alpha = inf", 1, "found 'inf'"},
        {"alpha = 0x10", 1, "found '0x10'"},
        {"alpha = 1e400", 1, "from 0"},
        {"alpha = 1e7", 1, "to 1e6"},
        {"alpha = 1 2", 1, "found '1 2'"},
        {"alpha = 1,5", 1, "found '1,5'"},
        {"alpha = 1\nAlpha = 1", 2, "found 'Alpha'"},
        {"alpha = 1\nalpha = 1", 2, "twice, first in line 1"},
        {".alpha = 1", 1, "found '.alpha'"},
        {"node. = 1", 1, "found 'node.'"},
        {"node.node.alpha = 1", 1, "found"},
        {" = 1", 1, "found ''"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct espi_level_models m;
        struct espi_model_file_error e;
        ck_assert_msg(parse(bad[i].text, &m, &e) == ESPI_ERR_SYNTAX, "accepted: %s", bad[i].text);
        ck_assert_int_eq(e.line, bad[i].line);
        ck_assert_msg(strstr(e.what, bad[i].says) != NULL, "'%s' for %s", e.what, bad[i].text);
    }
}
END_TEST

/* Random bytes, and each prefix of a good file: never a crash, and no value that is not one. */
START_TEST(any_bytes)
{
    static const char letters[] = "alphbetgmncydo.=# \n\t0123456789e-+";
    char text[200];
    for (int round = 0; round < 20000; round++) {
        struct espi_level_models m;
        struct espi_model_file_error e;
        size_t len = (size_t)random_in(0, sizeof text - 1);
        for (size_t i = 0; i < len; i++)
            text[i] = round % 4 ? letters[random_in(0, (int64_t)sizeof letters - 2)] : (char)random_in(0, 255);
        if (espi_model_file_parse(text, len, &m, &e) == ESPI_OK)
            for (int l = 0; l < ESPI_LEVELS; l++)
                ck_assert(!m.have[l] || (m.level[l].alpha >= 0 && m.level[l].beta >= 0 && isfinite(m.level[l].beta)));
    }
}
END_TEST

START_TEST(round_trip)
{
    for (int round = 0; round < 1000; round++) {
        struct espi_level_models m, back;
        struct espi_model_file_error e;
        char text[512];
        memset(&m, 0, sizeof m);
        int which = 1 + (int)random_in(0, 2);
        for (int l = 0; l < ESPI_LEVELS; l++) {
            double unit = pow(10, -(double)random_in(0, 11));
            m.have[l] = which >> l & 1;
            m.level[l] = (struct espi_commtree_model){(double)random_in(0, 99998) * unit,
                                                      (double)random_in(0, 99998) * unit * 1e-3, 0,
                                                      (double)random_in(0, 99998) * unit, true};
        }
        size_t len = espi_model_file_write(&m, text, sizeof text);
        ck_assert_uint_lt(len, sizeof text);
        ck_assert_uint_eq(len, espi_model_file_write(&m, NULL, 0));
        ck_assert_int_eq(espi_model_file_parse(text, len, &back, &e), ESPI_OK);
        for (int l = 0; l < ESPI_LEVELS; l++) {
            ck_assert_int_eq(m.have[l], back.have[l]);
            if (!m.have[l])
                continue;
            ck_assert_double_le(fabs(m.level[l].alpha - back.level[l].alpha), 1e-4 * m.level[l].alpha);
            ck_assert_double_le(fabs(m.level[l].beta - back.level[l].beta), 1e-4 * m.level[l].beta);
            ck_assert_double_le(fabs(m.level[l].latency - back.level[l].latency), 1e-4 * m.level[l].latency);
        }
    }
}
END_TEST

/* One form of numbers, wherever they are written. */
START_TEST(form_of_numbers)
{
    static const char *const wrong[] = {"",     "-",   "+",   "+1",  " 1",  "1 ",  "\t1",  "1\n", "0x10", "1x",
                                        "--1",  "-+1", "1-",  "inf", "nan", "1e",  "e1",   "1,5", "1_000"};
    static const char *const decimals[] = {"0", "-0.5", "12", ".5", "5.", "1e3", "1E+3", "-1.5e-9"};
    static const double values[] = {0, -0.5, 12, 0.5, 5, 1000, 1000, -1.5e-9};
    int64_t whole = 0;
    double value = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(!espi_whole_parse(wrong[i], strlen(wrong[i]), &whole), "'%s' is a whole number", wrong[i]);
        ck_assert_msg(!espi_number_parse(wrong[i], strlen(wrong[i]), &value), "'%s' is a number", wrong[i]);
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ck_assert_msg(espi_number_parse(decimals[i], strlen(decimals[i]), &value), "'%s' is no number", decimals[i]);
        ck_assert_double_eq(value, values[i]);
    }
    ck_assert(!espi_whole_parse("1.0", 3, &whole) && !espi_whole_parse("1e3", 3, &whole));
    ck_assert(!espi_number_parse("1e400", 5, &value));
    ck_assert(espi_whole_parse("127", 2, &whole) && whole == 12); /* by length, not to a NUL */
    ck_assert(espi_whole_parse("-007", 4, &whole) && whole == -7);
    ck_assert(espi_whole_parse("9223372036854775807", 19, &whole) && whole == INT64_MAX);
    ck_assert(espi_whole_parse("-9223372036854775808", 20, &whole) && whole == INT64_MIN);
    ck_assert(!espi_whole_parse("9223372036854775808", 19, &whole));
    ck_assert(!espi_whole_parse("-9223372036854775809", 20, &whole));
}
END_TEST

START_TEST(other_locales)
{
    /* Any locale with a decimal comma that the machine has; the numbers stay the same where it has none. */
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "C"};
    char text[40];
    double value = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        ck_assert(espi_number_parse("1.25e-3", 7, &value));
        ck_assert_double_eq(value, 1.25e-3);
        ck_assert(!espi_number_parse("1,25", 4, &value));
        ck_assert_str_eq(espi_number_format(text, sizeof text, 1234.5, 8), "1234.5");
        ck_assert_str_eq(espi_number_format(text, sizeof text, 2.5e-9, 5), "2.5e-09");
    }
    setlocale(LC_ALL, "C");
    ck_assert_str_eq(espi_number_format(text, sizeof text, NAN, 5), "null");
    ck_assert_str_eq(espi_number_format(text, 4, 123456, 8), "123");
    ck_assert(!espi_number_parse("", 0, &value) && !espi_number_parse(".", 1, &value));
    ck_assert(!espi_number_parse("1e", 2, &value) && !espi_number_parse("1.2.3", 5, &value));
}
END_TEST

/* The line of least relative squares, by trying all lines around it. */
START_TEST(lines)
{
    for (int round = 0; round < 200; round++) {
        int n = 3 + (int)random_in(0, 7);
        int64_t size[16];
        double time[16], start = 1 + (double)random_in(0, 99), slope = (double)random_in(0, 99) / 50;
        for (int i = 0; i < n; i++) {
            size[i] = (int64_t)1 << i;
            time[i] = (start + slope * (double)size[i]) * (0.8 + 0.4 * (double)random_in(0, 999) / 1000);
        }
        struct espi_line line = espi_fit_line(n, size, time);
        ck_assert_double_ge(line.start, 0);
        ck_assert_double_ge(line.slope, 0);
        for (int x = -5; x <= 5; x++)
            for (int y = -5; y <= 5; y++) {
                double a = line.start * (1 + 0.02 * x) + (line.start == 0 ? fabs(0.01 * x) : 0);
                double b = line.slope * (1 + 0.02 * y) + (line.slope == 0 ? fabs(0.001 * y) : 0), squares = 0;
                for (int i = 0; i < n; i++)
                    squares += pow((a + b * (double)size[i] - time[i]) / time[i], 2);
                ck_assert_double_ge(squares, line.squares * (1 - 1e-9));
            }
    }
}
END_TEST

START_TEST(two_lines)
{
    int64_t size[13];
    double time[13];
    struct espi_line line[2];
    for (int i = 0; i < 13; i++) {
        size[i] = (int64_t)1024 << i;
        time[i] = size[i] <= 16384 ? 1 + 0.001 * (double)size[i] : 12 + 0.0004 * (double)size[i];
    }
    ck_assert_int_eq(espi_fit_two_lines(13, size, time, line), 5);
    ck_assert_double_le(fabs(line[0].start - 1), 1e-6);
    ck_assert_double_le(fabs(line[0].slope - 0.001), 1e-9);
    ck_assert_double_le(fabs(line[1].start - 12), 1e-6);
    ck_assert_double_le(fabs(line[1].slope - 0.0004), 1e-9);
    ck_assert_int_eq(espi_fit_two_lines(5, size, time, line), 5);
}
END_TEST

START_TEST(model)
{
    int64_t size[] = {1000, 100000};
    double time[] = {12, 210}, odd[] = {5, 4}, none[] = {0, 0};
    struct espi_commtree_model m = espi_fit_model(10, 4, 2, size, time, 0.001);
    ck_assert_double_eq(m.alpha, 4);
    ck_assert_double_eq(m.latency, 6);
    ck_assert_double_le(fabs(m.beta - 0.002), 1e-6);
    ck_assert_double_eq(m.gamma, 0.001);
    ck_assert(m.early_copy);
    ck_assert_double_eq(espi_fit_model(10, 40, 2, size, time, 1).alpha, 10); /* no overlap */
    ck_assert_double_eq(espi_fit_model(10, -1, 2, size, time, 1).alpha, 5);  /* not known */
    ck_assert_double_le(espi_fit_model(10, 4, 2, size, time, 1).gamma, 0.00201);
    m = espi_fit_model(10, 4, 2, size, odd, 1); /* disturbed: the tiny message took longest */
    ck_assert(m.beta > 0 && m.beta <= 4.0 / 100000 && m.alpha + m.latency <= 4);
    m = espi_fit_model(0, 0, 2, size, none, 0);
    ck_assert(m.alpha == 0 && m.beta == 0 && m.latency == 0);
}
END_TEST

START_TEST(gap_of_a_burst)
{
    ck_assert_double_eq(espi_fit_gap(4, 10, 36, 74), 2);
    ck_assert_double_eq(espi_fit_gap(4, 10, 36, 10), 0);
    ck_assert_double_eq(espi_fit_gap(4, 10, 36, 9), 0); /* disturbed: a message takes no negative time */
}
END_TEST

/* Constants from times that a disturbed machine made longer, by up to fifty times: still constants, and near the true
   ones while most times are undisturbed. */
START_TEST(disturbed)
{
    enum { SIZES = 13 };
    for (int round = 0; round < 5000; round++) {
        int64_t size[SIZES];
        double time[SIZES], way = 1e-8 * (double)random_in(1, 1000), beta = 1e-10 * (double)random_in(1, 100);
        double gap = way * (double)random_in(1, 100) / 100, one_way = way, few = way + 7 * gap, many = way + 39 * gap;
        int many_disturbed = round % 2;
        for (int i = 0; i < SIZES; i++) {
            size[i] = (int64_t)1024 << i;
            time[i] = way + beta * (double)size[i];
        }
        for (int k = 0; k < (many_disturbed ? 40 : 1); k++) {
            double factor = 1 + (double)random_in(0, 490) / 10;
            double *hit[] = {&one_way, &few, &many};
            int64_t which = random_in(0, SIZES + (many_disturbed ? 2 : -1));
            *(which < SIZES ? &time[which] : hit[which - SIZES]) *= factor;
        }
        double seen = espi_fit_gap(8, few, 40, many);
        struct espi_commtree_model m = espi_fit_model(one_way, seen, SIZES, size, time, 1e-10);
        ck_assert_double_ge(seen, 0);
        ck_assert(isfinite(m.alpha) && isfinite(m.beta) && isfinite(m.latency) && m.alpha > 0 && m.beta > 0);
        ck_assert(m.latency >= 0 && m.gamma >= 0 && m.gamma <= m.beta);
        ck_assert_double_le(m.alpha + m.latency, one_way * (1 + 1e-12));
        for (int i = 0; i < SIZES; i++)
            ck_assert_double_le(m.alpha + m.latency, time[i] * (1 + 1e-12));
        ck_assert_msg(many_disturbed || fabs(m.beta / beta - 1) < 0.25, "round %d: beta %g, found %g", round, beta,
                      m.beta);
        ck_assert(many_disturbed || fabs(m.alpha / gap - 1) < 1e-6);
        ck_assert(many_disturbed || (!espi_fit_gap_is_odd(seen, one_way) && !espi_fit_time_is_odd(way, time[0])));
        struct espi_level_models both = {.level = {m, m}, .have = {true, true}}, back;
        struct espi_model_file_error e;
        char text[512];
        size_t len = espi_model_file_write(&both, text, sizeof text);
        ck_assert_int_eq(espi_model_file_parse(text, len, &back, &e), ESPI_OK);
    }
    ck_assert(espi_fit_gap_is_odd(0, 1) && espi_fit_gap_is_odd(1.6, 1) && !espi_fit_gap_is_odd(1, 1));
    ck_assert(espi_fit_time_is_odd(12, 10) && !espi_fit_time_is_odd(10.5, 10) && !espi_fit_time_is_odd(9, 10));
}
END_TEST

START_TEST(quartile)
{
    double five[] = {5, 1, 4, 2, 3}, one[] = {7};
    ck_assert_double_eq(espi_lower_quartile(five, 5), 2);
    ck_assert_double_eq(espi_lower_quartile(one, 1), 7);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-model-file", 4, NULL, NULL, levels, refused, any_bytes, round_trip, form_of_numbers,
                     other_locales, lines, two_lines, model, gap_of_a_burst, disturbed, quartile);
}
