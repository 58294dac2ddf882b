# Many parts: the first ones, then how many more.
awk 'BEGIN { for (i = 0; i < 40; i++) print i * i * 100, i % 3 ? "MPI_INT" : "MPI_DOUBLE" }' | espalier tree --format dot
