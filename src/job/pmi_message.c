#include "job/pmi_message.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *put, *get; /* formats: space, key, value */
    const char *stored, *found, *space; /* commands of answers */
    const char *space_field;
    const char *barrier; /* a question, without its length: all of it, or how it begins */
    char separator;
} words[] = {
    [ESPI_PMI_1] = {"cmd=put kvsname=%s key=%s value=%s\n", "cmd=get kvsname=%s key=%s\n", "put_result", "get_result",
                    "my_kvsname", "kvsname", "cmd=barrier_in\n", ' '},
    /* The first %s is for the space: jobid=...;srcid=-1; */
    [ESPI_PMI_2] = {"cmd=kvs-put;%skey=%s;value=%s;", "cmd=kvs-get;%skey=%s;", "kvs-put-response",
                    "kvs-get-response", "job-getid-response", "jobid", "cmd=kvs-fence;", ';'},
};

enum espi_pmi_version espi_pmi_opens(const char *text)
{
    static const char open[] = "cmd=init pmi_version=";
    if (strncmp(text, open, sizeof open - 1) != 0)
        return ESPI_PMI_UNKNOWN;
    const char *number = text + sizeof open - 1;
    if (number[0] == '\0' || (number[1] != ' ' && number[1] != '\0'))
        return ESPI_PMI_UNKNOWN;
    return number[0] == '1' ? ESPI_PMI_1 : number[0] == '2' ? ESPI_PMI_2 : ESPI_PMI_UNKNOWN;
}

size_t espi_pmi_question(enum espi_pmi_version version, const char *space, const char *key, const char *value,
                         char to[ESPI_PMI_QUESTION])
{
    const size_t frame = version == ESPI_PMI_2 ? ESPI_PMI_DIGITS : 0, room = ESPI_PMI_QUESTION - frame;
    char job[ESPI_PMI_SPACE + 32] = "", digits[ESPI_PMI_DIGITS + 1];
    if (version == ESPI_PMI_UNKNOWN || (version == ESPI_PMI_1 && space[0] == '\0'))
        return 0;
    if (version == ESPI_PMI_2 && value == NULL && space[0] != '\0')
        snprintf(job, sizeof job, "jobid=%s;srcid=-1;", space);
    const char *where = version == ESPI_PMI_2 ? job : space;
    int length = value != NULL ? snprintf(to + frame, room, words[version].put, where, key, value)
                               : snprintf(to + frame, room, words[version].get, where, key);
    if (length < 0 || (size_t)length >= room)
        return 0;
    if (frame > 0) {
        snprintf(digits, sizeof digits, "%6d", length);
        memcpy(to, digits, frame);
    }
    return frame + (size_t)length;
}

bool espi_pmi_field(enum espi_pmi_version version, const char *text, const char *name, char *value, size_t size)
{
    const char between[] = {words[version].separator, '\0'};
    const size_t length = strlen(name);
    for (const char *at = text; *at;) {
        at += strspn(at, between);
        size_t word = strcspn(at, between);
        if (word > length && strncmp(at, name, length) == 0 && at[length] == '=') {
            size_t found = word - length - 1;
            if (found >= size)
                return false;
            memcpy(value, at + length + 1, found);
            value[found] = '\0';
            return true;
        }
        at += word;
    }
    return false;
}

static bool has(enum espi_pmi_version version, const char *text, const char *name, const char *wanted)
{
    char value[64];
    return espi_pmi_field(version, text, name, value, sizeof value) && strcmp(value, wanted) == 0;
}

enum espi_pmi_heard espi_pmi_stored(enum espi_pmi_version version, const char *text)
{
    if (!has(version, text, "cmd", words[version].stored))
        return ESPI_PMI_ASTRAY;
    return has(version, text, "rc", "0") ? ESPI_PMI_YES : ESPI_PMI_NO;
}

enum espi_pmi_heard espi_pmi_found(enum espi_pmi_version version, const char *text, char *value, size_t size)
{
    if (!has(version, text, "cmd", words[version].found))
        return ESPI_PMI_ASTRAY;
    const bool found = has(version, text, "rc", "0") &&
                       (version == ESPI_PMI_1 || has(version, text, "found", "TRUE")) &&
                       espi_pmi_field(version, text, "value", value, size);
    return found ? ESPI_PMI_YES : ESPI_PMI_NO;
}

bool espi_pmi_names_space(enum espi_pmi_version version, const char *text, char space[ESPI_PMI_SPACE])
{
    char name[ESPI_PMI_SPACE];
    if (version == ESPI_PMI_UNKNOWN || !has(version, text, "cmd", words[version].space) ||
        !espi_pmi_field(version, text, words[version].space_field, name, sizeof name))
        return false;
    memcpy(space, name, strlen(name) + 1);
    return true;
}

/* It is told by its form: in PMI-1 it is a value of the job's space, in PMI-2 an attribute of the job. */
bool espi_pmi_tells_mapping(enum espi_pmi_version version, const char *text, char mapping[ESPI_PMI_MAPPING])
{
    char value[ESPI_PMI_MAPPING];
    if (version == ESPI_PMI_UNKNOWN || !espi_pmi_field(version, text, "value", value, sizeof value) ||
        strncmp(value, "(vector", 7) != 0)
        return false;
    memcpy(mapping, value, strlen(value) + 1);
    return true;
}

long espi_pmi_length(const char *digits)
{
    long length = 0;
    int i = 0;
    while (i < ESPI_PMI_DIGITS && digits[i] == ' ')
        i++;
    if (i == ESPI_PMI_DIGITS)
        return -1;
    for (; i < ESPI_PMI_DIGITS && digits[i] >= '0' && digits[i] <= '9'; i++)
        length = 10 * length + (digits[i] - '0');
    while (i < ESPI_PMI_DIGITS && digits[i] == ' ')
        i++;
    return i == ESPI_PMI_DIGITS ? length : -1;
}

enum espi_pmi_barrier espi_pmi_barrier(enum espi_pmi_version version, const char *bytes, size_t length)
{
    size_t frame = 0, whole;
    if (version == ESPI_PMI_UNKNOWN)
        return ESPI_PMI_NOT_BARRIER;
    const char *barrier = words[version].barrier;
    if (version == ESPI_PMI_2) {
        frame = ESPI_PMI_DIGITS;
        if (length < frame)
            return ESPI_PMI_PERHAPS_BARRIER;
        long told = espi_pmi_length(bytes);
        if (told < (long)strlen(barrier) || told > ESPI_PMI_BARRIER_MOST - ESPI_PMI_DIGITS)
            return ESPI_PMI_NOT_BARRIER;
        whole = frame + (size_t)told;
    } else {
        whole = strlen(barrier);
    }
    size_t alike = length - frame < strlen(barrier) ? length - frame : strlen(barrier);
    if (memcmp(bytes + frame, barrier, alike) != 0)
        return ESPI_PMI_NOT_BARRIER;
    return length < whole ? ESPI_PMI_PERHAPS_BARRIER : ESPI_PMI_BARRIER;
}
