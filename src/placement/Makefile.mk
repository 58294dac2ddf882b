# Lists of src/placement/; see Makefile.am.
libespi_pure_la_SOURCES += %D%/placement.h %D%/internal.h %D%/graph.c %D%/metric.c %D%/plan.c %D%/tree.c
libespi_pure_la_SOURCES += %D%/elimination.h %D%/order.c %D%/eliminate.c %D%/collapse.c %D%/cut.c %D%/search.c
libespi_pure_la_SOURCES += %D%/offsets.c %D%/offsets.h %D%/replicate.c %D%/replicate.h
libespi_pure_la_SOURCES += %D%/file.c %D%/file.h %D%/reader.h %D%/statements.c
libespi_pure_la_SOURCES += %D%/affine.c %D%/affine.h %D%/align.c %D%/align.h %D%/statements_affine.c
libespi_pure_la_SOURCES += %D%/positions.c %D%/statements_positions.c
