# Lists of src/transpack/; see Makefile.am.
libespi_pure_la_SOURCES += %D%/transpack.c %D%/transpack.h %D%/pair_code.h %D%/trees.c %D%/zip.c %D%/zip.h
