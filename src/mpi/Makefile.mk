# The core; its folders list their files. Not linked to MPI: it finds MPI's functions in the library that the process
# already has (core/pmpi.h). What only commands need (planning of data placement) is left out. The convenience library
# is what tests and benches are linked to parts of.
pkglib_LTLIBRARIES += libespalier-core.la
noinst_LTLIBRARIES += libespi-mpi.la
ESPI_MPI_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/wrappers $(MPI_CPPFLAGS)
# All but what is planned for types: a test puts another in its place.
espi_mpi_services = wrappers/abi.h wrappers/api.def wrappers/words.h
espi_mpi_types =
libespi_mpi_la_SOURCES = $(espi_mpi_services) $(espi_mpi_types)
libespi_mpi_la_CPPFLAGS = $(ESPI_MPI_CPPFLAGS)
libespalier_core_la_SOURCES =
libespalier_core_la_LDFLAGS = -module -avoid-version -shared -no-undefined -Wl,-z,defs \
	-Wl,--gc-sections $(ESPI_LAYOUT_LDFLAGS) -export-symbols-regex '^espi_core_start$$'
libespalier_core_la_LIBADD = libespi-mpi.la libespi-pure.la
EXTRA_libespalier_core_la_DEPENDENCIES = $(srcdir)/src/base/tables.ld
