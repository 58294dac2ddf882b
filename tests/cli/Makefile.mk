# Lists of tests/cli/; see Makefile.am.
if HAVE_CHECK
check_PROGRAMS += %D%/check_settings %D%/check_log %D%/check_stats
TESTS += %D%/check_settings %D%/check_log %D%/check_stats
%C%_check_settings_SOURCES = %D%/check_settings.c
%C%_check_settings_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests/unit
%C%_check_settings_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_check_settings_LDADD = $(ESPI_UNIT_LIBS)
%C%_check_log_SOURCES = %D%/check_log.c
%C%_check_log_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests/unit
%C%_check_log_CFLAGS = $(ESPI_UNIT_CFLAGS)
%C%_check_log_LDADD = $(ESPI_UNIT_LIBS)
%C%_check_stats_SOURCES = %D%/check_stats.c %D%/check_stats.h %D%/check_stats_json.c %D%/check_stats_collectives.c \
	%D%/check_stats_files.c
%C%_check_stats_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) $(JANSSON_CFLAGS)
%C%_check_stats_LDADD = libespi-pure.la $(CHECK_LIBS) $(JANSSON_LIBS)
endif

# The command: transcripts (and what runs them), then random bytes.
dist_check_SCRIPTS += %D%/run-transcripts %D%/check-transcripts %D%/run-fuzz %D%/run-calibrate %D%/check-docs
TESTS += %D%/run-transcripts %D%/check-transcripts %D%/run-fuzz %D%/run-calibrate %D%/check-docs
EXTRA_DIST += %D%/transcripts %D%/data

# Statistics of MPI programs.
dist_check_SCRIPTS += %D%/run-stats
TESTS += %D%/run-stats
check_PROGRAMS += %D%/ring
%C%_ring_SOURCES = %D%/ring.c
%C%_ring_CFLAGS = -std=gnu11 -Wall -Wextra
%C%_ring_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_ring_LDADD = $(MPI_LIBS)

# Where the model of gathers and scatters comes from.
dist_check_SCRIPTS += %D%/run-model
TESTS += %D%/run-model
check_PROGRAMS += %D%/gathers
%C%_gathers_SOURCES = %D%/gathers.c
%C%_gathers_CFLAGS = -std=gnu11 -Wall -Wextra
%C%_gathers_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
%C%_gathers_LDADD = $(MPI_LIBS)
