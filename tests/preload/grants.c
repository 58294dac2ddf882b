/*
 * What the stub does with the uses that the core has granted (fastpath.h): a call takes one for each derived type, is
 * not made with less than three left (two would do, as one type may describe both sides of a call, but three are one
 * bit), and not with a count other than one.
 */
#include <stdio.h>

#include "fastpath.h"

struct espi_hot espi_hot;
__thread struct espi_thread espi_here;

static int failed;

static void expect(bool right, const char *what)
{
    if (!right) {
        printf("wrong: %s\n", what);
        failed = 1;
    }
}

int main(void)
{
    const espi_word type = (espi_word)0x8c000005u, other = (espi_word)0xcc000007u, far = (espi_word)0xcc040000u;
    const espi_word integer = 0x4c000405;
    atomic_uchar *byte = &espi_hot.bytes[espi_byte_at((uint32_t)type)];
    int made = 0;

    atomic_store(byte, ESPI_BYTE_NEW + 1 + ESPI_GRANT_NEW);
    expect(espi_has_grant(integer, 5), "predefined types need none");
    expect(!espi_has_grant(other, 1), "what is unknown has none");
    expect(!espi_has_grant(far, 1), "what has no byte has none");
    expect(!espi_has_grant(type, 2) && !espi_has_grant(type, 0), "a use is of one item");
    espi_use_grant(integer);
    expect(atomic_load(&espi_hot.granted) == 0, "no use of a predefined type");
    while (espi_has_grant(type, 1) && made < 100) {
        espi_use_grant(type);
        espi_use_grant(type); /* both sides */
        made += 2;
    }
    expect(made == 6, "uses until less than three are left");
    expect(atomic_load(byte) == ESPI_BYTE_NEW + 1 + ESPI_GRANT_NEW - 6, "what is left");
    expect(atomic_load(&espi_hot.granted) == 6, "uses are counted");

    atomic_store(byte, 1 + 3);
    expect(espi_has_grant(type, 1), "three are enough");
    espi_use_grant(type);
    expect(!espi_has_grant(type, 1), "two are not");
    espi_use_grant(type);
    espi_use_grant(type);
    expect(atomic_load(byte) == 1, "a life that the core knows stays known");
    return failed;
}
