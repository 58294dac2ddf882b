/* The additive cost model. */
#include <string.h>

#include "layout/memo.h"

const struct espi_costs espi_costs_default = {
    .leaf = 2,
    .vec = 4,
    .idx = 3,
    .idx_each = 1,
    .idxbuc = 4,
    .idxbuc_each = 2,
    .struc = 2,
    .struc_each = 2,
    .bucket = 5,
    .bucket_each = 1,
};

static int64_t plus(int64_t a, int64_t b)
{
    int64_t result;
    return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t result;
    return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

int64_t espi_cost_own(const struct espi_node *node, const struct espi_costs *costs)
{
    switch (node->kind) {
    case ESPI_LEAF:
        return costs->leaf;
    case ESPI_VEC:
        return costs->vec;
    case ESPI_IDX:
        return plus(costs->idx, times(node->count, costs->idx_each));
    case ESPI_IDXBUC:
        return plus(costs->idxbuc, times(node->count, costs->idxbuc_each));
    case ESPI_BUCKET:
        return plus(costs->bucket, times(node->count, costs->bucket_each));
    case ESPI_STRUC:
        return plus(costs->struc, times(node->count, costs->struc_each));
    case ESPI_KIND_COUNT:
        break;
    }
    return 0;
}

static int64_t node_cost(const struct espi_node *node, const struct espi_costs *costs, struct espi_memo *memo)
{
    int64_t total = 0, parts = 0, last = 0;
    struct espi_memo_slot *known = NULL;
    for (; node->kind != ESPI_STRUC; node = node->child) {
        total = plus(total, espi_cost_own(node, costs));
        if (node->child == NULL) {
            return total;
        }
    }
    bool wanted = espi_memo_wanted(memo);
    if (wanted && (known = espi_memo_find(memo, node)) != NULL) {
        return plus(total, known->number[0]);
    }
    parts = espi_cost_own(node, costs);
    for (int64_t j = 0; j < node->count; j++) {
        if (j == 0 || node->sub[j] != node->sub[j - 1]) {
            last = node_cost(node->sub[j], costs, memo);
        }
        parts = plus(parts, last);
    }
    if (wanted && (known = espi_memo_add(memo, node)) != NULL) {
        known->number[0] = parts;
    }
    return plus(total, parts);
}

int64_t espi_cost(const struct espi_node *node, const struct espi_costs *costs)
{
    struct espi_memo memo = {0};
    int64_t total = node_cost(node, costs, &memo);
    espi_memo_release(&memo);
    return total;
}

espi_status espi_costs_parse(const char *text, struct espi_costs *costs, size_t *where)
{
    struct espi_costs result = *costs;
    const struct {
        const char *key;
        int64_t *value;
    } keys[] = {
        {"leaf", &result.leaf},         {"vec", &result.vec},
        {"idx", &result.idx},           {"idx_each", &result.idx_each},
        {"idxbuc", &result.idxbuc},     {"idxbuc_each", &result.idxbuc_each},
        {"struc", &result.struc},       {"struc_each", &result.struc_each},
        {"bucket", &result.bucket},     {"bucket_each", &result.bucket_each},
    };
    const char *at = text;
    for (;;) {
        size_t len = strcspn(at, "=,"), k = 0, digits;
        while (k < sizeof keys / sizeof *keys &&
               !(strlen(keys[k].key) == len && strncmp(keys[k].key, at, len) == 0)) {
            k++;
        }
        if (k == sizeof keys / sizeof *keys) {
            break;
        }
        at += len;
        if (*at != '=') {
            break;
        }
        at++;
        digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 9) { /* see ESPI_COST_MAX */
            break;
        }
        *keys[k].value = 0;
        for (; digits > 0; digits--) {
            *keys[k].value = *keys[k].value * 10 + (*at++ - '0');
        }
        if (*at == '\0') {
            *costs = result;
            return ESPI_OK;
        }
        if (*at != ',') {
            break;
        }
        at++;
    }
    if (where != NULL) {
        *where = (size_t)(at - text);
    }
    return ESPI_ERR_SYNTAX;
}
