espalier tree --from-tree 'idx(3,<0,8,16>,leaf(MPI_INT)'
