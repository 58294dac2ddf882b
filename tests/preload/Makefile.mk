# Lists of tests/preload/; see Makefile.am.
dist_check_SCRIPTS += %D%/run-preload %D%/run-check-api
TESTS += %D%/run-preload %D%/run-check-api
noinst_HEADERS += %D%/work.h %D%/fake.h

check_PROGRAMS += %D%/program %D%/host %D%/foreign %D%/threads
%C%_program_SOURCES = %D%/program.c %D%/work.c
%C%_program_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_program_LDADD = $(MPI_LIBS)
%C%_threads_SOURCES = %D%/threads.c
%C%_threads_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_threads_LDADD = $(MPI_LIBS)
%C%_host_SOURCES = %D%/host.c
%C%_foreign_SOURCES = %D%/foreign.c
# -no-install: a plain program that finds the library by LD_LIBRARY_PATH, not libtool's script.
%C%_foreign_LDFLAGS = -no-install
%C%_foreign_LDADD = %D%/libfakempi.la

# -rpath makes a shared library of what is never installed.
check_LTLIBRARIES += %D%/plugin.la %D%/tool_one.la %D%/tool_two.la %D%/libfakempi.la
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
%C%_libfakempi_la_SOURCES = %D%/fake.c
%C%_libfakempi_la_LDFLAGS = -avoid-version -shared -rpath /nowhere
