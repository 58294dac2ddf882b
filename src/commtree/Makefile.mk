# Lists of src/commtree/; see Makefile.am.
libespi_pure_la_SOURCES += \
	%D%/binary.c %D%/broadcast.c %D%/commtree.h %D%/dist.c %D%/draw.c %D%/fixed_root.c %D%/free_root.c %D%/grouped.c \
	%D%/heuristics.c %D%/internal.h %D%/links.c %D%/method_select.c %D%/method_select.h %D%/model_file.c %D%/model_file.h %D%/model_fit.c \
	%D%/model_fit.h %D%/optimal.c %D%/parts.c %D%/parts.h %D%/table.h %D%/time.c %D%/tree.c %D%/two_level.c %D%/two_level.h \
	%D%/two_level_exact.c %D%/two_level_mixed.c %D%/twosize.c %D%/unordered.c
