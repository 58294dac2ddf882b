# Lists of src/mpi/typeplan/: which type is handed to MPI in the place of the program's, and what earns that.
espi_mpi_services += %D%/trial.c %D%/trial.h
espi_mpi_types += %D%/type_cache.c %D%/type_cache.h %D%/type_class.c %D%/type_class.h %D%/type_look.c %D%/type_look.h
espi_mpi_types += %D%/type_way.c
espi_mpi_types += %D%/unseen.c %D%/unseen.h %D%/undecoded.c %D%/undecoded.h %D%/kept_types.c %D%/kept_types.h
espi_mpi_types += %D%/admission.c %D%/admission.h %D%/tiers.c %D%/tiers.h %D%/tree_size.c %D%/tree_size.h
espi_mpi_types += %D%/plan_cache.c %D%/plan_cache.h %D%/plan_credit.c %D%/plan_credit.h
espi_mpi_types += %D%/plan_figures.c %D%/plan_figures.h
espi_mpi_types += %D%/plan_use.h
espi_mpi_types += %D%/select.c %D%/select.h %D%/variants.c %D%/variants.h %D%/verify.c %D%/verify.h
espi_mpi_types += %D%/engine_cost.c %D%/engine_cost.h %D%/engine_calibrate.c %D%/engine_calibrate.h
espi_mpi_types += %D%/pack_gain.c %D%/pack_gain.h %D%/pack_once.c %D%/pack_once.h
espi_mpi_types += %D%/forms.c %D%/forms.h
espi_mpi_types += %D%/exact_program.c %D%/exact_program.h %D%/message_plan.c %D%/message_plan.h
