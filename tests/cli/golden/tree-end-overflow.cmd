printf '0\n9223372036854775807\n' | espalier tree --base MPI_INT
