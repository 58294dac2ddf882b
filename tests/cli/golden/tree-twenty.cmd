# The layout of the papers' figure 3, given as four equal parts.
L='idx(20,<0,16,96,272,600,680,752,808,840,1088,1224,1240,1256,1272,1360,1392,1456,1480,1576,1704>,leaf(MPI_DOUBLE))'
espalier tree --from-tree "struc(4,<0,5000,11000,21000>,<$L,$L,$L,$L>)"
