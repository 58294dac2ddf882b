# Lists of src/cli/; see Makefile.am.
bin_PROGRAMS += espalier
espalier_SOURCES = %D%/main.c %D%/cli.h %D%/commands.def %D%/options.c %D%/message.c %D%/text.c %D%/where.c
espalier_SOURCES += %D%/gather.c %D%/gather.h %D%/gather_trees.c %D%/linkfile.c %D%/linkfile.h
espalier_SOURCES += %D%/readmodel.c %D%/readmodel.h %D%/sizefile.c %D%/sizefile.h %D%/calibrate.c
espalier_SOURCES += %D%/run.c %D%/tree.c %D%/flatten.c %D%/settings.c %D%/info.c %D%/elf.c %D%/elf.h
espalier_SOURCES += %D%/report.c %D%/report_compare.c %D%/report_compare.h %D%/report_collectives.c
espalier_SOURCES += %D%/report_collectives.h %D%/report_shared.c %D%/report_shared.h %D%/statfile.c %D%/statfile.h
espalier_SOURCES += %D%/mapfile.c %D%/mapfile.h
espalier_SOURCES += %D%/sanitizer.c %D%/sanitizer.h
espalier_SOURCES += %D%/place.c %D%/place.h %D%/place_draw.c %D%/place_plan.c %D%/place_positions.c
espalier_SOURCES += %D%/draw.c %D%/draw.h %D%/draw_dot.c %D%/draw_svg.c
espalier_CPPFLAGS = $(AM_CPPFLAGS) -DESPALIER_BINDIR='"$(bindir)"' -DESPALIER_PKGLIBDIR='"$(pkglibdir)"' \
  -DESPALIER_PKGLIBEXECDIR='"$(pkglibexecdir)"'
espalier_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
espalier_LDADD = libespi-pure.la $(JANSSON_LIBS) -lm
