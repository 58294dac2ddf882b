printf '# a map\n0 MPI_INT\n4 MPI_FLAOT\n' > map; espalier tree map
