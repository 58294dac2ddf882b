# Lists of src/mpi/selfcopy/: messages to oneself, layout to layout.
espi_mpi_services += %D%/self_sends.c %D%/self_sends.h
espi_mpi_types += %D%/self_copy.c %D%/self_copy.h %D%/plan.c %D%/block.c %D%/call.c %D%/pair_class.c %D%/choice.c
espi_mpi_types += %D%/pair_class.h %D%/recent_pairs.c %D%/recent_pairs.h
