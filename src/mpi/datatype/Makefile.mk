# Lists of src/mpi/datatype/: MPI's datatypes to trees and back.
espi_mpi_services += %D%/decode.c %D%/decode.h %D%/decode_nodes.h %D%/decode_array.c %D%/decode_base.c
espi_mpi_services += %D%/construction.c %D%/construction.h
espi_mpi_services += %D%/element_view.c %D%/element_view.h %D%/emit.c %D%/emit.h
espi_mpi_services += %D%/own_types.c %D%/own_types.h
espi_mpi_services += %D%/contents.c %D%/contents.h %D%/ops.c %D%/ops.h
