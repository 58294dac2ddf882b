# Lists of src/stats/; see Makefile.am.
libespi_pure_la_SOURCES += %D%/buffer.c %D%/buffer.h %D%/json.c %D%/json.h
libespi_pure_la_SOURCES += %D%/counters.def %D%/stats.h %D%/snapshot.c %D%/snapshot.h
libespi_pure_la_SOURCES += %D%/report_merge.c %D%/report.h %D%/gather_records.c %D%/wire.c %D%/report_json.c %D%/summary.c
libespi_pure_la_SOURCES += %D%/path.c %D%/path.h %D%/output.c
