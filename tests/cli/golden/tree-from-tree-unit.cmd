espalier tree --unit 8 --from-tree 'leaf(MPI_INT)'
