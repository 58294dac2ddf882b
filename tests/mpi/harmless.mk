# Lists of the programs harmless_*: what lives natively lives under Espalier.
if HAVE_MPIEXEC
ESPI_HARMLESS_COMMON = %D%/harmless.c %D%/harmless.h
check_PROGRAMS += %D%/harmless_refused %D%/harmless_jump %D%/harmless_token
%C%_harmless_refused_SOURCES = %D%/harmless_refused.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_refused_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_harmless_refused_LDADD = $(MPI_LIBS)
%C%_harmless_jump_SOURCES = %D%/harmless_jump.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_jump_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_harmless_jump_LDADD = $(MPI_LIBS) -lpthread
%C%_harmless_token_SOURCES = %D%/harmless_token.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_token_CPPFLAGS = $(ESPI_PASSES_CPPFLAGS)
%C%_harmless_token_LDADD = $(MPI_LIBS)
TESTS += %D%/run-harmless
endif
dist_check_SCRIPTS += %D%/run-harmless
