# Lists of src/base/; see Makefile.am.
libespi_pure_la_SOURCES += %D%/hash.h %D%/list.h %D%/saturate.h
libespi_pure_la_SOURCES += %D%/log.c %D%/log.h %D%/write_all.c %D%/write_all.h
libespi_pure_la_SOURCES += %D%/file.c %D%/file.h
libespi_pure_la_SOURCES += %D%/settings.c %D%/settings.h %D%/settings.def
libespi_pure_la_SOURCES += %D%/buffer_pool.c %D%/buffer_pool.h %D%/own_heap.c %D%/own_heap.h
libespi_pure_la_SOURCES += %D%/overlap.c %D%/overlap.h
libespi_pure_la_SOURCES += %D%/arena.c %D%/arena.h %D%/status.c %D%/status.h
libespi_pure_la_SOURCES += %D%/number.c %D%/number.h %D%/often.h
libespi_pure_la_SOURCES += %D%/cpu.c %D%/cpu.h %D%/table.h
EXTRA_DIST += %D%/tables.ld
