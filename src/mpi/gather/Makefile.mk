# Lists of src/mpi/gather/: gathers and scatters along trees.
espi_mpi_services += %D%/agreement.c %D%/agreement.h %D%/comm_state.c %D%/comm_state.h %D%/call.c %D%/call.h
espi_mpi_services += %D%/lease.c %D%/lease.h %D%/subtree_plan.c %D%/subtree_plan.h %D%/messages.c %D%/gather_senders.c
espi_mpi_services += %D%/gather_root.c %D%/hand_down.c %D%/hand_down.h %D%/scatter.c %D%/lease_report.c %D%/lease_report.h
