printf '0\n1 MPI_INT\n' >from; printf '0\n1\n' >onto; espalier tree from --onto onto
