printf '0 MPI_INT' | espalier tree --set extended --format json
