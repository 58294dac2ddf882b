espalier flatten 'idx(3,<0,8>,leaf(MPI_INT))'
