printf '0\n3\n' >onto; espalier tree --from-tree 'vec(2,4,leaf(MPI_INT))' --onto onto --unit 4 --base MPI_INT --cost
