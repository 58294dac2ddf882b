# Lists of src/mpi/exchange/: calls through memory that the ranks of a node share.
espi_mpi_services += %D%/call.c %D%/ends.h %D%/exchange.h %D%/flow.c %D%/flow.h %D%/offer.c %D%/offer.h %D%/own_block.c %D%/own_block.h
espi_mpi_services += %D%/side.c %D%/side.h %D%/start.c %D%/turns.c %D%/turns.h
