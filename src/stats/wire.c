/* A report as bytes between ranks. Whole numbers are 8 bytes, least byte first; texts carry their length. Nothing in
   the bytes is trusted: each read is checked against what is left. */
#include <stdlib.h>
#include <string.h>

#include "stats/snapshot.h"

#define WIRE_MAGIC UINT64_C(0x35534b5245505345) /* "ESPERKS5", raised with the form */
#define NO_TEXT UINT64_MAX
/* The least that each takes, with empty texts. */
#define VALUE_BYTES (5 * 8)
#define TYPE_BYTES (29 * 8)
#define COLLECTIVE_BYTES ((11 + 3 * ESPI_STATS_METHODS) * 8)

static void put_number(struct espi_buffer *out, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    espi_buffer_add(out, bytes, sizeof bytes);
}

static void put_bytes(struct espi_buffer *out, const char *data, size_t len)
{
    put_number(out, len);
    espi_buffer_add(out, data, len);
}

static void put_text(struct espi_buffer *out, const char *text)
{
    if (text == NULL)
        put_number(out, NO_TEXT);
    else
        put_bytes(out, text, strlen(text));
}

static void put_value(struct espi_buffer *out, const struct espi_report_value *value)
{
    put_number(out, value->sum);
    put_number(out, value->min);
    put_number(out, value->max);
    put_number(out, value->min_rank);
    put_number(out, value->max_rank);
}

static void put_times(struct espi_buffer *out, const struct espi_type_times *times)
{
    put_number(out, times->pack);
    put_number(out, times->unpack);
    put_number(out, times->partial);
}

static void put_reversal(struct espi_buffer *out, const struct espi_type_reversal *reversal)
{
    put_number(out, reversal->is);
    put_number(out, (uint64_t)reversal->what);
    put_number(out, reversal->ns_measured);
    put_number(out, reversal->ns_most);
}

static void put_type(struct espi_buffer *out, const struct espi_report_type *type)
{
    put_number(out, type->key);
    put_number(out, type->uses);
    put_number(out, type->elements);
    put_number(out, type->changed);
    for (int i = 0; i < ESPI_SAVED_KINDS; i++)
        put_number(out, type->saved_ns[i]);
    put_number(out, type->bytes);
    put_number(out, type->ranks);
    put_number(out, type->most_uses);
    put_number(out, type->most_rank);
    put_number(out, type->facts.improved);
    put_number(out, type->facts.exact);
    put_number(out, (uint64_t)type->facts.cost_before);
    put_number(out, (uint64_t)type->facts.cost_after);
    put_number(out, (uint64_t)type->facts.entries);
    put_number(out, (uint64_t)type->facts.size);
    put_times(out, &type->facts.ns_before);
    put_times(out, &type->facts.ns_after);
    put_times(out, &type->facts.ns_next);
    put_times(out, &type->facts.ns_measured);
    for (int i = 0; i < 2; i++)
        put_reversal(out, &type->facts.reversal[i]);
    put_number(out, type->facts.ns_planning);
    put_text(out, type->facts.before);
    put_text(out, type->facts.after);
    put_text(out, type->facts.emission);
    put_text(out, type->facts.why);
}

static void put_double(struct espi_buffer *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(out, bits);
}

static void put_model(struct espi_buffer *out, const struct espi_report_model *model)
{
    put_number(out, model->have);
    put_number(out, model->rank);
    put_double(out, model->model.alpha);
    put_double(out, model->model.beta);
    put_double(out, model->model.gamma);
    put_double(out, model->model.latency);
    put_text(out, model->source);
}

static void put_collective(struct espi_buffer *out, const struct espi_report_collective *collective)
{
    const struct espi_collective_facts *facts = &collective->facts;
    put_number(out, facts->call);
    put_number(out, (uint64_t)facts->ranks);
    put_number(out, (uint64_t)facts->nodes);
    put_number(out, (uint64_t)facts->root);
    put_number(out, (uint64_t)facts->bytes);
    put_number(out, (uint64_t)facts->method);
    for (int m = 0; m < ESPI_STATS_METHODS; m++) {
        put_number(out, (uint64_t)facts->predicted_ns[m]);
        put_number(out, (uint64_t)facts->measured_ns[m]);
        put_number(out, collective->calls[m]);
    }
    put_number(out, collective->leases);
    put_number(out, collective->roots);
    put_number(out, collective->most_calls);
    put_number(out, collective->most_rank);
    put_text(out, facts->why);
}

