printf 'idx(3,<0,8,16>,\n leaf(MPI_INT)\n' | espalier tree --from-tree=-
