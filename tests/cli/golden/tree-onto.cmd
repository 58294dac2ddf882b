# A matrix of 30 x 20 is transposed.
awk 'BEGIN { for (i = 0; i < 30; i++) for (j = 0; j < 20; j++) print i * 20 + j }' >from
awk 'BEGIN { for (i = 0; i < 30; i++) for (j = 0; j < 20; j++) print j * 30 + i }' >onto
espalier tree --unit 8 --base MPI_DOUBLE --onto onto from
