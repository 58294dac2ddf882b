# Lists of src/job/: who else of this job runs under Espalier; no mpi.h.
libespi_pure_la_SOURCES += %D%/all_present.c %D%/all_present.h %D%/roll.c %D%/roll.h
libespi_pure_la_SOURCES += %D%/relay.c %D%/relay.h %D%/relay_calls.c %D%/relay_calls.h
libespi_pure_la_SOURCES += %D%/import_slots.c %D%/import_slots.h
libespi_pure_la_SOURCES += %D%/pmi.c %D%/pmi.h %D%/pmi_message.c %D%/pmi_message.h
libespi_pure_la_SOURCES += %D%/hydra.c %D%/hydra.h %D%/nodes.c %D%/nodes.h
