# Lists of wrappers/; see Makefile.am.
# The stub. It needs libc only; -z now makes a missing symbol an error of the build's own test, not of a user's
# program. -Bsymbolic-functions: what the stub calls by its own exported names is its own, though another tool stands
# before it; and the loader has some six hundred symbols less to look up.
pkglib_LTLIBRARIES += libespalier.la
libespalier_la_SOURCES = %D%/entry.c %D%/entry_slow.c %D%/start.c %D%/next.c %D%/find.c %D%/type_hint.c
libespalier_la_SOURCES += %D%/stub.h %D%/fastpath.h %D%/on_credit.h %D%/kept.h %D%/find.h %D%/type_hint.h %D%/constructors.h %D%/words.h %D%/typed_end.h %D%/abi.h %D%/api.def
libespalier_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/wrappers
# Its few loops run once or twice, and what would align them lies in the way of calls that go straight on.
libespalier_la_CFLAGS = $(AM_CFLAGS) $(subst loops=32,loops=1,$(ESPI_ALIGN_CFLAGS))
libespalier_la_LDFLAGS = -module -avoid-version -shared -no-undefined -Wl,-z,defs -Wl,-z,now
libespalier_la_LDFLAGS += -Wl,--version-script=wrappers/stub.map -Wl,-Bsymbolic-functions $(ESPI_LAYOUT_LDFLAGS)
libespalier_la_LIBADD =
libespalier_la_DEPENDENCIES = wrappers/stub.map $(srcdir)/src/base/tables.ld

# The export map: MPI_X and PMPI_X of each row that is not LEAVE, nothing else.
wrappers/stub.map: $(srcdir)/wrappers/api.def $(srcdir)/wrappers/map.c
	@$(MKDIR_P) wrappers
	$(AM_V_GEN)$(CPP) -P -I$(srcdir)/wrappers $(srcdir)/wrappers/map.c >$@.tmp && mv $@.tmp $@
CLEANFILES += wrappers/stub.map wrappers/stub.map.tmp
EXTRA_DIST += %D%/map.c
