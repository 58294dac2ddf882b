espalier tree --set extended --from-tree 'bucket(3,100,8,<4,2,3>,leaf(MPI_INT))'
