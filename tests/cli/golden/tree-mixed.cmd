printf '0 MPI_DOUBLE\n8 MPI_INT\n16 MPI_DOUBLE\n24 MPI_INT\n' | espalier tree
