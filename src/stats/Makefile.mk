# Lists of src/stats/; see Makefile.am.
libespi_pure_la_SOURCES += %D%/buffer.c %D%/buffer.h %D%/json.c %D%/json.h
libespi_pure_la_SOURCES += %D%/counters.def %D%/stats.h %D%/collect.c %D%/collect.h
libespi_pure_la_SOURCES += %D%/report.c %D%/report.h %D%/collective.c %D%/wire.c %D%/dump.c %D%/summary.c
libespi_pure_la_SOURCES += %D%/path.c %D%/path.h %D%/output.c
