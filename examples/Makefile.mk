# Lists of examples/; see Makefile.am. Built with MPICH's own compiler wrapper: these programs know nothing of
# Espalier.
EXTRA_DIST += %D%/README.md %D%/rowcol.c %D%/vectorsum.c %D%/trapezoid.c
EXTRA_DIST += %D%/placement/fft.place %D%/placement/halo.place \
	%D%/placement/skew.place %D%/placement/stencil.place %D%/placement/replicate.place %D%/placement/gather.place
noinst_DATA += %D%/rowcol %D%/vectorsum %D%/trapezoid
CLEANFILES += %D%/rowcol %D%/vectorsum %D%/trapezoid

%D%/rowcol: %D%/rowcol.c
	$(AM_V_GEN)$(MKDIR_P) %D% && $(MPICC) -O2 -Wall -o $@ $(srcdir)/%D%/rowcol.c

%D%/vectorsum: %D%/vectorsum.c
	$(AM_V_GEN)$(MKDIR_P) %D% && $(MPICC) -O2 -Wall -o $@ $(srcdir)/%D%/vectorsum.c

%D%/trapezoid: %D%/trapezoid.c
	$(AM_V_GEN)$(MKDIR_P) %D% && $(MPICC) -O2 -Wall -o $@ $(srcdir)/%D%/trapezoid.c

dist_check_SCRIPTS += %D%/check-reduce.sh
TESTS += %D%/check-reduce.sh
dist_check_SCRIPTS += %D%/check-rowcol.sh
TESTS += %D%/check-rowcol.sh
