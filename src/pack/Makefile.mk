# Lists of src/pack/; see Makefile.am.
libespi_pure_la_SOURCES += %D%/copy.h %D%/pack.h %D%/program.h %D%/kernels.h %D%/compile.c %D%/lists.c %D%/run.c \
  %D%/range.c %D%/pack.c %D%/pairs.c %D%/cost.c %D%/print.c %D%/tiles.c %D%/levels.c \
  %D%/level_avx512.c %D%/level_claims.c
