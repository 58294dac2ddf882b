# Lists of src/reconstruct/ and its folders; see Makefile.am.
libespi_pure_la_SOURCES += \
	%D%/anytime.c %D%/anytime.h %D%/checks.c %D%/fold.c %D%/fold.h %D%/limits.c %D%/normalize.c \
	%D%/normalize.h %D%/options.h %D%/parts.h %D%/reconstruct.c %D%/reconstruct.h %D%/simplify.c \
	%D%/symbols.c %D%/windowed.c
libespi_pure_la_SOURCES += \
	%D%/dense/backtrack.c %D%/dense/buckets.c %D%/dense/dense.c %D%/dense/dense.h %D%/dense/lanes.h \
	%D%/dense/solve.h %D%/dense/typemap.c
libespi_pure_la_SOURCES += \
	%D%/sparse/block.c %D%/sparse/expand.c %D%/sparse/family.c %D%/sparse/leafruns.c %D%/sparse/line.c \
	%D%/sparse/period.c %D%/sparse/repeats.c %D%/sparse/root.c %D%/sparse/row.c %D%/sparse/sparse.c \
	%D%/sparse/sparse.h %D%/sparse/strided.c %D%/sparse/text.c %D%/sparse/top.c %D%/sparse/tree.c \
	%D%/sparse/tree.h
