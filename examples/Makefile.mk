# Lists of examples/; see Makefile.am. Built with MPICH's own compiler wrapper: these programs know nothing of Espalier.
EXTRA_DIST += %D%/README.md %D%/rowcol.c %D%/vectorsum.c
noinst_DATA += %D%/rowcol %D%/vectorsum
CLEANFILES += %D%/rowcol %D%/vectorsum

%D%/rowcol: %D%/rowcol.c
	$(AM_V_GEN)$(MKDIR_P) %D% && $(MPICC) -O2 -Wall -o $@ $(srcdir)/%D%/rowcol.c

%D%/vectorsum: %D%/vectorsum.c
	$(AM_V_GEN)$(MKDIR_P) %D% && $(MPICC) -O2 -Wall -o $@ $(srcdir)/%D%/vectorsum.c

dist_check_SCRIPTS += %D%/check-rowcol.sh
TESTS += %D%/check-rowcol.sh
