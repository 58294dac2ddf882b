# Lists of tests/support/, what several test folders use; see Makefile.am.
# -rpath makes a module of a library that is never installed.
check_LTLIBRARIES += %D%/yield.la %D%/nomem.la %D%/late.la
%C%_yield_la_SOURCES = %D%/yield.c
%C%_yield_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
%C%_nomem_la_SOURCES = %D%/nomem.c
%C%_nomem_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
%C%_late_la_SOURCES = %D%/late.c
%C%_late_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_late_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

# Runs a program on pretended hosts.
dist_check_SCRIPTS += %D%/two-hosts %D%/pretended-host
dist_check_SCRIPTS += %D%/check-lint.sh %D%/check-pairs.sh %D%/check-instructions.sh %D%/check-layouts.sh %D%/check-sim.sh
dist_check_SCRIPTS += %D%/check-run-tests.sh
TESTS += %D%/check-lint.sh %D%/check-pairs.sh %D%/check-instructions.sh %D%/check-layouts.sh %D%/check-sim.sh %D%/check-run-tests.sh

# Assertions that hold, in the programs of tests/unit and tests/whitebox.
if HAVE_CHECK
check_LTLIBRARIES += %D%/libespi-marks.la
%C%_libespi_marks_la_SOURCES = %D%/marks.c
%C%_libespi_marks_la_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
endif
