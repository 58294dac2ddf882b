# Lists of src/exchange/: bytes from process to process of one node, through memory that they share; no mpi.h.
libespi_pure_la_SOURCES += %D%/channel.h %D%/fetch.c %D%/fetch.h %D%/segment.c %D%/segment.h
