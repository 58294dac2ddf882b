espalier flatten 'vec(1000000000,8,leaf(MPI_INT))'
