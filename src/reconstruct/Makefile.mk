# Lists of src/reconstruct/; see Makefile.am.
libespi_pure_la_SOURCES += \
	%D%/build.c \
	%D%/dense.c \
	%D%/dense.h \
	%D%/dense_solve.h \
	%D%/large.c \
	%D%/parts.h \
	%D%/reconstruct.c \
	%D%/reconstruct.h
