espalier flatten --limit -2 'vec(3,8,leaf(MPI_INT))'
