# Lists of the programs harmless_*: what lives natively lives under Espalier.
if HAVE_MPIEXEC
check_PROGRAMS += %D%/harmless_refused %D%/harmless_jump %D%/harmless_token %D%/harmless_leave \
	%D%/harmless_threads %D%/harmless_calls %D%/harmless_comms %D%/harmless_sessions %D%/harmless_signals \
	%D%/harmless_mpmd %D%/harmless_handlers %D%/harmless_past %D%/harmless_dying %D%/harmless_heirs
ESPI_HARMLESS_COMMON = %D%/harmless.c %D%/harmless.h
%C%_harmless_refused_SOURCES = %D%/harmless_refused.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_jump_SOURCES = %D%/harmless_jump.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_token_SOURCES = %D%/harmless_token.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_leave_SOURCES = %D%/harmless_leave.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_threads_SOURCES = %D%/harmless_threads.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_calls_SOURCES = %D%/harmless_calls.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_comms_SOURCES = %D%/harmless_comms.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_sessions_SOURCES = %D%/harmless_sessions.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_signals_SOURCES = %D%/harmless_signals.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_mpmd_SOURCES = %D%/harmless_mpmd.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_handlers_SOURCES = %D%/harmless_handlers.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_heirs_SOURCES = %D%/harmless_heirs.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_dying_SOURCES = %D%/harmless_dying.c $(ESPI_HARMLESS_COMMON)
%C%_harmless_past_SOURCES = %D%/harmless_past.c $(ESPI_HARMLESS_COMMON)
TESTS += %D%/run-harmless-gathers %D%/run-harmless-others
endif
EXTRA_DIST += %D%/harmless_throw.cc
dist_check_SCRIPTS += %D%/run-harmless %D%/run-harmless-gathers %D%/run-harmless-others
