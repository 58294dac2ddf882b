# Lists of tests/unit/; see Makefile.am.
ESPI_CPPFLAGS_%C% = $(CHECK_CFLAGS) -DESPI_CORPUS='"$(abs_srcdir)/tests/corpus"' \
	-DESPI_PLAYER='"$(abs_builddir)/%D%/hydra_pmi_proxy"'
if HAVE_CHECK
ESPI_UNIT_TESTS = \
	%D%/test-layout %D%/test-slice %D%/test-transpack %D%/test-copy %D%/test-pack \
	%D%/test-corpus %D%/test-normalize %D%/test-anytime %D%/test-reconstruct \
	%D%/test-sparse %D%/test-method-select %D%/test-commtree %D%/test-model-file \
	%D%/test-commtree-two-level %D%/test-commtree-special %D%/test-commtree-api %D%/test-commtree-many %D%/test-fold \
	%D%/test-buffer-pool %D%/test-own-heap %D%/test-dense %D%/test-roll %D%/test-relay %D%/test-relay-calls \
	%D%/test-import-slots %D%/test-import-slots-now %D%/test-hydra \
	%D%/test-pmi %D%/test-all-present %D%/test-log %D%/test-settings %D%/test-stats %D%/test-stats-scale %D%/test-file \
	%D%/test-nodes %D%/test-exchange %D%/test-placement %D%/test-placement-file \
	%D%/test-placement-spots %D%/test-placement-align %D%/test-placement-forms
check_PROGRAMS += $(ESPI_UNIT_TESTS)
TESTS += $(ESPI_UNIT_TESTS)
ESPI_LIBS_%C% = %D%/libespi-unit.la libespi-pure.la tests/support/libespi-marks.la $(CHECK_LIBS) -lm
$(ESPI_UNIT_TESTS): %D%/libespi-unit.la libespi-pure.la tests/support/libespi-marks.la

# What the tests share. The flag gives its objects names of their own: tests/fuzz uses one of the files, too.
check_LTLIBRARIES += %D%/libespi-unit.la
%C%_libespi_unit_la_SOURCES = %D%/commtree_support.c %D%/commtree_support.h %D%/oracle.c %D%/oracle.h \
	%D%/plain.c %D%/plain.h %D%/placement_support.c %D%/placement_support.h \
	%D%/player.c %D%/player.h %D%/random.c %D%/random.h %D%/runner.c %D%/runner.h
%C%_libespi_unit_la_CFLAGS = $(AM_CFLAGS)

%C%_test_exchange_SOURCES = %D%/test_exchange.c
%C%_test_layout_SOURCES = %D%/test_layout.c
%C%_test_placement_SOURCES = %D%/test_placement.c
%C%_test_placement_spots_SOURCES = %D%/test_placement_spots.c
%C%_test_placement_align_SOURCES = %D%/test_placement_align.c
%C%_test_placement_file_SOURCES = %D%/test_placement_file.c %D%/granted.h
%C%_test_placement_forms_SOURCES = %D%/test_placement_forms.c %D%/granted.h
%C%_test_placement_forms_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
%C%_test_placement_file_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
%C%_test_slice_SOURCES = %D%/test_slice.c
%C%_test_transpack_SOURCES = %D%/test_transpack.c
%C%_test_copy_SOURCES = %D%/test_copy.c
%C%_test_pack_SOURCES = %D%/test_pack.c %D%/test_pack.h %D%/test_pack_cases.c
%C%_test_pack_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc
%C%_test_corpus_SOURCES = %D%/test_corpus.c
%C%_test_normalize_SOURCES = %D%/test_normalize.c
%C%_test_anytime_SOURCES = %D%/test_anytime.c
%C%_test_reconstruct_SOURCES = %D%/test_reconstruct.c
%C%_test_sparse_SOURCES = %D%/test_sparse.c
%C%_test_method_select_SOURCES = %D%/test_method_select.c
%C%_test_commtree_SOURCES = %D%/test_commtree.c
%C%_test_model_file_SOURCES = %D%/test_model_file.c
%C%_test_commtree_two_level_SOURCES = %D%/test_commtree_two_level.c
%C%_test_commtree_special_SOURCES = %D%/test_commtree_special.c
%C%_test_commtree_api_SOURCES = %D%/test_commtree_api.c
%C%_test_commtree_many_SOURCES = %D%/test_commtree_many.c
%C%_test_fold_SOURCES = %D%/test_fold.c
%C%_test_buffer_pool_SOURCES = %D%/test_buffer_pool.c
%C%_test_own_heap_SOURCES = %D%/test_own_heap.c
%C%_test_dense_SOURCES = %D%/test_dense.c
%C%_test_roll_SOURCES = %D%/test_roll.c %D%/roll_job.c %D%/roll_job.h
%C%_test_relay_SOURCES = %D%/test_relay.c
%C%_test_relay_calls_SOURCES = %D%/test_relay_calls.c %D%/relay_wire.c %D%/relay_wire.h
%C%_test_import_slots_SOURCES = %D%/test_import_slots.c
%C%_test_import_slots_CPPFLAGS = $(AM_CPPFLAGS) -DESPI_TEST_READ_ONLY=0
%C%_test_import_slots_LDFLAGS = -Wl,-z,lazy,-z,norelro,--wrap=mprotect
%C%_test_import_slots_now_SOURCES = %D%/test_import_slots.c
%C%_test_import_slots_now_CPPFLAGS = $(AM_CPPFLAGS) -DESPI_TEST_READ_ONLY=1
%C%_test_import_slots_now_LDFLAGS = -Wl,-z,now,-z,relro,--wrap=mprotect
%C%_test_hydra_SOURCES = %D%/test_hydra.c
%C%_test_pmi_SOURCES = %D%/test_pmi.c
%C%_test_all_present_SOURCES = %D%/test_all_present.c %D%/all_present_job.c %D%/all_present_job.h
%C%_test_nodes_SOURCES = %D%/test_nodes.c
%C%_test_log_SOURCES = %D%/test_log.c
%C%_test_settings_SOURCES = %D%/test_settings.c
%C%_test_file_SOURCES = %D%/test_file.c
%C%_test_stats_SOURCES = %D%/test_stats.c %D%/test_stats.h %D%/test_stats_collectives.c %D%/test_stats_files.c \
	%D%/test_stats_json.c
%C%_test_stats_scale_SOURCES = %D%/test_stats_scale.c %D%/test_stats_scale.h %D%/test_stats_scale_plain.c
%C%_test_stats_scale_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free
%C%_test_stats_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
%C%_test_stats_LDADD = $(ESPI_LIBS_%C%) $(JANSSON_LIBS)
endif
# Plays Hydra's proxy, and has its name.
check_PROGRAMS += %D%/hydra_pmi_proxy
%C%_hydra_pmi_proxy_SOURCES = %D%/hydra_pmi_proxy.c
%C%_hydra_pmi_proxy_LDADD =
EXTRA_DIST += %D%/data/gather-trees-alpha100.tsv
