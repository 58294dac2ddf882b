/* Reading whole files; words, times and sizes for people. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

bool cli_read_text(const char *name, struct cli_text *text)
{
    bool standard = strcmp(name, "-") == 0;
    const char *shown = standard ? "standard input" : name;
    FILE *stream = standard ? stdin : fopen(name, "rb");
    size_t capacity = 0;
    struct stat status;

    *text = (struct cli_text){0};
    if (stream == NULL) {
        cli_fail("%s: %s", shown, strerror(errno));
        return false;
    }
    if (fstat(fileno(stream), &status) == 0 && S_ISDIR(status.st_mode)) {
        cli_fail("%s: expected a file, found a folder", shown);
        goto fail;
    }
    for (;;) {
        if (capacity - text->len < 2) {
            size_t more = capacity == 0 ? 65536 : 2 * capacity;
            char *data = more > capacity ? realloc(text->data, more) : NULL;
            if (data == NULL) {
                cli_fail("%s: too large for this machine's memory", shown);
                goto fail;
            }
            text->data = data;
            capacity = more;
        }
        size_t got = fread(text->data + text->len, 1, capacity - text->len - 1, stream);
        text->len += got;
        if (got == 0)
            break;
    }
    if (ferror(stream)) {
        cli_fail("%s: %s", shown, strerror(errno));
        goto fail;
    }
    text->data[text->len] = '\0';
    if (!standard)
        fclose(stream);
    return true;
fail:
    free(text->data);
    *text = (struct cli_text){0};
    if (!standard)
        fclose(stream);
    return false;
}

const char *cli_word(char shown[CLI_WORD], const char *word, size_t len)
{
    len = len < CLI_WORD ? len : CLI_WORD - 1;
    for (size_t i = 0; i < len; i++)
        shown[i] = word[i] >= ' ' && word[i] <= '~' ? word[i] : '?';
    shown[len] = '\0';
    return shown;
}

const char *cli_time(char *buf, size_t size, double ns)
{
    double a = ns < 0 ? -ns : ns;
    if (a >= 1e9)
        snprintf(buf, size, "%.3g s", ns / 1e9);
    else if (a >= 1e6)
        snprintf(buf, size, "%.3g ms", ns / 1e6);
    else if (a >= 1e3)
        snprintf(buf, size, "%.3g us", ns / 1e3);
    else
        snprintf(buf, size, "%.0f ns", ns);
    return buf;
}

const char *cli_bytes(char *buf, size_t size, double bytes)
{
    static const char *const unit[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    size_t i = 0;
    double a = bytes < 0 ? -bytes : bytes;
    while (a >= 1000 && i + 1 < sizeof unit / sizeof unit[0]) {
        a /= 1000;
        bytes /= 1000;
        i++;
    }
    snprintf(buf, size, i == 0 ? "%.0f %s" : "%.3g %s", bytes, unit[i]);
    return buf;
}

const char *cli_number(char buf[CLI_NUMBER], double x)
{
    snprintf(buf, CLI_NUMBER, "%.15g", x);
    if (strtod(buf, NULL) != x)
        snprintf(buf, CLI_NUMBER, "%.17g", x);
    if (fabs(x) < 1e18 && x == floor(x))
        snprintf(buf, CLI_NUMBER, "%.0f", x);
    return buf;
}
