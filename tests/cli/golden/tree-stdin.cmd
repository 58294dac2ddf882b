printf '0 MPI_INT\n4\n8 # c\n\n\t12\tMPI_INT\r\n' | espalier tree --base MPI_INT
