espalier flatten 'vec(3,8,leaf(MPI_INT))'
