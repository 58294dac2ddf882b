# Lists of src/layout/; see Makefile.am.
libespi_pure_la_SOURCES += \
	%D%/astride.c \
	%D%/basetype.c \
	%D%/basetypes.def \
	%D%/copy.c \
	%D%/cost.c \
	%D%/equal.c \
	%D%/flatten.c \
	%D%/layout.h \
	%D%/memo.c \
	%D%/memo.h \
	%D%/node.c \
	%D%/parse.c \
	%D%/print.c \
	%D%/run.c \
	%D%/slice.c \
	%D%/typemap.c
