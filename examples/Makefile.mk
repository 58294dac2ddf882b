# Lists of examples/; see Makefile.am. Built with MPICH's own compiler wrapper: these programs know nothing of Espalier.
EXTRA_DIST += %D%/README.md %D%/rowcol.c
noinst_DATA += %D%/rowcol
CLEANFILES += %D%/rowcol

%D%/rowcol: %D%/rowcol.c
	$(AM_V_GEN)$(MKDIR_P) %D% && $(MPICC) -O2 -Wall -o $@ $(srcdir)/%D%/rowcol.c

dist_check_SCRIPTS += %D%/check-rowcol.sh
TESTS += %D%/check-rowcol.sh
