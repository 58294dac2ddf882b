# Lists of src/commtree/; see Makefile.am.
libespi_pure_la_SOURCES += \
	%D%/binary.c %D%/broadcast.c %D%/commtree.h %D%/dist.c %D%/draw.c %D%/internal.h %D%/levels.c \
	%D%/levels.h %D%/levels_composed.c %D%/levels_exact.c %D%/levels_mixed.c %D%/links.c %D%/modelfile.c \
	%D%/modelfile.h %D%/modelfit.c %D%/modelfit.h %D%/optimal.c %D%/rectangle.c %D%/simple.c %D%/table.h \
	%D%/time.c %D%/tree.c %D%/triangle.c %D%/twosize.c %D%/unordered.c
