# Lists of src/reconstruct/; see Makefile.am.
libespi_pure_la_SOURCES += \
	%D%/buckets.c \
	%D%/build.c \
	%D%/dense.c \
	%D%/dense.h \
	%D%/dense_solve.h \
	%D%/fold.c \
	%D%/fold.h \
	%D%/large.c \
	%D%/normalize.c \
	%D%/normalize.h \
	%D%/parts.h \
	%D%/reconstruct.c \
	%D%/reconstruct.h \
	%D%/simplify.c \
	%D%/symbols.c \
	%D%/transpack.c \
	%D%/transpack.h \
	%D%/transpack_copy.c \
	%D%/sparse.c \
	%D%/sparse.h \
	%D%/sparse_block.c \
	%D%/sparse_expand.c \
	%D%/sparse_family.c \
	%D%/sparse_leafruns.c \
	%D%/sparse_line.c \
	%D%/sparse_period.c \
	%D%/sparse_repeats.c \
	%D%/sparse_root.c \
	%D%/sparse_row.c \
	%D%/sparse_strided.c \
	%D%/sparse_text.c \
	%D%/sparse_top.c \
	%D%/sparse_tree.c \
	%D%/sparse_tree.h
