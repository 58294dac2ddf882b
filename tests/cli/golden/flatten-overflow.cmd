espalier flatten 'vec(2,9223372036854775807,leaf(MPI_INT))'
