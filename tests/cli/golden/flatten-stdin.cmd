printf 'idx(2,\n<4,-4>,\nleaf(MPI_FLOAT))\n' | espalier flatten -
