# Lists of src/exchange/: bytes from process to process of one node, through memory that they share; no mpi.h.
libespi_pure_la_SOURCES += %D%/channel.h %D%/segment.c %D%/segment.h
