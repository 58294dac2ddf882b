# Lists of src/mpi/comm/: communicators: what is known of them, and those of Espalier's own.
espi_mpi_services += %D%/comm_cache.c %D%/comm_cache.h %D%/dying_comms.c %D%/dying_comms.h %D%/private_comm.c
espi_mpi_services += %D%/private_comm.h %D%/self_comm.c %D%/self_comm.h %D%/statistics.c %D%/statistics.h %D%/world.c %D%/world.h