espi_status espi_report_pack(const struct espi_report *report, struct espi_buffer *out)
{
    char settings[ESPI_SETTING_COUNT * (ESPI_SETTING_TEXT + 64)];

    put_number(out, WIRE_MAGIC);
    put_number(out, ESPI_COUNTER_COUNT);
    put_number(out, report->functions);
    put_number(out, report->rank);
    put_text(out, report->mpi);
    put_text(out, report->scope);
    put_bytes(out, report->command, report->command_len);
    put_number(out, (uint64_t)report->started);
    put_number(out, report->elapsed_ns);
    put_number(out, report->ranks);
    put_number(out, report->reporting);
    put_number(out, report->missing);
    put_number(out, report->complete);
    put_number(out, report->hosts);
    for (size_t i = 0; i < report->hosts; i++) {
        put_number(out, report->host[i].ranks);
        put_text(out, report->host[i].name);
    }
    put_bytes(out, settings, espi_settings_write(&report->settings, settings, sizeof settings));
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        put_value(out, &report->counter[i]);
    for (size_t i = 0; i < report->functions; i++)
        put_value(out, &report->calls[i]);
    put_number(out, report->types);
    for (size_t i = 0; i < report->types; i++)
        put_type(out, &report->type[i]);
    put_number(out, report->other_types);
    put_number(out, report->other_uses);
    put_number(out, report->other_bytes);
    for (int i = 0; i < ESPI_SAVED_KINDS; i++)
        put_number(out, report->other_saved_ns[i]);
    for (int l = 0; l < ESPI_LEVELS; l++)
        put_model(out, &report->model[l]);
    put_number(out, report->collectives);
    for (size_t i = 0; i < report->collectives; i++)
        put_collective(out, &report->collective[i]);
    put_number(out, report->other_collectives);
    put_number(out, report->other_calls);
    put_number(out, WIRE_MAGIC);
    return out->failed ? ESPI_ERR_MEMORY : ESPI_OK;
}

struct input {
    const unsigned char *at;
    size_t left;
    espi_status status; /* the first error sticks */
};

static uint64_t get_number(struct input *in)
{
    uint64_t value = 0;
    if (in->status != ESPI_OK || in->left < 8) {
        if (in->status == ESPI_OK)
            in->status = ESPI_ERR_SYNTAX;
        return 0;
    }
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)in->at[i] << (8 * i);
    in->at += 8;
    in->left -= 8;
    return value;
}

/* A count of things of at least `least` bytes each that must still fit in what is left. */
static size_t get_count(struct input *in, size_t least)
{
    uint64_t count = get_number(in);
    if (in->status == ESPI_OK && count > in->left / least)
        in->status = ESPI_ERR_SYNTAX;
    return in->status == ESPI_OK ? (size_t)count : 0;
}

static bool get_bool(struct input *in)
{
    uint64_t value = get_number(in);
    if (value > 1 && in->status == ESPI_OK)
        in->status = ESPI_ERR_SYNTAX;
    return value == 1;
}

/* A number below `limit`. */
static int get_small(struct input *in, uint64_t limit)
{
    uint64_t value = get_number(in);
    if (value >= limit && in->status == ESPI_OK)
        in->status = ESPI_ERR_SYNTAX;
    return in->status == ESPI_OK ? (int)value : 0;
}

static uint32_t get_rank(struct input *in)
{
    return (uint32_t)get_small(in, INT32_MAX);
}

