/* A program of the fake MPI library. With an argument it loads that library too, globally (MPICH, say), before it
   begins. */
#include <dlfcn.h>
#include <stdio.h>

#include "fake.h"

int main(int argc, char **argv)
{
    int size = 0;
    if (argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "foreign: %s\n", dlerror());
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Pack_size(3, fake_double, NULL, &size);
    printf("foreign: size %d\n", size);
    MPI_Finalize();
    return size != 24;
}
