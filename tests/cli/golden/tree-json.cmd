printf '0\n1\n2\n5\n' | espalier tree --unit 4 --base MPI_INT --format json
