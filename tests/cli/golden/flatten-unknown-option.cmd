espalier flatten --limits 3 'leaf(MPI_INT)'
