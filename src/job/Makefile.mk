# Lists of src/job/: who else of this job runs under Espalier; no mpi.h.
libespi_pure_la_SOURCES += %D%/hydra.c %D%/hydra.h %D%/pmi.c %D%/pmi.h
libespi_pure_la_SOURCES += %D%/presence.c %D%/presence.h %D%/all_present.c %D%/all_present.h
libespi_pure_la_SOURCES += %D%/nodes.c %D%/nodes.h
