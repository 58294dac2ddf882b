# Lists of src/stats/; see Makefile.am.
libespi_pure_la_SOURCES += %D%/buffer.c %D%/buffer.h %D%/json.c %D%/json.h
libespi_pure_la_SOURCES += %D%/counters.def %D%/stats.h %D%/snapshot.c %D%/snapshot.h
libespi_pure_la_SOURCES += %D%/report_merge.c %D%/report_order.c %D%/report_tree.c %D%/report.h %D%/wire.c
libespi_pure_la_SOURCES += %D%/gather_records.c %D%/report_json.c %D%/summary.c %D%/sketch.c %D%/sketch.h
libespi_pure_la_SOURCES += %D%/path.c %D%/path.h %D%/output.c
