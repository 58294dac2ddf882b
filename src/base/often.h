/*
 * Functions of which nearly every short message makes use. They stand together in the library, in a section of their
 * own, so that how they lie to each other is up to them alone: a message of 2 kB took up to 5 % more or less by what
 * else had moved them.
 */
#ifndef ESPI_BASE_OFTEN_H
#define ESPI_BASE_OFTEN_H

#define ESPI_OFTEN __attribute__((hot))

#endif
