espalier tree --format dot --from-tree 'leaf(MPI_INT)' >/dev/full
