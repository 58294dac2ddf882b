# Lists of tests/preload/; see Makefile.am. A program without a list of sources is made of the file of its name.
ESPI_CPPFLAGS_%C% = $(MPI_CPPFLAGS) -I$(srcdir)/wrappers
ESPI_LIBS_%C% = $(MPI_LIBS)
dist_check_SCRIPTS += %D%/run-preload %D%/run-check-api %D%/run-launchers %D%/run-slurm
TESTS += %D%/run-preload %D%/run-check-api %D%/credit %D%/run-launchers %D%/run-slurm
# Odd surroundings, each natively and under three settings.
EXTRA_DIST += %D%/alike.py
dist_check_SCRIPTS += %D%/run-sanitized %D%/run-files %D%/run-surroundings
TESTS += %D%/run-sanitized %D%/run-files %D%/run-surroundings

check_PROGRAMS += %D%/ordinary %D%/program %D%/inside %D%/host %D%/foreign %D%/threads %D%/errors %D%/calls %D%/credit
check_PROGRAMS += %D%/pmi2
noinst_HEADERS += %D%/work.h %D%/fake.h
%C%_ordinary_SOURCES = %D%/ordinary.c %D%/work.c
%C%_program_SOURCES = %D%/program.c %D%/work.c
# It counts what is asked of the loader: its functions stand before that of the C library.
%C%_inside_LDFLAGS = -export-dynamic
# Programs without MPI.
%C%_credit_LDADD =
%C%_pmi2_LDADD = libespi-pure.la -lm
%C%_host_LDADD =
# -no-install: a plain program that finds the library by LD_LIBRARY_PATH, not libtool's script.
%C%_foreign_LDFLAGS = -no-install
%C%_foreign_LDADD = %D%/libfakempi.la

# What is never installed: -rpath makes a shared library of it.
check_LTLIBRARIES += %D%/plugin.la %D%/tool_one.la %D%/tool_two.la %D%/tool_next.la %D%/libfakempi.la
ESPI_PRELOAD_MODULE = -module -avoid-version -shared -rpath /nowhere
%C%_plugin_la_SOURCES = %D%/plugin.c %D%/work.c
# A flag of its own gives it objects of its own: a program has work.c, too.
%C%_plugin_la_CFLAGS = $(AM_CFLAGS)
%C%_plugin_la_LDFLAGS = $(ESPI_PRELOAD_MODULE)
%C%_plugin_la_LIBADD = $(MPI_LIBS)
%C%_tool_one_la_SOURCES = %D%/tool.c
%C%_tool_one_la_CPPFLAGS = $(AM_CPPFLAGS) -DTOOL='"one"'
%C%_tool_one_la_LDFLAGS = $(ESPI_PRELOAD_MODULE)
%C%_tool_two_la_SOURCES = %D%/tool.c
%C%_tool_two_la_CPPFLAGS = $(AM_CPPFLAGS) -DTOOL='"two"' -DTYPE_IN_INIT
%C%_tool_two_la_LDFLAGS = $(ESPI_PRELOAD_MODULE)
%C%_tool_next_la_SOURCES = %D%/tool.c
%C%_tool_next_la_CPPFLAGS = $(AM_CPPFLAGS) -DTOOL='"next"' -DPASS_TO_NEXT
%C%_tool_next_la_LDFLAGS = $(ESPI_PRELOAD_MODULE)
%C%_libfakempi_la_SOURCES = %D%/fake.c
%C%_libfakempi_la_LDFLAGS = -avoid-version -shared -rpath /nowhere

# A core whose substitutes are mere duplicates (type_cache_dup.c); put beside a copy of the stub under the core's name.
check_LTLIBRARIES += %D%/core_type_cache_dup.la
%C%_core_type_cache_dup_la_SOURCES = $(espi_mpi_services) %D%/type_cache_dup.c
%C%_core_type_cache_dup_la_CPPFLAGS = $(ESPI_MPI_CPPFLAGS)
%C%_core_type_cache_dup_la_LDFLAGS = $(ESPI_PRELOAD_MODULE) -no-undefined -Wl,-z,defs \
	-export-symbols-regex '^espi_core_start$$'
%C%_core_type_cache_dup_la_LIBADD = libespi-pure.la
