# Lists of tests/preload/; see Makefile.am.
dist_check_SCRIPTS += %D%/run-preload %D%/run-check-api %D%/run-launchers %D%/run-slurm
TESTS += %D%/run-preload %D%/run-check-api %D%/credit %D%/run-launchers %D%/run-slurm
# Odd surroundings, each natively and under three settings.
EXTRA_DIST += %D%/alike.py
dist_check_SCRIPTS += %D%/run-sanitized %D%/run-files %D%/run-surroundings
TESTS += %D%/run-sanitized %D%/run-files %D%/run-surroundings
check_PROGRAMS += %D%/ordinary
%C%_ordinary_SOURCES = %D%/ordinary.c %D%/work.c
%C%_ordinary_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_ordinary_LDADD = $(MPI_LIBS)
noinst_HEADERS += %D%/work.h %D%/fake.h

check_PROGRAMS += %D%/program %D%/inside %D%/host %D%/foreign %D%/threads %D%/errors %D%/calls %D%/credit
%C%_program_SOURCES = %D%/program.c %D%/work.c
%C%_program_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_program_LDADD = $(MPI_LIBS)
%C%_inside_SOURCES = %D%/inside.c
%C%_inside_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_inside_LDADD = $(MPI_LIBS)
%C%_credit_SOURCES = %D%/credit.c
%C%_credit_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/wrappers
%C%_threads_SOURCES = %D%/threads.c
%C%_threads_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_threads_LDADD = $(MPI_LIBS)
%C%_host_SOURCES = %D%/host.c
%C%_foreign_SOURCES = %D%/foreign.c
# -no-install: a plain program that finds the library by LD_LIBRARY_PATH, not libtool's script.
%C%_foreign_LDFLAGS = -no-install
%C%_foreign_LDADD = %D%/libfakempi.la

# -rpath makes a shared library of what is never installed.
check_LTLIBRARIES += %D%/plugin.la %D%/tool_one.la %D%/tool_two.la %D%/tool_next.la %D%/libfakempi.la
%C%_plugin_la_SOURCES = %D%/plugin.c %D%/work.c
%C%_plugin_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_plugin_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
%C%_plugin_la_LIBADD = $(MPI_LIBS)
%C%_tool_one_la_SOURCES = %D%/tool.c
%C%_tool_one_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS) -DTOOL='"one"'
%C%_tool_one_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
%C%_tool_two_la_SOURCES = %D%/tool.c
%C%_tool_two_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS) -DTOOL='"two"'
%C%_tool_two_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
%C%_tool_next_la_SOURCES = %D%/tool.c
%C%_tool_next_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS) -DTOOL='"next"' -DPASS_TO_NEXT
%C%_tool_next_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
%C%_libfakempi_la_SOURCES = %D%/fake.c
%C%_libfakempi_la_LDFLAGS = -avoid-version -shared -rpath /nowhere

%C%_errors_SOURCES = %D%/errors.c
%C%_errors_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_errors_LDADD = $(MPI_LIBS)
%C%_calls_SOURCES = %D%/calls.c
%C%_calls_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_calls_LDADD = $(MPI_LIBS)

# A core whose substitutes are mere duplicates (type_cache_dup.c); put beside a copy of the stub under the core's name.
check_LTLIBRARIES += %D%/core_type_cache_dup.la
%C%_core_type_cache_dup_la_SOURCES = $(espi_mpi_services) %D%/type_cache_dup.c
%C%_core_type_cache_dup_la_CPPFLAGS = $(ESPI_MPI_CPPFLAGS)
%C%_core_type_cache_dup_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere -no-undefined -Wl,-z,defs
%C%_core_type_cache_dup_la_LDFLAGS += -export-symbols-regex '^espi_core_start$$'
%C%_core_type_cache_dup_la_LIBADD = libespi-pure.la
