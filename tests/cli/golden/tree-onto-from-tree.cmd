printf '0\n1\n2\n' >onto; espalier tree --from-tree 'vec(3,8,leaf(MPI_BYTE))' --onto onto --cost