/* A copy with a NUL behind it; NULL for no text and on errors. */
static char *get_text(struct input *in, size_t *len_out)
{
    uint64_t len = get_number(in);
    if (in->status != ESPI_OK || len == NO_TEXT)
        return NULL;
    if (len > in->left) {
        in->status = ESPI_ERR_SYNTAX;
        return NULL;
    }
    char *text = malloc((size_t)len + 1);
    if (text == NULL) {
        in->status = ESPI_ERR_MEMORY;
        return NULL;
    }
    memcpy(text, in->at, (size_t)len);
    text[len] = '\0';
    in->at += len;
    in->left -= (size_t)len;
    if (len_out != NULL)
        *len_out = (size_t)len;
    return text;
}

static void get_value(struct input *in, struct espi_report_value *value)
{
    value->sum = get_number(in);
    value->min = get_number(in);
    value->max = get_number(in);
    value->min_rank = get_rank(in);
    value->max_rank = get_rank(in);
}

static void get_times(struct input *in, struct espi_type_times *times)
{
    times->pack = get_number(in);
    times->unpack = get_number(in);
    times->partial = get_number(in);
}

static void get_reversal(struct input *in, struct espi_type_reversal *reversal)
{
    reversal->is = get_number(in) != 0;
    const uint64_t what = get_number(in);
    reversal->what = what < ESPI_SLOWS ? (enum espi_stats_slow)what : ESPI_SLOW_CALLS;
    reversal->ns_measured = get_number(in);
    reversal->ns_most = get_number(in);
}

static void get_type(struct input *in, struct espi_report_type *type)
{
    type->key = get_number(in);
    type->uses = get_number(in);
    type->elements = get_number(in);
    type->changed = get_number(in);
    for (int i = 0; i < ESPI_SAVED_KINDS; i++)
        type->saved_ns[i] = get_number(in);
    type->bytes = get_number(in);
    type->ranks = get_number(in);
    type->most_uses = get_number(in);
    type->most_rank = get_rank(in);
    type->facts.improved = get_bool(in);
    type->facts.exact = get_bool(in);
    type->facts.cost_before = (int64_t)get_number(in);
    type->facts.cost_after = (int64_t)get_number(in);
    type->facts.entries = (int64_t)get_number(in);
    type->facts.size = (int64_t)get_number(in);
    get_times(in, &type->facts.ns_before);
    get_times(in, &type->facts.ns_after);
    get_times(in, &type->facts.ns_next);
    get_times(in, &type->facts.ns_measured);
    for (int i = 0; i < 2; i++)
        get_reversal(in, &type->facts.reversal[i]);
    type->facts.ns_planning = get_number(in);
    for (int i = 0; i < 4; i++)
        type->text[i] = get_text(in, NULL);
    type->facts.before = type->text[0];
    type->facts.after = type->text[1];
    type->facts.emission = type->text[2];
    type->facts.why = type->text[3];
}

