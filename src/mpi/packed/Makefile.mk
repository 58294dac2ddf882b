# Lists of src/mpi/packed/: calls whose data a pack program moves.
espi_mpi_services += %D%/packed_call.c %D%/packed_call.h %D%/packed_requests.c %D%/packed_requests.h
espi_mpi_services += %D%/packed_record.c %D%/packed_record.h %D%/packed_persistent.c %D%/packed_persistent.h
espi_mpi_services += %D%/packed_blocks.c %D%/packed_blocks.h
espi_mpi_services += %D%/packed_collective.c %D%/packed_collective.h
espi_mpi_services += %D%/core_distance.c %D%/core_distance.h
espi_mpi_services += %D%/packed_times.c %D%/packed_times.h %D%/stream_type.c %D%/stream_type.h
espi_mpi_services += %D%/message_ways.c %D%/message_ways.h %D%/way_found.c %D%/way_trial.c %D%/way_trial.h \
	%D%/trial_numbers.c %D%/trial_numbers.h
espi_mpi_services += %D%/way_times.c %D%/way_times.h %D%/way_watch.c %D%/way_watch.h
espi_mpi_types += %D%/self_test.c %D%/self_test.h
