espalier flatten 'struc(2,<0,100>,<vec(5,-8,leaf(MPI_INT)),idx(2,<0,12>,leaf(MPI_DOUBLE))>)' > a; espalier tree a | sed -n 's/^tree *//p' | espalier flatten - > b; cmp a b && echo same
