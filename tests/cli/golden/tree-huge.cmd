espalier tree --from-tree 'vec(1000000000,8,idx(2,<0,4>,leaf(MPI_INT)))'
