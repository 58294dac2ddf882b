# Lists of tests/cli/; see Makefile.am.
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
