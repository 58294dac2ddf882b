# Lists of src/base/; see Makefile.am.
libespi_pure_la_SOURCES += %D%/hash.h %D%/apart.h
libespi_pure_la_SOURCES += %D%/log.c %D%/log.h %D%/quiet.c %D%/quiet.h
libespi_pure_la_SOURCES += %D%/file.c %D%/file.h
libespi_pure_la_SOURCES += %D%/settings.c %D%/settings.h %D%/settings.def
libespi_pure_la_SOURCES += %D%/scratch.c %D%/scratch.h
libespi_pure_la_SOURCES += %D%/arena.c %D%/arena.h %D%/status.c %D%/status.h
libespi_pure_la_SOURCES += %D%/number.c %D%/number.h
libespi_pure_la_SOURCES += %D%/processor.c %D%/processor.h
libespi_pure_la_SOURCES += %D%/hydra.c %D%/hydra.h