static double get_double(struct input *in)
{
    uint64_t bits = get_number(in);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A text into a place of fixed size. */
static void get_short(struct input *in, char *out, size_t size)
{
    char *text = get_text(in, NULL);
    if (text == NULL || strlen(text) >= size) {
        if (in->status == ESPI_OK)
            in->status = ESPI_ERR_SYNTAX;
        out[0] = '\0';
    } else {
        memcpy(out, text, strlen(text) + 1);
    }
    free(text);
}

static void get_model(struct input *in, struct espi_report_model *model)
{
    model->have = get_bool(in);
    model->rank = get_rank(in);
    model->model.alpha = get_double(in);
    model->model.beta = get_double(in);
    model->model.gamma = get_double(in);
    model->model.latency = get_double(in);
    model->model.early_copy = true;
    get_short(in, model->source, sizeof model->source);
}

static void get_collective(struct input *in, struct espi_report_collective *collective)
{
    struct espi_collective_facts *facts = &collective->facts;
    facts->call = (enum espi_stats_call)get_small(in, ESPI_CALLS);
    facts->ranks = get_small(in, INT32_MAX);
    facts->nodes = get_small(in, INT32_MAX);
    facts->root = get_small(in, INT32_MAX);
    facts->bytes = (int64_t)get_number(in);
    facts->method = get_small(in, ESPI_STATS_METHODS);
    for (int m = 0; m < ESPI_STATS_METHODS; m++) {
        facts->predicted_ns[m] = (int64_t)get_number(in);
        facts->measured_ns[m] = (int64_t)get_number(in);
        collective->calls[m] = get_number(in);
    }
    collective->leases = get_number(in);
    collective->roots = get_number(in);
    collective->most_calls = get_number(in);
    collective->most_rank = get_rank(in);
    get_short(in, facts->why, sizeof facts->why);
}

static void get_settings(struct input *in, struct espi_settings *settings)
{
    size_t len = 0;
    char *bytes = get_text(in, &len);
    espi_settings_defaults(settings);
    if (in->status == ESPI_OK)
        in->status = bytes != NULL ? espi_settings_read(settings, bytes, len) : ESPI_ERR_SYNTAX;
    free(bytes);
}

static void *get_array(struct input *in, size_t n, size_t size)
{
    void *array = in->status == ESPI_OK ? calloc(n + 1, size) : NULL;
    if (array == NULL && in->status == ESPI_OK)
        in->status = ESPI_ERR_MEMORY;
    return array;
}

espi_status espi_report_unpack(struct espi_report *report, const void *data, size_t len)
{
    struct input in = {data, len, ESPI_OK};

    *report = ESPI_REPORT_INIT;
    if (get_number(&in) != WIRE_MAGIC || get_number(&in) != ESPI_COUNTER_COUNT)
        return ESPI_ERR_SYNTAX;
    report->functions = get_count(&in, VALUE_BYTES);
    report->rank = get_rank(&in);
    report->mpi = get_text(&in, NULL);
    report->scope = get_text(&in, NULL);
    report->command = get_text(&in, &report->command_len);
    report->started = (int64_t)get_number(&in);
    report->elapsed_ns = get_number(&in);
    report->ranks = get_number(&in);
    report->reporting = get_number(&in);
    report->missing = get_number(&in);
    report->complete = get_bool(&in);
    size_t hosts = get_count(&in, 16);
    report->host = get_array(&in, hosts, sizeof *report->host);
    for (size_t i = 0; i < hosts && in.status == ESPI_OK; i++) {
        report->host[i].ranks = get_number(&in);
        report->host[i].name = get_text(&in, NULL);
        if (report->host[i].name != NULL)
            report->hosts++;
        else if (in.status == ESPI_OK)
            in.status = ESPI_ERR_SYNTAX;
    }
    get_settings(&in, &report->settings);
    for (int i = 0; i < ESPI_COUNTER_COUNT; i++)
        get_value(&in, &report->counter[i]);
    report->calls = get_array(&in, report->functions, sizeof *report->calls);
    for (size_t i = 0; i < report->functions && in.status == ESPI_OK; i++)
        get_value(&in, &report->calls[i]);
    size_t types = get_count(&in, TYPE_BYTES);
    report->type = get_array(&in, types, sizeof *report->type);
    for (size_t i = 0; i < types && in.status == ESPI_OK; i++) {
        get_type(&in, &report->type[i]);
        report->types++;
    }
    report->other_types = get_number(&in);
    report->other_uses = get_number(&in);
    report->other_bytes = get_number(&in);
    for (int i = 0; i < ESPI_SAVED_KINDS; i++)
        report->other_saved_ns[i] = get_number(&in);
    for (int l = 0; l < ESPI_LEVELS; l++)
        get_model(&in, &report->model[l]);
    size_t collectives = get_count(&in, COLLECTIVE_BYTES);
    report->collective = get_array(&in, collectives, sizeof *report->collective);
    for (size_t i = 0; i < collectives && in.status == ESPI_OK; i++)
        get_collective(&in, &report->collective[report->collectives++]);
    report->other_collectives = get_number(&in);
    report->other_calls = get_number(&in);
    if (get_number(&in) != WIRE_MAGIC || in.left != 0 || report->mpi == NULL || report->scope == NULL ||
        report->command == NULL)
        in.status = in.status == ESPI_OK ? ESPI_ERR_SYNTAX : in.status;
    report->function_name = espi_stats_names(report->functions);
    if (in.status != ESPI_OK) {
        report->functions = 0;
        espi_report_release(report);
    }
    return in.status;
}
