espalier flatten 'struc(2,<0,100>,<idxbuc(2,8,<0,50>,<2,1>,leaf(MPI_DOUBLE)),leaf(MPI_CHAR)>)'
