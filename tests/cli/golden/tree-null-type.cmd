printf '%s\n' 0 '8 MPI_DATATYPE_NULL' | espalier tree
