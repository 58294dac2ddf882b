espalier tree --from-tree 'leaf(MPI_INT)' --base MPI_INT
