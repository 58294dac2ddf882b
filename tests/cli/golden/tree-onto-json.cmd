printf '0 MPI_INT\n4 MPI_INT\n100 MPI_CHAR\n' >from; printf '8 MPI_INT\n16 MPI_INT\n0 MPI_CHAR\n' | espalier tree from --onto - --format json
