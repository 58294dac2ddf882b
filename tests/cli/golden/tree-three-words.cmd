printf '0 MPI_INT 4\n' > map; espalier tree map
