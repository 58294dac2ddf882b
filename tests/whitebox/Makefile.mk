# Lists of tests/whitebox/: the core's parts, called directly. Each is one MPI process; what a test defines itself
# takes the place of that part. A program without a list of sources is made of the file of its name.
ESPI_CPPFLAGS_%C% = $(MPI_CPPFLAGS) $(CHECK_CFLAGS) -I$(srcdir)/wrappers
if HAVE_CHECK
ESPI_WHITEBOX_TESTS = %D%/decode %D%/construction %D%/plan_cache %D%/unused_plans %D%/admission %D%/substitute \
	%D%/credit %D%/tiers %D%/tiers_played %D%/lists_anew %D%/type_hint %D%/kept_lives %D%/class_table %D%/engine_cost \
	%D%/engine_calibrate %D%/verify %D%/select %D%/plan_improve %D%/lease_sizes %D%/lease_scale %D%/places \
	%D%/pmpi_table %D%/comm_cache %D%/left_alone %D%/packed_call %D%/short_message %D%/collective \
	%D%/collective_far %D%/repeated %D%/packed_times %D%/packed_record %D%/pack_gain %D%/packed_complete \
	%D%/message_ways %D%/way_trial %D%/message_batches %D%/message_left %D%/message_told %D%/message_doubts \
	%D%/short_told %D%/short_typed %D%/short_tried %D%/short_local %D%/started %D%/exchange_turns %D%/exchange_offers \
	%D%/stream_type %D%/stream_calls %D%/stream_collective %D%/exact_uses %D%/pack_once %D%/trial %D%/self_copy \
	%D%/own_again %D%/recent_pairs %D%/reduce_requests %D%/reduce_pieces %D%/agreement %D%/own_types %D%/leader \
	%D%/yielding_wait
check_PROGRAMS += $(ESPI_WHITEBOX_TESTS)
TESTS += $(ESPI_WHITEBOX_TESTS) %D%/run-valgrind
dist_check_SCRIPTS += %D%/run-valgrind
ESPI_LIBS_%C% = %D%/libespi-whitebox.la libespi-mpi.la libespi-pure.la tests/support/libespi-marks.la $(CHECK_LIBS) $(MPI_LIBS)
$(ESPI_WHITEBOX_TESTS): %D%/libespi-whitebox.la libespi-mpi.la libespi-pure.la tests/support/libespi-marks.la

# What the tests share.
check_LTLIBRARIES += %D%/libespi-whitebox.la
%C%_libespi_whitebox_la_SOURCES = %D%/clock.c %D%/clock.h %D%/random_types.c %D%/random_types.h %D%/setup.h \
	%D%/suite.c %D%/suite.h %D%/type_service.c %D%/type_service.h wrappers/type_hint.c

%C%_engine_cost_SOURCES = %D%/engine_cost.c %D%/engine_sim.c %D%/engine_sim.h
%C%_tiers_SOURCES = %D%/tiers.c %D%/tiers_setup.h
%C%_tiers_played_SOURCES = %D%/tiers_played.c %D%/tiers_setup.h
%C%_stream_calls_SOURCES = %D%/stream_calls.c %D%/stream_setup.h
%C%_stream_collective_SOURCES = %D%/stream_collective.c %D%/stream_setup.h
%C%_message_ways_SOURCES = %D%/message_ways.c %D%/ways_setup.h
%C%_message_told_SOURCES = %D%/message_told.c %D%/ways_setup.h
%C%_message_doubts_SOURCES = %D%/message_doubts.c %D%/ways_setup.h
%C%_way_trial_SOURCES = %D%/way_trial.c %D%/ways_setup.h
%C%_message_batches_SOURCES = %D%/message_batches.c %D%/ways_setup.h
%C%_select_SOURCES = %D%/select.c %D%/select_setup.c %D%/select_setup.h
%C%_plan_improve_SOURCES = %D%/plan_improve.c %D%/select_setup.c %D%/select_setup.h

# The clock is the test's.
ESPI_TEST_CLOCK = -Wl,--wrap=clock_gettime
%C%_plan_cache_LDFLAGS = $(ESPI_TEST_CLOCK) -Wl,--wrap=espi_plan_is_to_pack
%C%_admission_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_substitute_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_credit_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_tiers_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_tiers_played_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_lists_anew_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_pack_once_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_engine_calibrate_LDFLAGS = $(ESPI_TEST_CLOCK) -Wl,--wrap=espi_pack_run
%C%_short_told_LDFLAGS = $(ESPI_TEST_CLOCK) -Wl,--wrap=espi_engine
%C%_short_typed_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_short_tried_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_select_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_plan_improve_LDFLAGS = $(ESPI_TEST_CLOCK) -Wl,--wrap=espi_engine
%C%_self_copy_LDFLAGS = $(ESPI_TEST_CLOCK)
%C%_message_ways_LDFLAGS = -Wl,--wrap=espi_stats_now,--wrap=espi_stream_may_go_in_cells
%C%_left_alone_LDFLAGS = -Wl,--wrap=espi_engine
%C%_message_told_LDFLAGS = -Wl,--wrap=espi_stats_now,--wrap=espi_stream_may_go_in_cells
%C%_message_doubts_LDFLAGS = $(%C%_message_told_LDFLAGS)
%C%_way_trial_LDFLAGS = -Wl,--wrap=espi_stats_now,--wrap=espi_stream_may_go_in_cells
%C%_message_batches_LDFLAGS = -Wl,--wrap=espi_stats_now,--wrap=espi_stream_may_go_in_cells
%C%_packed_times_LDFLAGS = -Wl,--wrap=espi_stats_now,--wrap=espi_engine
%C%_yielding_wait_LDFLAGS = -Wl,--wrap=sched_yield
%C%_exchange_offers_LDFLAGS = -Wl,--wrap=espi_fetch,--wrap=espi_pool_get
# Memory may run out.
%C%_construction_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc
%C%_comm_cache_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc
%C%_packed_call_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc
%C%_collective_SOURCES = %D%/collective.c %D%/collective_setup.h
%C%_collective_far_SOURCES = %D%/collective_far.c %D%/collective_setup.h
%C%_collective_far_LDFLAGS = -Wl,--wrap=malloc,--wrap=espi_way_saves,--wrap=espi_way_turn,--wrap=espi_engine
%C%_repeated_SOURCES = %D%/repeated.c %D%/collective_setup.h
%C%_repeated_LDFLAGS = -Wl,--wrap=malloc,--wrap=espi_way_saves,--wrap=espi_way_turn,--wrap=espi_engine
%C%_collective_LDFLAGS = -Wl,--wrap=malloc,--wrap=espi_way_saves,--wrap=espi_way_turn,--wrap=espi_engine
%C%_packed_complete_LDFLAGS = -Wl,--wrap=malloc
%C%_reduce_requests_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=espi_staged_unpack
%C%_agreement_LDFLAGS = -Wl,--wrap=espi_pool_get,--wrap=espi_staged_pack,--wrap=espi_staged_unpack
endif

# Of several ranks: tests/mpi/run-trees and run-near run them.
if HAVE_MPIEXEC
check_PROGRAMS += %D%/subtree %D%/near
%C%_near_LDADD = libespi-mpi.la libespi-pure.la $(MPI_LIBS)
%C%_subtree_LDADD = libespi-mpi.la libespi-pure.la $(MPI_LIBS)
endif
