# Lists of src/mpi/typeplan/: which type is handed to MPI in the place of the program's, and what earns that.
espi_mpi_services += %D%/local_turns.c %D%/local_turns.h %D%/call_args.c %D%/call_args.h
espi_mpi_services += %D%/substitute_array.c %D%/substitute_array.h %D%/message.c %D%/message.h \
    %D%/short_message.c %D%/short_message.h %D%/watched_call.c %D%/watched_call.h \
    %D%/collective.c %D%/collective.h %D%/call_side.c %D%/call_side.h %D%/repeated.c %D%/repeated.h \
    %D%/trial.c %D%/trial.h %D%/late_credit.c %D%/late_credit.h
espi_mpi_services += %D%/substitute.c %D%/substitute.h %D%/handle_table.c %D%/handle_table.h
espi_mpi_types += %D%/type_cache.c %D%/type_cache.h %D%/type_class.c %D%/type_class.h %D%/admission.c
espi_mpi_types += %D%/admission.h %D%/plan_cache.c %D%/plan_cache.h %D%/select.c %D%/select.h %D%/tree_size.c %D%/tree_size.h %D%/variants.c
espi_mpi_types += %D%/variants.h %D%/engine_cost.c %D%/engine_cost.h %D%/engine_calibrate.c
espi_mpi_types += %D%/engine_calibrate.h %D%/verify.c %D%/verify.h %D%/tiers.c %D%/tiers.h
espi_mpi_types += %D%/type_look.c %D%/type_look.h %D%/pack_gain.c %D%/pack_gain.h %D%/unseen.c
espi_mpi_types += %D%/exact_program.c %D%/exact_program.h
espi_mpi_types += %D%/plan_credit.c %D%/plan_credit.h %D%/undecoded.c %D%/undecoded.h
espi_mpi_types += %D%/unseen.h %D%/message_plan.c %D%/message_plan.h
espi_mpi_types += %D%/kept_types.c %D%/kept_types.h %D%/pack_once.c %D%/pack_once.h
