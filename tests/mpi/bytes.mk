# Lists of the byte-comparing and bad-input programs of tests/mpi/; see Makefile.am.
if HAVE_MPIEXEC
check_PROGRAMS += %D%/bytes_p2p %D%/bytes_coll %D%/bytes_local %D%/bad_calls %D%/life %D%/one_type %D%/own_blocks \
	%D%/own_messages %D%/own_apart %D%/lives %D%/packed %D%/packed_coll %D%/packed_stress %D%/dense_types %D%/padding %D%/one_buffer \
	%D%/slabs %D%/exchange %D%/exchange_odd %D%/exchange_apart %D%/exchange_once %D%/exchange_rows %D%/astride %D%/beside %D%/told_session %D%/kept %D%/started \
	%D%/led
ESPI_BYTES_SOURCES = %D%/bytes.c %D%/bytes.h %D%/typegen.c %D%/typegen.h %D%/typegrow.c %D%/typegrow.h
%C%_bytes_p2p_SOURCES = %D%/bytes_p2p.c $(ESPI_BYTES_SOURCES)
%C%_bytes_coll_SOURCES = %D%/bytes_coll.c %D%/bytes_coll.h %D%/bytes_coll_w.c %D%/bytes_coll_neighbor.c \
	$(ESPI_BYTES_SOURCES)
%C%_bytes_local_SOURCES = %D%/bytes_local.c $(ESPI_BYTES_SOURCES)
%C%_life_SOURCES = %D%/life.c $(ESPI_BYTES_SOURCES)
%C%_one_type_SOURCES = %D%/one_type.c $(ESPI_BYTES_SOURCES)
%C%_own_blocks_SOURCES = %D%/own_blocks.c $(ESPI_BYTES_SOURCES)
%C%_own_messages_SOURCES = %D%/own_messages.c $(ESPI_BYTES_SOURCES)
%C%_own_apart_SOURCES = %D%/own_apart.c $(ESPI_BYTES_SOURCES)
%C%_packed_SOURCES = %D%/packed.c %D%/packed.h %D%/packed_completions.c %D%/packed_layouts.c \
	%D%/packed_parts.c %D%/packed_persistent.c $(ESPI_BYTES_SOURCES)
%C%_kept_SOURCES = %D%/kept.c %D%/kept.h %D%/kept_many.c $(ESPI_BYTES_SOURCES)
%C%_beside_SOURCES = %D%/beside.c $(ESPI_BYTES_SOURCES)
%C%_astride_SOURCES = %D%/astride.c $(ESPI_BYTES_SOURCES)
%C%_exchange_SOURCES = %D%/exchange.c $(ESPI_BYTES_SOURCES)
%C%_exchange_odd_SOURCES = %D%/exchange_odd.c $(ESPI_BYTES_SOURCES)
%C%_exchange_apart_SOURCES = %D%/exchange_apart.c $(ESPI_BYTES_SOURCES)
%C%_exchange_once_SOURCES = %D%/exchange_once.c $(ESPI_BYTES_SOURCES)
%C%_exchange_rows_SOURCES = %D%/exchange_rows.c $(ESPI_BYTES_SOURCES)
%C%_slabs_SOURCES = %D%/slabs.c $(ESPI_BYTES_SOURCES)
%C%_started_SOURCES = %D%/started.c $(ESPI_BYTES_SOURCES)
%C%_led_SOURCES = %D%/led.c $(ESPI_BYTES_SOURCES)
%C%_padding_SOURCES = %D%/padding.c $(ESPI_BYTES_SOURCES)
%C%_packed_coll_SOURCES = %D%/packed_coll.c %D%/packed_coll.h %D%/packed_coll_more.c %D%/packed.h \
	%D%/packed_layouts.c $(ESPI_BYTES_SOURCES)
%C%_packed_stress_SOURCES = %D%/packed_stress.c %D%/packed_stress.h %D%/packed_stress_coll.c \
	%D%/packed_stress_requests.c $(ESPI_BYTES_SOURCES)
TESTS += %D%/run-packed %D%/run-packed-coll %D%/run-packed-nomem %D%/run-packed-stress %D%/run-own %D%/run-lives %D%/run-valgrind %D%/run-life %D%/run-p2p %D%/run-coll \
	%D%/run-local %D%/run-bad %D%/run-dense-types %D%/run-padding %D%/run-one-buffer %D%/run-near \
	%D%/run-slabs %D%/run-exchange %D%/run-astride %D%/run-beside %D%/run-kept %D%/run-started \
	%D%/run-led
endif
dist_check_SCRIPTS += %D%/run-own %D%/run-lives %D%/compare %D%/run-valgrind %D%/run-life %D%/run-p2p %D%/run-coll \
	%D%/run-local %D%/run-bad %D%/run-packed %D%/run-packed-coll %D%/run-packed-nomem \
	%D%/run-packed-stress %D%/run-dense-types %D%/run-padding %D%/run-one-buffer %D%/run-near %D%/run-slabs %D%/run-exchange %D%/run-astride %D%/run-beside %D%/run-kept %D%/run-started \
	%D%/run-led
