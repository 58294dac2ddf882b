# Columns of two matrices side by side, and a few entries apart.
awk 'BEGIN { for (j = 0; j < 4; j++) for (i = 0; i < 30; i++) print i * 20 + j; print 700; print 703; print 709 }' >from
awk 'BEGIN { for (i = 0; i < 120; i++) print 3 * i; print -8; print -3; print -1 }' >onto
espalier tree --unit 8 --base MPI_DOUBLE --onto onto --format svg from
