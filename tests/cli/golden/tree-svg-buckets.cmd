espalier tree --set extended --format svg --from-tree 'idxbuc(4,8,<-100,0,300,1000>,<3,1,4,1>,bucket(3,10,2,<2,1,3>,leaf(MPI_CHAR)))'
