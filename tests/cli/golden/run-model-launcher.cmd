printf 'a file\n' >wire; PMI_RANK=0 PMI_SIZE=2 PMI_FD=5 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=0 espalier run --set ESPALIER_MODEL=nowhere cat wire 5<>wire
