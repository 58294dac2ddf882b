# Lists of src/pack/; see Makefile.am.
libespi_pure_la_SOURCES += %D%/copy.h %D%/copy_program.h %D%/copy_compile.c %D%/copy_run.c %D%/copy_kernels.c
