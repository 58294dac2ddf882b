/* Text to tree: recursive descent over
 *   tree  = leaf "(" name ")" | vec "(" n "," n "," tree ")" | idx "(" n "," array "," tree ")" | ...
 *   array = "<" [ n { "," n } ] ">"
 */
#include "layout/layout.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    struct espi_arena *arena;
    const char *begin, *at, *end;
    struct espi_parse_error *error;
    int depth;
};

static void skip_space(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) {
        p->at++;
    }
}

/* Reports at p->at; returns `status`. */
__attribute__((format(printf, 3, 4))) static espi_status fail(struct parser *p, espi_status status,
                                                              const char *format, ...)
{
    struct espi_parse_error *error = p->error;
    if (error != NULL) {
        va_list arguments;
        error->line = error->column = 1;
        for (const char *c = p->begin; c < p->at; c++) {
            error->column++;
            if (*c == '\n') {
                error->line++;
                error->column = 1;
            }
        }
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

static espi_status expected(struct parser *p, const char *what)
{
    if (p->at == p->end) {
        return fail(p, ESPI_ERR_SYNTAX, "expected %s, found the end of the text", what);
    }
    unsigned char c = (unsigned char)*p->at;
    if (c < ' ' || c > '~') {
        return fail(p, ESPI_ERR_SYNTAX, "expected %s, found byte 0x%02x", what, c);
    }
    return fail(p, ESPI_ERR_SYNTAX, "expected %s, found '%c'", what, c);
}

static espi_status symbol(struct parser *p, char c)
{
    char what[] = {'\'', c, '\'', '\0'};
    skip_space(p);
    if (p->at == p->end || *p->at != c) {
        return expected(p, what);
    }
    p->at++;
    return ESPI_OK;
}

static espi_status number(struct parser *p, const char *what, int64_t *out)
{
    uint64_t value = 0;
    skip_space(p);
    const char *at = p->at;
    bool negative = at < p->end && *at == '-';
    uint64_t largest = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
    at += negative;
    if (at == p->end || *at < '0' || *at > '9') {
        return expected(p, what);
    }
    for (; at < p->end && *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (value > (largest - digit) / 10) {
            return fail(p, ESPI_ERR_OVERFLOW, "%s does not fit 64 bits", what);
        }
        value = value * 10 + digit;
    }
    p->at = at;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return ESPI_OK;
}

/* A count: a number that is not negative, and the comma behind it. */
static espi_status count(struct parser *p, int64_t *out)
{
    skip_space(p);
    const char *at = p->at;
    espi_status status = number(p, "a count", out);
    if (status == ESPI_OK && *out < 0) {
        p->at = at;
        status = fail(p, ESPI_ERR_SYNTAX, "expected a count, found a negative number");
    }
    return status == ESPI_OK ? symbol(p, ',') : status;
}

static espi_status stride(struct parser *p, int64_t *out)
{
    espi_status status = number(p, "a stride", out);
    return status == ESPI_OK ? symbol(p, ',') : status;
}

static espi_status wrong_length(struct parser *p, const char *start, int64_t n, size_t found)
{
    p->at = start;
    return fail(p, ESPI_ERR_SYNTAX, "expected %lld elements between '<' and '>', found %s%zu", (long long)n,
                (uint64_t)n < found ? "at least " : "", found);
}

/* Reads one element of a list; `how` is the reader's own. */
typedef espi_status element_reader(struct parser *p, const void *how, void *out);

/* Exactly n elements of `size` bytes between '<' and '>'. Grows with what stands there, whatever n claims. */
static espi_status list(struct parser *p, int64_t n, size_t size, element_reader *element, const void *how,
                        void **out)
{
    char *values = NULL;
    size_t found = 0, capacity = 0;
    espi_status status = symbol(p, '<');
    const char *start = p->at;
    skip_space(p);
    bool empty = p->at < p->end && *p->at == '>';
    while (status == ESPI_OK && !empty) {
        if (found == capacity) {
            capacity = capacity == 0 ? 8 : capacity * 2;
            char *larger = realloc(values, capacity * size);
            if (larger == NULL) {
                status = fail(p, ESPI_ERR_MEMORY, "out of memory");
                break;
            }
            values = larger;
        }
        status = element(p, how, values + found * size);
        if (status != ESPI_OK) {
            break;
        }
        found++;
        skip_space(p);
        if (found > (uint64_t)n || (p->at < p->end && *p->at == '>')) {
            break;
        }
        status = symbol(p, ',');
    }
    if (status == ESPI_OK && found != (uint64_t)n) {
        status = wrong_length(p, start, n, found);
    }
    if (status == ESPI_OK) {
        status = symbol(p, '>');
    }
    if (status == ESPI_OK) {
        *out = espi_arena_alloc(p->arena, found * size);
        if (*out == NULL) {
            status = fail(p, ESPI_ERR_MEMORY, "out of memory");
        } else if (found > 0) {
            memcpy(*out, values, found * size);
        }
    }
    free(values);
    return status;
}

struct numbers {
    const char *what;
    bool lengths; /* none is negative */
};

static espi_status read_number(struct parser *p, const void *how, void *out)
{
    const struct numbers *numbers = how;
    int64_t *value = out;
    skip_space(p);
    const char *at = p->at;
    espi_status status = number(p, numbers->what, value);
    if (status == ESPI_OK && numbers->lengths && *value < 0) {
        p->at = at;
        status = fail(p, ESPI_ERR_SYNTAX, "expected %s, found a negative number", numbers->what);
    }
    return status;
}

/* An array of exactly n numbers and the comma behind it. */
static espi_status array(struct parser *p, int64_t n, const char *what, bool lengths, const int64_t **out)
{
    const struct numbers numbers = {what, lengths};
    void *kept;
    espi_status status = list(p, n, sizeof **out, read_number, &numbers, &kept);
    if (status == ESPI_OK) {
        status = symbol(p, ',');
    }
    if (status == ESPI_OK) {
        *out = kept;
    }
    return status;
}

static espi_status tree(struct parser *p, const struct espi_node **out);

static espi_status read_child(struct parser *p, const void *how, void *out)
{
    (void)how;
    return tree(p, out);
}

/* The n children of a struc. */
static espi_status children(struct parser *p, int64_t n, const struct espi_node *const **out)
{
    void *kept;
    espi_status status = list(p, n, sizeof **out, read_child, NULL, &kept);
    if (status == ESPI_OK) {
        *out = kept;
    }
    return status;
}

static size_t word_length(const struct parser *p)
{
    size_t len = 0;
    while (p->at + len < p->end) {
        char c = p->at[len];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(len > 0 && ((c >= '0' && c <= '9') || c == '.'))) {
            break;
        }
        len++;
    }
    return len;
}

static espi_status leaf(struct parser *p, const struct espi_node **out)
{
    skip_space(p);
    size_t len = word_length(p);
    if (len == 0) {
        return expected(p, "the name of a base type");
    }
    espi_base base = espi_base_find(p->at, len);
    if (base == ESPI_BASE_NONE) {
        return fail(p, ESPI_ERR_SYNTAX, "'%.*s' is not a base type", len > 60 ? 60 : (int)len, p->at);
    }
    p->at += len;
    return espi_node_leaf(p->arena, base, out);
}

static enum espi_kind kind_of(const char *word, size_t len)
{
    static const char *const kinds[] = {"leaf", "vec", "idx", "idxbuc", "struc", "bucket"};
    for (enum espi_kind kind = ESPI_LEAF; kind < ESPI_KIND_COUNT; kind++) {
        if (strlen(kinds[kind]) == len && memcmp(kinds[kind], word, len) == 0) {
            return kind;
        }
    }
    return ESPI_KIND_COUNT;
}

static espi_status tree(struct parser *p, const struct espi_node **out)
{
    int64_t n = 0, s1 = 0, s2 = 0;
    const int64_t *disp = NULL, *len = NULL;
    const struct espi_node *child = NULL;
    const struct espi_node *const *sub = NULL;
    skip_space(p);
    const char *start = p->at;
    enum espi_kind kind = kind_of(p->at, word_length(p));
    if (kind == ESPI_KIND_COUNT) {
        return expected(p, "leaf, vec, idx, idxbuc, struc or bucket");
    }
    if (++p->depth > ESPI_DEPTH_MAX) {
        return fail(p, ESPI_ERR_UNSUPPORTED, "more than %d levels", ESPI_DEPTH_MAX);
    }
    p->at += word_length(p);
    espi_status status = symbol(p, '(');
    if (status == ESPI_OK && kind != ESPI_LEAF) {
        status = count(p, &n);
    }
    if (status == ESPI_OK && (kind == ESPI_VEC || kind == ESPI_IDXBUC || kind == ESPI_BUCKET)) {
        status = stride(p, &s1);
    }
    if (status == ESPI_OK && kind == ESPI_BUCKET) {
        status = stride(p, &s2);
    }
    if (status == ESPI_OK && (kind == ESPI_IDX || kind == ESPI_IDXBUC || kind == ESPI_STRUC)) {
        status = array(p, n, "a displacement", false, &disp);
    }
    if (status == ESPI_OK && (kind == ESPI_IDXBUC || kind == ESPI_BUCKET)) {
        status = array(p, n, "a bucket length", true, &len);
    }
    if (status == ESPI_OK && kind == ESPI_STRUC) {
        status = children(p, n, &sub);
    } else if (status == ESPI_OK) {
        status = kind == ESPI_LEAF ? leaf(p, out) : tree(p, &child);
    }
    if (status == ESPI_OK) {
        status = symbol(p, ')');
    }
    p->depth--;
    if (status != ESPI_OK) {
        return status;
    }
    switch (kind) {
    case ESPI_VEC:
        status = espi_node_vec(p->arena, n, s1, child, out);
        break;
    case ESPI_IDX:
        status = espi_node_idx(p->arena, n, disp, child, out);
        break;
    case ESPI_IDXBUC:
        status = espi_node_idxbuc(p->arena, n, s1, disp, len, child, out);
        break;
    case ESPI_BUCKET:
        status = espi_node_bucket(p->arena, n, s1, s2, len, child, out);
        break;
    case ESPI_STRUC:
        status = espi_node_struc(p->arena, n, disp, sub, out);
        break;
    case ESPI_LEAF:
    case ESPI_KIND_COUNT:
        break;
    }
    if (status != ESPI_OK) {
        p->at = start;
        return fail(p, status, "%s", espi_status_text(status));
    }
    return ESPI_OK;
}

espi_status espi_parse(struct espi_arena *arena, const char *text, size_t len, const struct espi_node **out,
                       struct espi_parse_error *error)
{
    struct parser p = {.arena = arena, .begin = text, .at = text, .end = text + len, .error = error};
    espi_status status = tree(&p, out);
    if (status == ESPI_OK) {
        skip_space(&p);
        if (p.at != p.end) {
            status = expected(&p, "the end of the text");
        }
    }
    if (status != ESPI_OK) {
        *out = NULL;
    }
    return status;
}
