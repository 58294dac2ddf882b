/* A program that does not know MPI and loads a plugin that does, privately: what an interpreter does with a
   module. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = dlopen(argc > 1 ? argv[1] : "plugin.so", RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "host: %s\n", dlerror());
        return 2;
    }
    int (*run)(void) = (int (*)(void))dlsym(plugin, "run");
    return run ? run() : 3;
}
