# Lists of tests/unit/; see Makefile.am.
if HAVE_CHECK
ESPI_UNIT_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests/unit
ESPI_UNIT_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
ESPI_UNIT_LIBS = libespi-pure.la $(CHECK_LIBS)

check_PROGRAMS += %D%/test-layout
TESTS += %D%/test-layout
%C%_test_layout_SOURCES = %D%/test_layout.c %D%/random.c %D%/random.h
%C%_test_layout_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_layout_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_layout_LDADD = $(ESPI_UNIT_LIBS)

check_PROGRAMS += %D%/test-slice
TESTS += %D%/test-slice
%C%_test_slice_SOURCES = %D%/test_slice.c %D%/random.c %D%/random.h
%C%_test_slice_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_slice_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_slice_LDADD = $(ESPI_UNIT_LIBS)

check_PROGRAMS += %D%/test-transpack
TESTS += %D%/test-transpack
%C%_test_transpack_SOURCES = \
	%D%/oracle.c \
	%D%/oracle.h \
	%D%/random.c \
	%D%/random.h \
	%D%/test_transpack.c
%C%_test_transpack_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_transpack_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_transpack_LDADD = $(ESPI_UNIT_LIBS)

check_PROGRAMS += %D%/test-copy
TESTS += %D%/test-copy
%C%_test_copy_SOURCES = %D%/test_copy.c %D%/oracle.h %D%/random.c %D%/random.h
%C%_test_copy_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_copy_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_copy_LDADD = $(ESPI_UNIT_LIBS)

check_PROGRAMS += %D%/test-corpus
TESTS += %D%/test-corpus
%C%_test_corpus_SOURCES = %D%/test_corpus.c %D%/oracle.c %D%/oracle.h %D%/random.c %D%/random.h
%C%_test_corpus_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS) -DESPI_CORPUS='"$(abs_srcdir)/tests/corpus"'
%C%_test_corpus_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_corpus_LDADD = $(ESPI_UNIT_LIBS)

check_PROGRAMS += %D%/test-normalize
TESTS += %D%/test-normalize
%C%_test_normalize_SOURCES = \
	%D%/oracle.c \
	%D%/oracle.h \
	%D%/random.c \
	%D%/random.h \
	%D%/test_normalize.c
%C%_test_normalize_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_normalize_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_normalize_LDADD = $(ESPI_UNIT_LIBS)

check_PROGRAMS += %D%/test-anytime
TESTS += %D%/test-anytime
%C%_test_anytime_SOURCES = \
	%D%/oracle.c \
	%D%/oracle.h \
	%D%/plain.c \
	%D%/plain.h \
	%D%/random.c \
	%D%/random.h \
	%D%/test_anytime.c
%C%_test_anytime_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_anytime_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_anytime_LDADD = $(ESPI_UNIT_LIBS)

check_PROGRAMS += %D%/test-reconstruct
TESTS += %D%/test-reconstruct
%C%_test_reconstruct_SOURCES = \
	%D%/oracle.c \
	%D%/oracle.h \
	%D%/random.c \
	%D%/random.h \
	%D%/test_reconstruct.c
%C%_test_reconstruct_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_reconstruct_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_reconstruct_LDADD = $(ESPI_UNIT_LIBS)

check_PROGRAMS += %D%/test-sparse
TESTS += %D%/test-sparse
%C%_test_sparse_SOURCES = \
	%D%/oracle.c \
	%D%/oracle.h \
	%D%/plain.c \
	%D%/plain.h \
	%D%/random.c \
	%D%/random.h \
	%D%/test_sparse.c
%C%_test_sparse_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_sparse_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_sparse_LDADD = $(ESPI_UNIT_LIBS)

check_PROGRAMS += %D%/test-treejudge
TESTS += %D%/test-treejudge
%C%_test_treejudge_SOURCES = %D%/random.c %D%/random.h %D%/test_treejudge.c src/mpi/treejudge.c
%C%_test_treejudge_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_treejudge_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_treejudge_LDADD = $(ESPI_UNIT_LIBS)

ESPI_COMMTREE_SUPPORT = %D%/commtree_support.c %D%/commtree_support.h %D%/random.c %D%/random.h

check_PROGRAMS += %D%/test-commtree
TESTS += %D%/test-commtree
%C%_test_commtree_SOURCES = %D%/test_commtree.c $(ESPI_COMMTREE_SUPPORT)
%C%_test_commtree_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_commtree_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_commtree_LDADD = $(ESPI_UNIT_LIBS) -lm

check_PROGRAMS += %D%/test-modelfile
TESTS += %D%/test-modelfile
%C%_test_modelfile_SOURCES = %D%/random.c %D%/random.h %D%/test_modelfile.c
%C%_test_modelfile_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_modelfile_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_modelfile_LDADD = $(ESPI_UNIT_LIBS) -lm

check_PROGRAMS += %D%/test-commtree-levels
TESTS += %D%/test-commtree-levels
%C%_test_commtree_levels_SOURCES = %D%/test_commtree_levels.c $(ESPI_COMMTREE_SUPPORT)
%C%_test_commtree_levels_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_commtree_levels_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_commtree_levels_LDADD = $(ESPI_UNIT_LIBS) -lm

check_PROGRAMS += %D%/test-commtree-special
TESTS += %D%/test-commtree-special
%C%_test_commtree_special_SOURCES = %D%/test_commtree_special.c $(ESPI_COMMTREE_SUPPORT)
%C%_test_commtree_special_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_commtree_special_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_commtree_special_LDADD = $(ESPI_UNIT_LIBS) -lm

check_PROGRAMS += %D%/test-commtree-api
TESTS += %D%/test-commtree-api
%C%_test_commtree_api_SOURCES = %D%/test_commtree_api.c $(ESPI_COMMTREE_SUPPORT)
%C%_test_commtree_api_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_commtree_api_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_commtree_api_LDADD = $(ESPI_UNIT_LIBS) -lm

check_PROGRAMS += %D%/test-fold
TESTS += %D%/test-fold
%C%_test_fold_SOURCES = %D%/test_fold.c %D%/random.c %D%/random.h
%C%_test_fold_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_fold_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_fold_LDADD = $(ESPI_UNIT_LIBS)

check_PROGRAMS += %D%/test-scratch
TESTS += %D%/test-scratch
%C%_test_scratch_SOURCES = %D%/test_scratch.c %D%/random.c %D%/random.h
%C%_test_scratch_CPPFLAGS = $(ESPI_UNIT_CPPFLAGS)
%C%_test_scratch_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_test_scratch_LDADD = $(ESPI_UNIT_LIBS)
endif
EXTRA_DIST += %D%/data/gather-trees-alpha100.tsv
