# Lists of src/mpi/calls/: calls with derived types: as they are, with a better type, or packed.
espi_mpi_services += %D%/generic.c %D%/generic.h %D%/left_alone.h %D%/watched_call.c %D%/watched_call.h
espi_mpi_services += %D%/substitute.c %D%/substitute.h %D%/substitute_array.c %D%/substitute_array.h
espi_mpi_services += %D%/call_args.c %D%/call_args.h %D%/call_side.c %D%/call_side.h
espi_mpi_services += %D%/message.c %D%/message.h %D%/short_message.c %D%/short_message.h
espi_mpi_services += %D%/collective.c %D%/collective.h %D%/repeated.c %D%/repeated.h
espi_mpi_services += %D%/short_local.c %D%/short_local.h %D%/local_turns.c %D%/local_turns.h
espi_mpi_services += %D%/late_credit.c %D%/late_credit.h
