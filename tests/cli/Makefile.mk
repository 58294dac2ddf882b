# Lists of tests/cli/; see Makefile.am. Each program is made of the file of its name.
ESPI_CPPFLAGS_%C% = $(MPI_CPPFLAGS)
ESPI_LIBS_%C% = $(MPI_LIBS)
# The command: transcripts (and what runs them), then random bytes.
dist_check_SCRIPTS += %D%/run-transcripts %D%/check-transcripts %D%/run-fuzz %D%/run-calibrate %D%/check-docs
TESTS += %D%/run-transcripts %D%/check-transcripts %D%/run-fuzz %D%/run-calibrate %D%/check-docs
EXTRA_DIST += %D%/transcripts %D%/data

# Statistics of MPI programs.
dist_check_SCRIPTS += %D%/run-stats
TESTS += %D%/run-stats
check_PROGRAMS += %D%/ring

# Where the model of gathers and scatters comes from.
dist_check_SCRIPTS += %D%/run-model
TESTS += %D%/run-model
check_PROGRAMS += %D%/gathers
