# Lists of src/mpi/; see Makefile.am.
# The core. Not linked to MPI: it finds MPI's functions in the library that the process already has (real.h).
pkglib_LTLIBRARIES += libespalier-core.la
# All but the planning of types; a test puts another in its place.
espi_core_services = wrappers/bridge.h wrappers/api.def wrappers/words.h
espi_core_services += %D%/core.c %D%/dispatch.c %D%/dispatch.h %D%/rows.c %D%/rows.h %D%/mine.c %D%/mine.h
espi_core_services += %D%/real.c %D%/real.h %D%/real.def
espi_core_services += %D%/init.c %D%/init.h %D%/world.c %D%/world.h %D%/rollcall.c %D%/rollcall.h
espi_core_services += %D%/same_ranks.c %D%/same_ranks.h
espi_core_services += %D%/board.c %D%/board.h %D%/launcher.c %D%/launcher.h
espi_core_services += %D%/derived.c %D%/derived.h %D%/comms.c %D%/comms.h %D%/intern.c %D%/intern.h
espi_core_services += %D%/decode.c %D%/decode.h %D%/decode_internal.h %D%/decode_array.c %D%/decode_base.c
espi_core_services += %D%/emit.c %D%/emit.h
espi_core_services += %D%/reduce.c %D%/reduce.h %D%/reduce_ops.c %D%/reduce_view.c %D%/reduce_buffer.c
espi_core_services += %D%/reduce_later.c %D%/reduce_persistent.c %D%/reduce_pieces.c
espi_core_services += %D%/self.c %D%/self.h %D%/pending.c %D%/pending.h
espi_core_services += %D%/agreement.c %D%/agreement.h %D%/gather_comm.c %D%/gather_comm.h
espi_core_services += %D%/collective.c %D%/collective.h %D%/lease.c %D%/lease.h %D%/treejudge.c
espi_core_services += %D%/treejudge.h %D%/tree_model.c %D%/tree_model.h
espi_core_services += %D%/tree_places.c %D%/tree_measure.c %D%/tree_measure.h %D%/tree_cache.c %D%/tree_cache.h
espi_core_services += %D%/tree_report.c %D%/tree_report.h
espi_core_services += %D%/treeplan.c %D%/treeplan.h %D%/tree_io.c %D%/tree_gather.c %D%/tree_gather_root.c %D%/tree_scatter.c
libespalier_core_la_SOURCES = $(espi_core_services)
espi_core_services += %D%/slots.c %D%/slots.h
libespalier_core_la_SOURCES += %D%/types.c %D%/types.h %D%/sample.c %D%/sample.h
libespalier_core_la_SOURCES += %D%/variants.c %D%/variants.h %D%/measure.c %D%/measure.h %D%/model.c %D%/model.h
libespalier_core_la_SOURCES += %D%/plan.c %D%/plan.h %D%/judge.c %D%/judge.h
libespalier_core_la_SOURCES += %D%/onto.c %D%/onto.h %D%/onto_plan.c %D%/onto_block.c %D%/onto_call.c
libespalier_core_la_SOURCES += %D%/budget.c %D%/budget.h %D%/kinds.c %D%/kinds.h
libespalier_core_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/wrappers $(MPI_CPPFLAGS)
libespalier_core_la_LDFLAGS = -module -avoid-version -shared -no-undefined -Wl,-z,defs \
	-export-symbols-regex '^espi_core_start$$' $(ESPI_FEW_PAGES)
libespalier_core_la_LIBADD = libespi-pure.la

# The MPI program that `espalier calibrate` becomes.
pkglibexec_PROGRAMS += espalier-calibrate
espalier_calibrate_SOURCES = %D%/calibrate.c %D%/real.c %D%/real.h %D%/real.def %D%/tree_model.h
espalier_calibrate_SOURCES += %D%/tree_places.c %D%/tree_measure.c %D%/tree_measure.h
espalier_calibrate_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/wrappers $(MPI_CPPFLAGS)
espalier_calibrate_LDADD = libespi-pure.la $(MPI_LIBS) -lm
