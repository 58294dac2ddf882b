espalier flatten 'leaf(MPI_FLAOT)'
