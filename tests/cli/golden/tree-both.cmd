espalier tree --from-tree 'leaf(MPI_INT)' file
