# Lists of src/mpi/typeplan/: which type is handed to MPI in the place of the program's, and what earns that.
espi_mpi_services += %D%/substitute.c %D%/substitute.h %D%/handle_table.c %D%/handle_table.h
espi_mpi_types += %D%/type_cache.c %D%/type_cache.h %D%/class_sample.c %D%/class_sample.h %D%/variants.c
espi_mpi_types += %D%/variants.h %D%/microbench.c %D%/microbench.h %D%/partial_pack_cost.c %D%/partial_pack_cost.h
espi_mpi_types += %D%/plan_cache.c %D%/plan_cache.h %D%/select.c %D%/select.h %D%/admission.c %D%/admission.h
espi_mpi_types += %D%/type_class.c %D%/type_class.h
